package cli

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/show/plain"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/repo"
	"tape/repo/view"
)

// entryView says how commands show entries to people.
type entryView struct {
	oneline, full, events bool
	asOnTerminal          bool // also in a pipe, show the conversation as on a terminal
	newestFirst           bool

	partial bool                  // the tape may have more, see plain.Screen
	wanted  func(repo.Entry) bool // nil: all entries
}

// conversationQuery returns the query for a conversation, and sets partial and wanted. The query selects
// both calls and results if one of them is wanted, because they are shown together.
func (v *entryView) conversationQuery(q repo.Query) repo.Query {
	v.partial = len(q.Kinds)+len(q.Roles) > 0 || !q.Until.IsZero() || q.Limit != nil || q.To != "" || q.Phase != "" && q.Phase != repo.Latest
	calls, results := slices.Contains(q.Kinds, repo.KindToolCall), slices.Contains(q.Kinds, repo.KindToolResult)
	if calls != results && len(q.Roles) == 0 {
		kinds := q.Kinds
		v.wanted = func(e repo.Entry) bool { return slices.Contains(kinds, e.Kind) }
		q.Kinds = append(slices.Clone(kinds), repo.KindToolCall, repo.KindToolResult)
	}
	return q
}

func (v *entryView) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&v.oneline, "oneline", false, "show each entry on one line")
	f.BoolVar(&v.full, "full", false, "show messages, arguments, results and the texts of artifacts in full")
	f.BoolVar(&v.asOnTerminal, "conversation", false, "show the conversation in a pipe as on a terminal")
	f.BoolVar(&v.events, "events", false, "show events, too")
}

// conversation returns the screen for a conversation, or nil if each entry is shown by itself.
func (a *App) conversation(v entryView) *plain.Screen {
	if a.JSON || v.oneline {
		return nil
	}
	screen := a.Screen()
	width, whole := screen.Width, !screen.Out && !v.asOnTerminal
	if width == 0 && v.asOnTerminal {
		width, _ = strconv.Atoi(a.Getenv("COLUMNS"))
		width = cmp.Or(max(0, width), 80)
	}
	return &plain.Screen{Width: width, Whole: v.full || whole, Events: v.events || whole,
		Reverse: v.newestFirst, Partial: v.partial, Wanted: v.wanted, Zone: a.Now().Location(), Style: rows.Style(&a.Streams)}
}

// showEntries shows entries of a tape as v says, by default as a conversation. If t is nil, the entries are
// of several tapes, and heading returns the session of each. In a pipe nothing is shortened. Texts in
// artifacts are only named, unless v.full is set.
func (a *App) showEntries(ctx context.Context, t *repo.Tape, entries iter.Seq2[repo.Entry, error], v entryView, heading func(repo.Entry) plain.Session) error {
	if t != nil && a.everywhere {
		entries = inWorkspace(t.Store().Dir(), entries)
	}
	screen := a.conversation(v)
	if screen == nil {
		if !a.JSON && v.full {
			entries = a.withTexts(ctx, t, entries)
		}
		return a.showLines(entries, heading)
	}
	a.Page()
	if screen.Session = heading; t != nil && screen.Width > 0 {
		for start, err := range t.Entries(ctx, repo.Query{Limit: repo.N(1)}) {
			if err != nil {
				return err
			}
			screen.Dir = jsonl.GetString(start.Payload, "state", "cwd")
		}
	}
	screen.More = func(e repo.Entry) string {
		if heading == nil && a.wantedTape() == "" && !a.everywhere {
			return fmt.Sprintf("tape show @%d", e.ID)
		}
		if e.Workspace != "" {
			return fmt.Sprintf("tape show -A %s@%d", shellWord(e.Tape), e.ID)
		}
		return fmt.Sprintf("tape show %s@%d", shellWord(e.Tape), e.ID)
	}
	if v.full {
		entries = a.withTexts(ctx, t, entries)
	}
	left, err := plain.Show(ctx, stdio.Results{Writer: a.Out}, screen, entries)
	if err == nil && left > 0 {
		a.PrintUnlessQuiet("\n%s", a.Style(stdio.Dim, display.Count(left, "event is", "events are")+" left out; --events shows them"))
	}
	return err
}

// withTexts replaces references to texts in artifacts by the texts. If t is nil, the entries are of
// several tapes.
func (a *App) withTexts(ctx context.Context, t *repo.Tape, entries iter.Seq2[repo.Entry, error]) iter.Seq2[repo.Entry, error] {
	return view.Each(ctx, t, entries, func(ctx context.Context, t *repo.Tape, e repo.Entry) (repo.Entry, error) {
		if t == nil && len(layout.Artifacts(e.Payload)) > 0 {
			store, err := a.storeOf(ctx, e)
			if err == nil {
				t, err = store.Tape(ctx, e.Tape)
			}
			if err != nil {
				return e, err
			}
		}
		if t == nil {
			return e, nil
		}
		return view.WithTexts(ctx, t, e, 0)
	})
}

// showTape shows the entries of a tape that a query selects.
func (a *App) showTape(ctx context.Context, t *repo.Tape, q repo.Query, v entryView) error {
	entries := func(q repo.Query) iter.Seq2[repo.Entry, error] { return t.Entries(ctx, q) }
	if !a.JSON && !v.oneline {
		q = v.conversationQuery(q)
	}
	return a.showEntries(ctx, t, a.bounded(q, entries, v), v, nil)
}

// bounded applies the limits of a query. In a conversation, --tail counts only entries that are
// shown.
func (a *App) bounded(q repo.Query, entries func(repo.Query) iter.Seq2[repo.Entry, error], v entryView) iter.Seq2[repo.Entry, error] {
	limit, tail, reverse := q.Limit, q.Tail, q.Reverse
	q.Limit, q.Tail = nil, nil
	wanted := v.wanted
	if wanted == nil {
		wanted = everyEntry
	}
	joins := v.wanted != nil
	if tail == nil {
		return atMost(entries(q), limit, joins, wanted)
	}
	q.Reverse = true
	counts := wanted
	if screen := a.conversation(v); screen != nil {
		counts = func(e repo.Entry) bool { return wanted(e) && screen.Shows(e) }
	}
	newest := atMost(entries(q), tail, joins, counts)
	if !reverse {
		newest = reversed(newest)
	}
	return atMost(newest, limit, joins, wanted)
}

func everyEntry(repo.Entry) bool { return true }

// atMost yields entries up to the n-th that counts and, if more is set, those after it until the next one
// that counts. If n is nil, it yields all. Even if n is 0, it yields an error at the beginning.
func atMost(entries iter.Seq2[repo.Entry, error], n *int, more bool, counts func(repo.Entry) bool) iter.Seq2[repo.Entry, error] {
	if n == nil {
		return entries
	}
	return func(yield func(repo.Entry, error) bool) {
		left := *n
		for e, err := range entries {
			if err == nil && left == 0 && (*n == 0 || counts(e)) {
				return
			}
			if err == nil && counts(e) {
				left--
			}
			if !yield(e, err) || left == 0 && !more {
				return
			}
		}
	}
}

func reversed(entries iter.Seq2[repo.Entry, error]) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		var all []repo.Entry
		for e, err := range entries {
			if err != nil {
				yield(e, err)
				return
			}
			all = append(all, e)
		}
		for _, e := range slices.Backward(all) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (a *App) showLines(entries iter.Seq2[repo.Entry, error], heading func(repo.Entry) plain.Session) error {
	show := func(e repo.Entry) error { return a.WriteLine(e.JSON()) }
	if !a.JSON {
		a.Page()
		show = func(e repo.Entry) error {
			title := ""
			if heading != nil {
				title = a.Fit(heading(e).Title, rows.TitleCells) + " "
			}
			rows.Brief(&a.Streams, title, e)
			return a.Written()
		}
	}
	for e, err := range entries {
		if err != nil {
			return err
		}
		if err := show(e); err != nil {
			return err
		}
	}
	return nil
}
