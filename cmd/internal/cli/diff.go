package cli

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"tape/internal/entrydiff"
	"tape/internal/jsonl"
	"tape/repo"
)

type diffOptions struct {
	app  *App
	a, b string
	stat bool
}

func newDiffCmd(a *App) *cobra.Command { return newDiffCmdFor(&diffOptions{app: a}) }

func newDiffCmdFor(o *diffOptions) *cobra.Command {
	a := o.app
	cmd := &cobra.Command{
		Use:   "diff A [B] [--stat]",
		Short: "Show which entries two points of a tape, or two tapes, do not share",
		Long: `Show the entries that B has and A has not (+), those that only A has (-), and what was
changed in those that somebody edited (~). Without B, A is compared with the tape as it
is now.

A and B are anchors, as tape anchors shows them, or entries (@17), which mean everything
up to there; tapes and forks, which mean all that they have, committed or not; or tags,
branches and commits, of which HEAD is the tape's newest. Of two forks of one tape, each
side's own entries are shown.

With --stat, show how many entries of which kind there are instead, the tokens that run
events tell of, and which tools were called how often.`,
		Example: `  tape diff implement
  tape diff HEAD
  tape diff 002 003 --stat
  tape diff main main/try-wal
  tape diff @17 latest --json`,
		Args:              takes(1, "A", "B"),
		ValidArgsFunction: a.completePoints,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.a = args[0]
			if len(args) > 1 {
				o.b = args[1]
			}
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&o.stat, "stat", false, "show numbers instead of entries")
	return cmd
}

// completePoints offers what a point of a tape can be named by.
func (a *App) completePoints(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	anchors, _ := a.completeAnchors(cmd, args, prefix)
	tapes, directive := a.completeTapes(cmd, args, prefix)
	return append(anchors, tapes...), directive
}

func (o *diffOptions) run(ctx context.Context) error {
	a := o.app
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	from, err := t.Store().Revision(ctx, t, o.a)
	if err != nil {
		return err
	}
	to, err := t.Store().Revision(ctx, t, o.b)
	if err != nil {
		return err
	}
	if o.stat {
		return a.showDiffStat(ctx, from, to)
	}
	show := a.emitChange
	if !a.json {
		a.page()
		show = (&diffView{app: a, from: from.Name(), to: to.Name()}).show
	}
	some := false
	err = comparePoints(ctx, from, to, func(c change) error {
		some = true
		return show(c)
	})
	if err == nil && !some {
		a.tell("no entry differs")
	}
	return err
}

// The kinds of changes.
const (
	changeAdded   = "added"
	changeRemoved = "removed"
	changeEdited  = "edited"
)

// change is an entry that two points do not share. Of an edited one, old is what the
// first point has.
type change struct {
	kind       string
	entry, old repo.Entry
}

func (c change) parts() []entrydiff.Part { return entrydiff.Entry(c.old.Raw, c.entry.Raw) }

// comparison goes through two points side by side. Entries have consecutive ids, so that
// what stands at the same place has the same id.
type comparison struct {
	ctx    context.Context
	a, b   *repo.Revision
	yield  func(change) error
	shared int64 // see repo.Revision.SharedWith; -1: not known yet
}

func comparePoints(ctx context.Context, a, b *repo.Revision, yield func(change) error) error {
	common, err := a.CommonWith(b)
	if err != nil {
		return err
	}
	c := &comparison{ctx: ctx, a: a, b: b, yield: yield, shared: -1}
	nextA, stopA := iter.Pull2(a.Entries(ctx, common+1))
	defer stopA()
	nextB, stopB := iter.Pull2(b.Entries(ctx, common+1))
	defer stopB()
	var parted int64 // where entries begin that have nothing to do with each other; 0: nowhere
	for {
		x, errA, moreA := nextA()
		y, errB, moreB := nextB()
		if err := cmp.Or(errA, errB); err != nil {
			return err
		}
		switch {
		case !moreA && !moreB:
			return c.flush(parted, a.LastID()+1)
		case !moreB && parted > 0:
			return c.flush(parted, a.LastID()+1)
		case !moreA || !moreB:
			if err := c.flush(parted, max(x.ID, y.ID)); err != nil {
				return err
			}
			if moreA {
				return c.rest(changeRemoved, x, nextA)
			}
			return c.rest(changeAdded, y, nextB)
		}
		same := bytes.Equal(x.Raw, y.Raw)
		edited := false
		if !same {
			if edited, err = c.edited(x, y); err != nil {
				return err
			}
		}
		if !same && !edited {
			if parted == 0 {
				parted = x.ID
			}
			continue
		}
		if err := c.flush(parted, x.ID); err != nil {
			return err
		}
		parted = 0
		if edited {
			if err := yield(change{kind: changeEdited, entry: y, old: x}); err != nil {
				return err
			}
		}
	}
}

// edited reports whether two entries at the same place are forms of one: both sides have
// it from the same history, or it has kept its date, which is precise.
func (c *comparison) edited(x, y repo.Entry) (bool, error) {
	if x.Date != "" && x.Date == y.Date && (x.Kind == y.Kind || bytes.Equal(x.Payload, y.Payload)) {
		return true, nil
	}
	if c.shared < 0 {
		var err error
		if c.shared, err = c.a.SharedWith(c.ctx, c.b); err != nil {
			return false, err
		}
	}
	return x.ID <= c.shared, nil
}

// flush shows what each side has from one id up to another: first what was removed, then
// what was added. They are read again, however many they are.
func (c *comparison) flush(from, end int64) error {
	if from == 0 {
		return nil
	}
	for _, side := range []struct {
		point *repo.Revision
		kind  string
	}{{c.a, changeRemoved}, {c.b, changeAdded}} {
		for e, err := range side.point.Entries(c.ctx, from) {
			if err != nil {
				return err
			}
			if e.ID >= end {
				break
			}
			if err := c.yield(change{kind: side.kind, entry: e}); err != nil {
				return err
			}
		}
	}
	return nil
}

// rest shows what only one side has, e first.
func (c *comparison) rest(kind string, e repo.Entry, next func() (repo.Entry, error, bool)) error {
	for more := true; more; {
		if err := c.yield(change{kind: kind, entry: e}); err != nil {
			return err
		}
		var err error
		if e, err, more = next(); err != nil {
			return err
		}
	}
	return nil
}

type changedPart struct {
	Path string `json:"path"`
	Old  any    `json:"old"` // null where it is absent
	New  any    `json:"new"`
}

// emitChange writes a change as JSON.
func (a *App) emitChange(c change) error {
	out := append(jsonl.AppendString([]byte(`{"change":`), c.kind), `,"id":`...)
	out = strconv.AppendInt(out, c.entry.ID, 10)
	out = append(append(out, `,"entry":`...), c.entry.JSON()...)
	if c.kind == changeEdited {
		out = append(append(out, `,"old":`...), c.old.JSON()...)
		parts := []changedPart{}
		for _, p := range c.parts() {
			part := changedPart{Path: p.Path}
			if p.HasOld {
				part.Old = p.Old
			}
			if p.HasNew {
				part.New = p.New
			}
			parts = append(parts, part)
		}
		out = append(append(out, `,"parts":`...), marshal(parts)...)
	}
	return a.writeLine(append(out, '}'))
}

// tally counts changes.
type tally struct {
	Added   int64 `json:"added"`
	Removed int64 `json:"removed"`
	Edited  int64 `json:"edited"`
}

func (t *tally) add(kind string, n int64) {
	switch kind {
	case changeAdded:
		t.Added += n
	case changeRemoved:
		t.Removed += n
	case changeEdited:
		t.Edited += n
	}
}

// diffStat is what tape diff --stat tells.
type diffStat struct {
	From    string            `json:"from"`
	To      string            `json:"to"`
	Entries tally             `json:"entries"`
	Kinds   map[string]*tally `json:"kinds"`
	Runs    tally             `json:"runs"`   // run events that tell of tokens
	Tokens  tally             `json:"tokens"` // what they tell
	Tools   map[string]*tally `json:"tools"`  // calls
}

func (s *diffStat) count(c change) {
	s.Entries.add(c.kind, 1)
	bump(s.Kinds, c.entry.Kind).add(c.kind, 1)
	if u, ok := c.entry.Usage(); ok && u.TotalTokens != nil {
		s.Runs.add(c.kind, 1)
		s.Tokens.add(c.kind, *u.TotalTokens)
	}
	calls := jsonl.Get(c.entry.Payload, "calls")
	switch c.entry.Kind {
	case repo.KindToolCall:
	case repo.KindMessage:
		calls = jsonl.Get(c.entry.Payload, "tool_calls")
	default:
		return
	}
	for call := range jsonl.Elements(calls) {
		name := cmp.Or(jsonl.GetString(call, "function", "name"), jsonl.GetString(call, "name"))
		bump(s.Tools, name).add(c.kind, 1)
	}
}

func bump(m map[string]*tally, key string) *tally {
	if m[key] == nil {
		m[key] = &tally{}
	}
	return m[key]
}

func (a *App) showDiffStat(ctx context.Context, from, to *repo.Revision) error {
	s := diffStat{From: from.Name(), To: to.Name(), Kinds: map[string]*tally{}, Tools: map[string]*tally{}}
	err := comparePoints(ctx, from, to, func(c change) error {
		s.count(c)
		return nil
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.emit(s)
	}
	if s.Entries == (tally{}) {
		a.tell("no entry differs")
		return nil
	}
	a.page()
	a.tallies("KIND", s.Kinds, "entries", s.Entries)
	if len(s.Tools) > 0 {
		a.printf("\n")
		a.tallies("TOOL", s.Tools, "", tally{})
	}
	if s.Runs != (tally{}) {
		a.printf("\n")
		a.tallies("RUNS", map[string]*tally{"runs": &s.Runs, "tokens": &s.Tokens}, "", tally{})
	}
	return nil
}

// tallies shows counts as a table, the highest first, and their sum below them.
func (a *App) tallies(head string, m map[string]*tally, name string, sum tally) {
	table := newTable(head, ">ADDED", ">REMOVED", ">EDITED")
	number := func(n int64) string {
		if n == 0 {
			return "-"
		}
		return strconv.FormatInt(n, 10)
	}
	add := func(name string, t tally) { table.add(name, number(t.Added), number(t.Removed), number(t.Edited)) }
	total := func(t *tally) int64 { return t.Added + t.Removed + t.Edited }
	for _, key := range slices.SortedFunc(maps.Keys(m), func(x, y string) int {
		return cmp.Or(cmp.Compare(total(m[y]), total(m[x])), cmp.Compare(x, y))
	}) {
		add(key, *m[key])
	}
	if name != "" {
		add(name, sum)
	}
	table.write(a)
}
