package cli

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/store/forks"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/repo"
)

func describeCommit(c repo.Commit, of about.Tape) object {
	return object{{"commit", c.ID}, {"parents", c.Parents}, {"tape", c.Tape}, {"subject", c.Subject}, {"kind", c.Kind}, {"anchor", c.Anchor},
		{"entries", c.Entries}, {"first_id", orNull(c.FirstID)}, {"last_id", c.LastID}, {"date", c.Date}, {"author", c.Author},
		{"title", orNull(of.Title)}, {"agent", orNull(of.Agent)}, {"model", orNull(of.Model)}, {"project", orNull(of.Project)},
		{"tags", c.Tags}, {"tips", c.Tips}}
}

func (o *logOptions) runGraph(ctx context.Context) error {
	if flag := o.besides("graph", "tail", "all-tapes"); flag != "" {
		return usagef("--graph shows commits; --%s is for entries", flag)
	}
	left := -1 // commits that may be shown; -1: all
	if o.changed("tail") {
		if left = o.tail; left < 0 {
			return usagef("-n must not be negative")
		}
	}
	store, err := o.openStore(ctx)
	if err != nil {
		return err
	}
	tapes := make([]*repo.Tape, 1)
	if o.allTapes {
		tapes, err = store.Tapes(ctx)
	} else {
		tapes[0], err = o.openTape(ctx)
	}
	if err != nil {
		return err
	}
	facts, err := o.about(ctx, store, tapes)
	if err != nil {
		return err
	}
	o.page()
	for i, t := range tapes {
		if left == 0 {
			break
		}
		of := facts[t.Branch()]
		if !o.json {
			if i > 0 {
				o.printf("\n")
			}
			o.graphHead(t, of, len(tapes) > 1)
		}
		if left, err = o.showGraph(ctx, t, of, left); err != nil {
			return err
		}
	}
	return nil
}

// graphHead says which tape the graph is of: by its name where there are others, and by what
// is known of it.
func (a *App) graphHead(t *repo.Tape, of about.Tape, among bool) {
	var parts []string
	if among {
		parts = append(parts, display.Truncate(t.Name(), maxCell))
	}
	for _, p := range []string{of.Title, of.Agent, of.ProjectName(), strings.Join(of.Authors, ", ")} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) > 0 {
		a.line(a.style(bold, display.Truncate(display.Line(strings.Join(parts, "  ")), a.width())))
	}
}

// showGraph shows the history of one tape, limit commits of it at most (-1: all), and
// returns how many may still be shown.
func (a *App) showGraph(ctx context.Context, t *repo.Tape, of about.Tape, limit int) (int, error) {
	l := newLanes(a)
	tape := (*workspace.Tape)(t)
	head, err := tape.Head()
	if err != nil {
		return limit, err
	}
	owner := snapshot.Owner(tape, head)
	for c, err := range t.History(ctx) {
		if err != nil {
			return limit, err
		}
		if a.json {
			err = a.emit(describeCommit(c, of))
		} else {
			if c.Author == owner {
				c.Author = "" // only others are named
			}
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
		a.line(row)
	}
	mark, cells := l.mark()
	a.line(mark + " " + a.commitText(c, cells+1))
	for _, row := range l.leave(c.Parents) {
		a.line(row)
	}
	return a.written()
}

// commitText says what a commit is, on one line; used is how many cells of it are taken.
func (a *App) commitText(c repo.Commit, used int) string {
	const digits = 8
	kind, title := c.Kind+": ", c.Subtitle()
	if c.Kind == forks.CommitHand {
		kind = ""
	}
	title = display.Line(title)
	size := ""
	switch c.Kind {
	case forks.CommitHandoff, forks.CommitHand:
		if c.Entries > 0 && !strings.HasSuffix(c.Subject, ")") { // a completed merge says it itself
			size = " (" + display.Entries(c.Entries) + ")"
		}
	case forks.CommitFork:
		size = fmt.Sprintf(" at @%d", c.LastID)
	}
	date := "  " + a.ago(c.Date) + writtenBy(c.Author)
	var names, plain []string
	for _, tip := range c.Tips {
		tip = a.fit(display.Line(tip), maxCell)
		names, plain = append(names, a.style(bold+";"+green, tip)), append(plain, tip)
	}
	for _, tag := range c.Tags {
		if strings.HasPrefix(tag, "anchor/") {
			tag = path.Base(tag) // as commands take it
		}
		tag = a.fit(display.Line(tag), maxCell)
		names, plain = append(names, a.style(yellow, tag)), append(plain, tag)
	}
	refs := ""
	if len(names) > 0 {
		refs = "  (" + strings.Join(names, ", ") + ")"
		used += len("  ()") + display.Width(strings.Join(plain, ", "))
	}
	cells := max(20, a.width()-used-digits-1-display.Width(kind+size+date))
	return a.style(dim, fmt.Sprintf("%.*s", digits, c.ID)) + " " + a.style(kindColour(c.Kind), kind) + a.fit(title, cells) + size +
		a.style(dim, date) + refs
}

func kindColour(kind string) string {
	switch kind {
	case forks.CommitHandoff, forks.CommitStart:
		return yellow
	case forks.CommitFork, forks.CommitMerge:
		return purple
	}
	return cyan
}
