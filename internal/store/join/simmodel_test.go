package join_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"tape/internal/store/layout"
	storetest "tape/internal/testkit/store"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// forkWorld is what a workspace should hold, kept as plain slices.
type forkWorld struct {
	tapes  map[string]*simTape // tapes and open forks
	closed map[int]*simTape    // closed forks, by their number
}

type simTape struct {
	name   string
	number int // of the tape or fork; a name may be used again
	parent int // number of the parent; 0 for a tape
	base   []*simEntry
	simHistory
	committed int // number of committed entries; -1 if unknown
	archives  []simHistory
	discards  []int        // numbers of forks that were discarded
	unsure    map[int]bool // forks whose discard was cut off
}

// simHistory is what a reset removes and a restore brings back.
type simHistory struct {
	entries []*simEntry
	merges  []simMerge
	inside  []simMerge // merges into the forks that were merged
}

type simMerge struct {
	fork, entries int // the fork's number, and how many entries it had
	status        string
}

type simEntry struct {
	kind, text, date string
	origin           string
	root             *simEntry // the entry of which this is a renumbered copy, or nil
}

func (e *simEntry) first() *simEntry {
	if e.root != nil {
		return e.root
	}
	return e
}

func (h simHistory) clone() simHistory {
	return simHistory{slices.Clone(h.entries), slices.Clone(h.merges), slices.Clone(h.inside)}
}

func (t *simTape) clone() *simTape {
	out := *t
	out.simHistory, out.archives, out.discards = t.simHistory.clone(), slices.Clone(t.archives), slices.Clone(t.discards)
	out.unsure = maps.Clone(t.unsure)
	return &out
}

func (w forkWorld) clone() forkWorld {
	out := forkWorld{tapes: map[string]*simTape{}, closed: maps.Clone(w.closed)}
	for name, t := range w.tapes {
		out.tapes[name] = t.clone()
	}
	return out
}

func (w forkWorld) names() []string { return slices.Sorted(maps.Keys(w.tapes)) }

func (w forkWorld) forks(parent string) []string {
	return slices.DeleteFunc(w.names(), func(name string) bool {
		up, _, ok := layout.CutFork(name)
		return !ok || up != parent || w.tapes[name].parent == 0
	})
}

// numbered finds an open or closed fork, or a tape.
func (w forkWorld) numbered(number int) *simTape {
	for _, t := range w.tapes {
		if t.number == number {
			return t
		}
	}
	return w.closed[number]
}

// target is what a fork is merged into: its parent, or the ancestor that the parent was merged into.
func (w forkWorld) target(f *simTape) *simTape {
	for name := f.name; ; {
		name, _, _ = layout.CutFork(name)
		if t := w.tapes[name]; t != nil {
			return t
		}
	}
}

// baseOn returns the entries that a tape has in common with a fork of it, or with a fork of that, by the bases.
func (w forkWorld) baseOn(into, f *simTape) []*simEntry {
	base := f.base
	for up, _, _ := layout.CutFork(f.name); up != into.name; up, _, _ = layout.CutFork(f.name) {
		f = w.numbered(f.parent)
		base = base[:min(len(base), len(f.base))]
	}
	return base
}

// mergeable reports whether the tape still has the entries that the fork began with.
func (w forkWorld) mergeable(into, f *simTape) bool {
	base := w.baseOn(into, f)
	return len(into.entries) >= len(base) && slices.Equal(into.entries[:len(base)], base)
}

// merge appends those of a fork's first upTo entries that were not merged yet, or the summary.
func (w forkWorld) merge(into, f *simTape, upTo int, summary string) (added int) {
	from := len(f.base)
	for _, m := range slices.Concat(into.merges, into.inside) {
		if m.fork == f.number {
			from = max(from, m.entries)
		}
	}
	has := map[*simEntry]bool{}
	for _, e := range into.entries {
		has[e.first()] = true
	}
	var lines []*simEntry
	for i := from; i < upTo; i++ {
		if e := f.entries[i]; !has[e.first()] {
			lines = append(lines, e.renumbered(f.name, i+1))
		}
	}
	status := repo.ForkMerged
	if summary != "" {
		status = repo.ForkSummarized
		lines = []*simEntry{{kind: repo.KindMessage, text: summary, origin: originText(f.name, -1)}}
	}
	into.entries = append(into.entries, lines...)
	if len(lines) > 0 {
		into.recordMerge(f, upTo, status)
	}
	return len(lines)
}

// recordMerge records that a fork was merged, together with what had been merged into it.
func (t *simTape) recordMerge(f *simTape, upTo int, status string) {
	t.merges = append(t.merges, simMerge{f.number, upTo, status})
	t.inside = append(append(t.inside, f.merges...), f.inside...)
}

// renumbered returns the copy of an entry that a merge stores in another tape.
func (e *simEntry) renumbered(from string, id int) *simEntry {
	out := &simEntry{kind: e.kind, text: e.text, date: e.date, origin: e.origin, root: e.first()}
	if out.origin == "" {
		out.origin = originText(from, id)
	}
	return out
}

func originText(name string, id int) string {
	for _, root := range simRoots {
		if name == root || strings.HasPrefix(name, root+"/") {
			return fmt.Sprintf("%s|%s|%d", root, strings.TrimPrefix(strings.TrimPrefix(name, root), "/"), id)
		}
	}
	return name
}

func (w forkWorld) close(f *simTape) {
	delete(w.tapes, f.name)
	w.closed[f.number] = f
}

var simRoots = []string{"main", "side/tape"}

// simulated returns an entry as the model keeps it.
func simulated(e repo.Entry) *simEntry {
	out := &simEntry{kind: e.Kind, text: jsonl.GetString(e.Payload, "content"), date: e.Date}
	if e.Kind != repo.KindMessage {
		out.text = jsonl.GetString(e.Payload, "name")
	}
	if origin := jsonl.Get(e.Meta, "origin"); origin != nil {
		id := string(jsonl.Get(origin, "id"))
		if jsonl.GetString(origin, "commit") != "" {
			id = "-1"
		}
		out.origin = fmt.Sprintf("%s|%s|%s", jsonl.GetString(origin, "tape"), jsonl.GetString(origin, "fork"), id)
	}
	return out
}

// compare returns how a tape or fork differs from its model. It adds dates that the model does not have yet.
func (w forkWorld) compare(ctx context.Context, s *repo.Store, name string) error {
	t := w.tapes[name]
	tp, err := s.Tape(ctx, name)
	if err != nil {
		return err
	}
	got, err := storetest.Collect(ctx, tp, repo.Query{})
	if err != nil {
		return err
	}
	if len(got) != len(t.entries) {
		return fmt.Errorf("%s has %d entries, want %d: %s", name, len(got), len(t.entries), whereApart(got, t.entries))
	}
	var anchors []string
	for i, want := range t.entries {
		have := simulated(got[i])
		if want.kind == repo.KindAnchor {
			anchors = append(anchors, fmt.Sprint(want.text, i+1))
		}
		if got[i].ID != int64(i+1) || have.kind != want.kind || have.text != want.text || have.origin != want.origin ||
			want.date != "" && have.date != want.date || got[i].AnchorSeq != len(anchors) {
			return fmt.Errorf("%s: entry %d is %.300s, want %v", name, i+1, got[i].Raw, *want)
		}
		want.date = have.date
	}
	phases, err := tp.Phases(ctx)
	if err != nil {
		return err
	}
	var have []string
	for _, p := range phases {
		have = append(have, fmt.Sprint(p.Name, p.FirstID))
	}
	if !slices.Equal(have, anchors) {
		return fmt.Errorf("%s has the phases %v, want %v", name, have, anchors)
	}
	return w.compareForks(ctx, tp, t)
}

func (w forkWorld) compareForks(ctx context.Context, tp *repo.Tape, t *simTape) error {
	info, err := tp.Info(ctx)
	if err != nil {
		return err
	}
	if t.committed < 0 {
		t.committed = len(t.entries) - int(info.Uncommitted)
	}
	if int(info.Uncommitted) != len(t.entries)-t.committed {
		return fmt.Errorf("%s: %d entries are not committed, want %d", t.name, info.Uncommitted, len(t.entries)-t.committed)
	}
	forks, err := tp.Forks(ctx)
	if err != nil {
		return err
	}
	var have []string
	for _, f := range forks {
		have = append(have, f.Name())
	}
	slices.Sort(have)
	if want := w.forks(t.name); !slices.Equal(have, want) {
		return fmt.Errorf("%s has the forks %v, want %v", t.name, have, want)
	}
	if t.parent != 0 {
		base, err := tp.Base(ctx)
		if err != nil || base.Entry != int64(len(t.base)) {
			return fmt.Errorf("%s begins with %+v, %w; want entry %d", t.name, base, err, len(t.base))
		}
	}
	closed, err := tp.ClosedForks(ctx)
	if err != nil {
		return err
	}
	have = nil
	for _, f := range closed {
		have = append(have, fmt.Sprintf("%s %s %d", f.Name, f.Status, f.Base.Entry+f.Entries))
	}
	want := w.closedForks(t)
	slices.Sort(have)
	slices.Sort(want)
	if len(t.unsure) == 0 && !slices.Equal(have, want) {
		return fmt.Errorf("%s has the closed forks %v, want %v", t.name, have, want)
	}
	return nil
}

func whereApart(got []repo.Entry, want []*simEntry) string {
	for i := range min(len(got), len(want)) {
		if have := simulated(got[i]); have.text != want[i].text || have.origin != want[i].origin {
			return fmt.Sprintf("entry %d is %.300s, want %v", i+1, got[i].Raw, *want[i])
		}
	}
	return "one is a prefix of the other"
}

// closedForks lists the forks that were merged into a tape, and those of its own that were discarded.
func (w forkWorld) closedForks(t *simTape) []string {
	var out []string
	seen := map[int]bool{}
	add := func(number, entries int, status string) {
		f := w.closed[number]
		if f == nil || seen[number] {
			return
		}
		seen[number] = true
		out = append(out, fmt.Sprintf("%s %s %d", f.name, status, entries))
	}
	for _, number := range t.discards {
		if w.closed[number] != nil {
			add(number, len(w.closed[number].entries), repo.ForkDiscarded)
		}
	}
	for _, m := range slices.Backward(t.merges) {
		add(m.fork, m.entries, m.status)
	}
	return out
}
