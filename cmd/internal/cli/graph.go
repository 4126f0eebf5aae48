package cli

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/repo"
)

// graphOptions are the flags of tape log that have to do with --graph.
type graphOptions struct {
	graph    bool
	allTapes bool
}

func (o *graphOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.graph, "graph", false, "show the history as a graph: a line a commit, a column a fork")
	f.BoolVar(&o.allTapes, "all-tapes", false, "with --graph: show the history of all tapes of the workspace")
}

// commitJSON is a commit in a history.
type commitJSON struct {
	Commit  string   `json:"commit"`
	Parents []string `json:"parents"`
	Tape    string   `json:"tape"`
	Subject string   `json:"subject"`
	Kind    string   `json:"kind"`
	Anchor  string   `json:"anchor"`
	Entries int64    `json:"entries"`
	FirstID any      `json:"first_id"`
	LastID  int64    `json:"last_id"`
	Date    string   `json:"date"`
	Tags    []string `json:"tags"`
	Tips    []string `json:"tips"`
}

func describeCommit(c repo.Commit) commitJSON {
	list := func(s []string) []string { return append([]string{}, s...) }
	out := commitJSON{Commit: c.ID, Parents: list(c.Parents), Tape: c.Tape, Subject: c.Subject, Kind: c.Kind, Anchor: c.Anchor,
		Entries: c.Entries, LastID: c.LastID, Date: c.Date, Tags: list(c.Tags), Tips: list(c.Tips)}
	if c.FirstID > 0 {
		out.FirstID = c.FirstID
	}
	return out
}

// runGraph is tape log --graph. changed tells which flags were given.
func (a *App) runGraph(ctx context.Context, o graphOptions, limit int, changed func(string) bool) error {
	for _, flag := range []string{"all", "anchor", "after", "kind", "since", "until", "reverse", "oneline", "tail"} {
		if changed(flag) {
			return usagef("--graph shows commits; --%s is for entries", flag)
		}
	}
	if !changed("limit") {
		limit = -1
	} else if limit < 0 {
		return usagef("--limit must not be negative")
	}
	tapes, err := a.graphTapes(ctx, o)
	if err != nil {
		return err
	}
	if !a.json {
		a.page()
	}
	for i, t := range tapes {
		if limit == 0 {
			break
		}
		if len(tapes) > 1 && !a.json {
			if i > 0 {
				a.printf("\n")
			}
			a.printf("%s\n", a.style(bold, truncate(safeLine(t.Name()), maxCell)))
		}
		if limit, err = a.showGraph(ctx, t, limit); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) graphTapes(ctx context.Context, o graphOptions) ([]*repo.Tape, error) {
	if o.allTapes {
		store, err := a.openStore(ctx)
		if err != nil {
			return nil, err
		}
		return store.Tapes(ctx)
	}
	t, err := a.openTape(ctx)
	return []*repo.Tape{t}, err
}

// showGraph shows the history of one tape, limit commits of it at most (-1: all), and
// returns how many may still be shown.
func (a *App) showGraph(ctx context.Context, t *repo.Tape, limit int) (int, error) {
	l := newLanes(a)
	for c, err := range t.History(ctx) {
		if err != nil {
			return limit, err
		}
		if a.json {
			err = a.emit(describeCommit(c))
		} else {
			err = a.showCommit(l, c, slices.Contains(c.Tips, t.Name()))
		}
		if limit--; err != nil || limit == 0 {
			return limit, err
		}
	}
	return limit, nil
}

func (a *App) showCommit(l *lanes, c repo.Commit, first bool) error {
	for _, row := range l.arrive(c.ID, first) {
		if err := a.writeLine([]byte(row)); err != nil {
			return err
		}
	}
	mark, cells := l.mark()
	if err := a.writeLine([]byte(mark + " " + a.commitText(c, cells+1))); err != nil {
		return err
	}
	for _, row := range l.leave(c.Parents) {
		if err := a.writeLine([]byte(row)); err != nil {
			return err
		}
	}
	return nil
}

// commitText says what a commit is, on one line; used is how many cells of it are taken.
func (a *App) commitText(c repo.Commit, used int) string {
	const digits = 8
	kind, title := c.Kind+": ", c.Subtitle()
	if c.Kind == repo.CommitHand {
		kind = ""
	}
	title = safeLine(title)
	size := ""
	switch c.Kind {
	case repo.CommitHandoff, repo.CommitHand:
		if c.Entries > 0 && !strings.HasSuffix(c.Subject, ")") { // a completed merge says it itself
			size = " (" + entries(c.Entries) + ")"
		}
	case repo.CommitFork:
		size = fmt.Sprintf(" at @%d", c.LastID)
	}
	date := "  " + a.ago(c.Date)
	var names, plain []string
	for _, tip := range c.Tips {
		tip = truncate(safeLine(tip), maxCell)
		names, plain = append(names, a.style(bold+";"+green, tip)), append(plain, tip)
	}
	for _, tag := range c.Tags {
		if strings.HasPrefix(tag, "anchor/") {
			tag = path.Base(tag) // as commands take it
		}
		tag = truncate(safeLine(tag), maxCell)
		names, plain = append(names, a.style(yellow, tag)), append(plain, tag)
	}
	refs := ""
	if len(names) > 0 {
		refs = "  (" + strings.Join(names, ", ") + ")"
		used += len("  ()") + textWidth(strings.Join(plain, ", "))
	}
	cells := briefCells
	if w := a.width(); w > 0 {
		cells = max(20, w-used-digits-1-textWidth(kind+size+date))
	}
	return a.style(dim, fmt.Sprintf("%.*s", digits, c.ID)) + " " + a.style(kindColour(c.Kind), kind) + truncate(title, cells) + size +
		a.style(dim, date) + refs
}

func kindColour(kind string) string {
	switch kind {
	case repo.CommitHandoff, repo.CommitStart:
		return yellow
	case repo.CommitFork, repo.CommitMerge:
		return purple
	}
	return cyan
}

// lanes are the columns of a graph. Each leads down to a commit that is still to come;
// the first one is the tape's own.
type lanes struct {
	app   *App
	list  []lane
	at    int // of the commit in hand
	count int // lanes there have been, for their colours
}

type lane struct {
	want   string // a commit
	begun  bool   // something of it was drawn
	colour string
}

func newLanes(a *App) *lanes {
	l := &lanes{app: a}
	l.list = []lane{l.lane("")}
	return l
}

func (l *lanes) lane(want string) lane {
	colours := []string{red, green, yellow, blue, purple, cyan}
	l.count++
	return lane{want: want, colour: colours[(l.count-1)%len(colours)]}
}

// row is a line of the graph: a lane has each second place, what leads from one to
// another the places between.
type row struct {
	marks   []byte
	colours []string
}

func (r *row) set(at int, mark byte, colour string) {
	for len(r.marks) <= at {
		r.marks, r.colours = append(r.marks, ' '), append(r.colours, "")
	}
	r.marks[at], r.colours[at] = mark, colour
}

func (l *lanes) text(r *row) string {
	var b strings.Builder
	for i, mark := range r.marks {
		if mark == ' ' {
			b.WriteByte(' ')
		} else {
			b.WriteString(l.app.style(r.colours[i], string(mark)))
		}
	}
	return b.String()
}

// put draws a lane at a place, if it has begun.
func (r *row) put(at int, mark byte, l lane) {
	if l.begun {
		r.set(at, mark, l.colour)
	}
}

// arrive brings the lanes that lead to a commit together, and returns the rows that show
// it. first says that the commit is the end of the tape itself.
func (l *lanes) arrive(id string, first bool) []string {
	if first && l.list[0].want == "" {
		l.list[0].want = id
	}
	leads := func(x lane) bool { return x.want == id }
	l.at = slices.IndexFunc(l.list, leads)
	if l.at < 0 {
		l.list = append(l.list, l.lane(id))
		l.at = len(l.list) - 1
	}
	var out []string
	for {
		j := slices.IndexFunc(l.list[l.at+1:], leads)
		if j < 0 {
			return out
		}
		out = append(out, l.join(l.at+1+j)...)
	}
}

// join draws how lane j comes over to the one in hand; those behind it move up.
func (l *lanes) join(j int) []string {
	r, moved := &row{}, l.list[j]
	for k, x := range l.list {
		switch {
		case k < j:
			r.put(2*k, '|', x)
		case k > j:
			r.put(2*k-1, '/', x)
		}
	}
	l.list = slices.Delete(l.list, j, j+1)
	r.set(2*j-1, '/', moved.colour)
	if j == l.at+1 {
		return []string{l.text(r)}
	}
	for k := l.at + 2; k < j; k++ { // below the lanes between
		r.set(2*k-1, '_', moved.colour)
	}
	under := &row{}
	for k, x := range l.list {
		under.put(2*k, '|', x)
	}
	under.set(2*l.at+1, '/', moved.colour)
	return []string{l.text(r), l.text(under)}
}

// mark returns the beginning of the commit's own line, and its width.
func (l *lanes) mark() (string, int) {
	r := &row{}
	l.list[l.at].begun = true
	for k, x := range l.list {
		if k == l.at {
			r.set(2*k, '*', x.colour)
		} else {
			r.put(2*k, '|', x)
		}
	}
	return l.text(r), len(r.marks)
}

// leave makes the lane lead on to the commit's parents, and returns the rows that show it.
func (l *lanes) leave(parents []string) []string {
	if len(parents) == 0 {
		return l.end()
	}
	l.list[l.at].want = parents[0]
	var out []string
	for _, p := range parents[1:] {
		r, opened := &row{}, l.lane(p)
		opened.begun = true
		for k, x := range l.list {
			if k <= l.at {
				r.put(2*k, '|', x)
			} else {
				r.put(2*k+1, '\\', x)
			}
		}
		r.set(2*l.at+1, '\\', opened.colour)
		l.list = slices.Insert(l.list, l.at+1, opened)
		out = append(out, l.text(r))
	}
	return out
}

// end closes the lane of a commit without parents.
func (l *lanes) end() []string {
	l.list = slices.Delete(l.list, l.at, l.at+1)
	if l.at == len(l.list) {
		return nil
	}
	r := &row{}
	for k, x := range l.list {
		if k < l.at {
			r.put(2*k, '|', x)
		} else {
			r.put(2*k+1, '/', x)
		}
	}
	return []string{l.text(r)}
}
