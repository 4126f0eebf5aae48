package reports

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/internal/git/projectgit"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/trace"
	"tape/internal/show/display"
)

// ShowBlame shows runs of lines of a file, each with the turns that led to it: the turns whose edits wrote the lines, or
// else the turns that led to the commit.
func ShowBlame(ctx context.Context, s *stdio.Streams, f *trace.Finder, project projectgit.Repo, file string, runs []projectgit.Run) error {
	o := &view{Streams: s, file: file}
	if s.Screen().Out {
		all, err := catalog.All(ctx, f.Store)
		if err != nil {
			return err
		}
		o.names = catalog.ShortNames(catalog.Names(all))
	}
	list, err := findTurns(ctx, s, f, project, file, runs)
	if err != nil {
		return err
	}
	if o.JSON {
		return stdio.Listing[blamed]{Object: func(b blamed) stdio.Object { return b.object(o.file) }}.Show(s, list, nil)
	}
	return o.show(list)
}

// findTurns finds the turns that led to runs of lines, and why none is known of others.
func findTurns(ctx context.Context, s *stdio.Streams, f *trace.Finder, project projectgit.Repo, file string, runs []projectgit.Run) ([]blamed, error) {
	list, err := credited(ctx, f, project, file, runs, s.Now())
	if err != nil {
		return nil, err
	}
	var commits []projectgit.Commit
	for _, b := range list {
		known := b.turns != nil || b.unknown.Code != "" // of other lines, edits are known
		if !known && b.Committed() && !slices.ContainsFunc(commits, func(c projectgit.Commit) bool { return c.ID == b.Commit.ID }) {
			commits = append(commits, *b.Commit)
		}
	}
	turns, err := f.Turns(ctx, commits)
	if err != nil {
		return nil, err
	}
	for i := range list {
		b := &list[i]
		if b.turns == nil && b.unknown.Code == "" {
			b.turns = turns[b.Commit.ID]
		}
		if b.turns == nil && b.unknown.Code == "" || b.Boundary && project.Shallow {
			if b.unknown, err = whyUnknown(ctx, s, f, project, b.Run); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// view shows the lines of one file.
type view struct {
	*stdio.Streams
	file  string
	names map[string]string // short names of tapes, for a screen
}

// blamed is a run of lines with the turns that led to it.
type blamed struct {
	projectgit.Run
	turns   []trace.Turn
	unknown unknownCommit // why there are no turns, or why they may be wrong
}

// unknownCommit is the reason why no turn is known for a commit: a code for programs, a text for people.
type unknownCommit struct{ Code, Text string }

func whyUnknown(ctx context.Context, s *stdio.Streams, f *trace.Finder, project projectgit.Repo, r projectgit.Run) (unknownCommit, error) {
	switch {
	case !r.Committed():
		return unknownCommit{"not_committed", "not committed yet"}, nil
	case r.Boundary && project.Shallow:
		return unknownCommit{"shallow", "the clone is shallow, and its history begins here; git fetch --unshallow brings the rest"}, nil
	}
	return Why(ctx, s, f, *r.Commit)
}

// Why returns the reason why no turn is known for a commit.
func Why(ctx context.Context, s *stdio.Streams, f *trace.Finder, c projectgit.Commit) (unknownCommit, error) {
	reason, first, err := f.Why(ctx, c)
	switch reason {
	case trace.NoSessions:
		return unknownCommit{"no_sessions", "the workspace has no session of this project"}, err
	case trace.BeforeSessions:
		return unknownCommit{"before_sessions", "older than the first session, which is of " + first.In(s.Now().Location()).Format("2006-01-02")}, err
	}
	return unknownCommit{"nothing_recorded", "no session has recorded the commit, and none was open then"}, err
}

func (b blamed) object(file string) stdio.Object {
	out := stdio.Object{{"file", file}, {"first_line", b.First}, {"last_line", b.Last}}
	if b.Committed() {
		out = append(out, commitMembers(*b.Commit)...)
	} else {
		out = append(out, stdio.Member{"commit", nil})
	}
	return append(out, stdio.Member{"turns", stdio.Objects(b.turns, describeTurn)}).With("unknown", b.unknown.Code)
}

func commitMembers(c projectgit.Commit) stdio.Object {
	return stdio.Object{{"commit", c.ID}, {"author", c.Author}, {"date", stdio.DateOrNull(c.Authored)}, {"subject", c.Subject}}
}

func describeTurn(t trace.Turn) stdio.Object {
	return stdio.Object{{"tape", t.Tape}, {"title", stdio.OrNull(t.Title)}, {"first_id", t.First}, {"last_id", t.Last},
		{"prompt", stdio.OrNull(t.Prompt)}, {"date", stdio.DateOrNull(t.Date)}, {"how", string(t.How)}}
}

// Mark says why it is not certain that a turn led to a commit; "" if it is certain.
func Mark(t trace.Turn, c projectgit.Commit) string {
	switch t.How {
	case trace.Probably:
		return "probably: the commit was rebased or amended since"
	case trace.LastEdit:
		return "the last edit of the file before the commit; no edit has these lines"
	case trace.Open:
		return "about that time: committed by " + display.Truncate(display.Line(c.Author), 30) + " while this session was open, or shortly after"
	}
	return ""
}

// show shows each run on a line. The turns of a commit are below its first run.
func (o *view) show(list []blamed) error {
	if len(list) == 0 {
		o.StderrUnlessQuiet("%s is empty", display.Quoted(o.file))
		return nil
	}
	lines := make([]string, len(list))
	wide := 0
	for i, b := range list {
		if lines[i] = fmt.Sprint(b.First); b.Last > b.First {
			lines[i] += fmt.Sprintf("-%d", b.Last)
		}
		wide = max(wide, len(lines[i]))
	}
	o.Page()
	missing := map[string]int{}
	shown := map[string]bool{}
	keys := map[string]map[string]bool{} // by commit
	for _, b := range list {
		if keys[b.Commit.ID] == nil {
			keys[b.Commit.ID] = map[string]bool{}
		}
		keys[b.Commit.ID][b.key()] = true
	}
	for i, b := range list {
		if len(b.turns) == 0 && len(list) > 1 {
			missing[b.unknown.Text] += b.Last - b.First + 1
			continue
		}
		head := o.Style(stdio.Bold+";"+stdio.Yellow, display.Pad(lines[i], wide))
		if !b.Committed() {
			o.Line(head + "  not committed yet")
			b.unknown.Text = ""
		} else {
			day := b.Commit.Authored.In(o.Now().Location()).Format("2006-01-02")
			left := max(12, o.Width()-wide-len("  123456789012  2006-01-02  "))
			o.Line(head + "  " + display.ShortID(b.Commit.ID) + "  " + o.Style(stdio.Dim, day) + "  " + o.Fit(display.Line(b.Commit.Subject), left))
		}
		switch indent := display.Pad("", wide+2); {
		case !shown[b.key()]:
			shown[b.key()] = true
			o.showTurns(b, indent)
		case len(keys[b.Commit.ID]) > 1 && b.turns[0].Prompt != "": // say which of the commit's turns
			o.Line(indent + o.Fit("> "+display.Line(b.turns[0].Prompt), o.Width()-len(indent)))
		}
		if err := o.Written(); err != nil {
			return err
		}
	}
	o.showMissing(missing, wide)
	o.showMore(list)
	return nil
}

// key is the same for all runs of a commit with the same turns. The turns are shown in full once.
func (b blamed) key() string {
	var out strings.Builder
	for _, t := range b.turns {
		fmt.Fprintf(&out, "%s %d %s ", t.Tape, t.First, t.How)
	}
	return out.String() + b.Commit.ID
}

// showMissing says how many lines have no session, and why.
func (o *view) showMissing(missing map[string]int, wide int) {
	if len(missing) == 0 {
		return
	}
	total := 0
	var why []string
	for _, reason := range slices.Sorted(maps.Keys(missing)) {
		total += missing[reason]
		if len(missing) > 1 {
			reason = fmt.Sprintf("%d %s", missing[reason], reason)
		}
		why = append(why, reason)
	}
	text := display.Count(total, "line", "lines") + " without a session: " + strings.Join(why, "; ")
	for i, part := range display.Wrap(text, o.Width()-2) {
		o.Line(o.Style(stdio.Dim, strings.Repeat("  ", min(i, 1))+part))
	}
}

func (o *view) showTurns(b blamed, indent string) {
	cells := 0
	if w := o.Width(); w > 0 {
		cells = max(20, w-len(indent))
	}
	say := func(colour, text string) {
		for _, part := range display.Wrap(text, cells) {
			o.Line(indent + o.Style(colour, part))
		}
	}
	if b.unknown.Text != "" {
		say(stdio.Dim, b.unknown.Text)
	}
	for _, t := range b.turns {
		if t.Prompt != "" {
			say(stdio.Green, "> "+display.Line(t.Prompt))
		}
		where := "tape " + display.ShellWord(t.Tape) + "  " + display.IDRange(t.First, t.Last)
		if o.names != nil { // in the form that other commands accept
			where = display.ShellWord(cmp.Or(o.names[t.Tape], t.Tape)) + display.IDRange(t.First, t.Last)
		}
		if room := cells - display.Width(where+"  "); t.Title != "" && t.Title != t.Prompt && (o.names == nil || room > 8) {
			where += "  " + o.Fit(display.Line(t.Title), room)
		}
		say("", where)
		if mark := Mark(t, *b.Commit); mark != "" {
			say(stdio.Dim, mark)
		}
	}
}

// showMore says how to see more.
func (o *view) showMore(list []blamed) {
	more := "tape search --all-tapes " + display.ShellWord(filepath.Base(o.file)) + " finds where the file was mentioned"
	for _, b := range list {
		if len(b.turns) > 0 {
			more = "tape log --commit " + display.ShortID(b.Commit.ID) + " shows all that was said before the commit"
			break
		}
	}
	o.BelowResults(more)
}
