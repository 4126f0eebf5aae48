package join_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// forkSim makes random changes to a workspace and to its model.
type forkSim struct {
	t       *testing.T
	rng     *rand.Rand
	s       *repo.Store
	w       forkWorld // the model
	n       int       // the last number given to a tape, fork or text
	steps   []string  // all changes so far
	touched []string  // names of the tapes and forks that the step may have changed
	at      time.Time // see now
}

func newForkSim(t *testing.T, rng *rand.Rand) *forkSim {
	x := &forkSim{t: t, rng: rng, at: time.Now(), w: forkWorld{tapes: map[string]*simTape{}, closed: map[int]*simTape{}}}
	x.s = storetest.New(t, &repo.InitOptions{Options: repo.Options{Now: x.now}})
	if _, err := x.s.CreateTape(t.Context(), simRoots[1]); err != nil {
		t.Fatal(err)
	}
	for _, name := range simRoots {
		x.n++
		x.w.tapes[name] = &simTape{name: name, number: x.n, simHistory: newHistory(), committed: 1}
	}
	return x
}

// now advances by a second each time, so that a fork that is made again gets another commit.
func (x *forkSim) now() time.Time {
	x.at = x.at.Add(time.Second)
	return x.at
}

func newHistory() simHistory {
	return simHistory{entries: []*simEntry{{kind: repo.KindAnchor, text: repo.FirstAnchor}}}
}

// pick chooses one of the tapes and forks, or nil.
func (x *forkSim) pick(ok func(t *simTape) bool) *simTape {
	var list []*simTape
	for _, name := range x.w.names() {
		if t := x.w.tapes[name]; ok(t) {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[x.rng.IntN(len(list))]
}

func (x *forkSim) tape(t *simTape) *repo.Tape {
	x.touched = append(x.touched, t.name)
	return storetest.Tape(x.t, x.s, t.name)
}

func isFork(t *simTape) bool { return t.parent != 0 }

func isTape(t *simTape) bool { return t.parent == 0 }

func anything(*simTape) bool { return true }

func (x *forkSim) coin() bool { return x.rng.IntN(2) == 0 }

func (x *forkSim) next() int { x.n++; return x.n }

func (t *simTape) uncommitted() int { return len(t.entries) - t.committed }

func (x *forkSim) draft() repo.Draft {
	text := fmt.Sprint("entry ", x.next())
	pad := ""
	if x.rng.IntN(10) == 0 {
		pad = strings.Repeat("p", x.rng.IntN(120_000))
	}
	switch x.rng.IntN(5) {
	case 0:
		return repo.Draft{Kind: repo.KindEvent, Payload: fmt.Appendf(nil, `{"name":%q,"pad":%q}`, text, pad), Meta: []byte(`{"x": 1.0}`)}
	case 1:
		return repo.Draft{Kind: repo.KindToolCall, Payload: fmt.Appendf(nil, `{"calls":[],"name":%q,"pad":%q}`, text, pad)}
	case 2:
		return repo.Draft{Kind: "custom/kind", Payload: fmt.Appendf(nil, `{"name":%q}`, text), Date: "2025-03-01 12:00"}
	}
	return repo.Draft{Kind: repo.KindMessage, Payload: fmt.Appendf(nil, `{"role":"user","content":%q,"pad":%q}`, text, pad)}
}

// step makes one random change, and returns its description.
func (x *forkSim) step(ctx context.Context) (string, error) {
	type act struct {
		weight int
		do     func(ctx context.Context) (string, error)
	}
	acts := []act{{30, x.append}, {9, x.handoff}, {5, x.checkpoint}, {11, x.fork}, {13, x.mergeBack}, {4, x.discard},
		{2, x.reset}, {2, x.restore}, {6, x.byHand}, {6, x.gitMerge}, {5, x.hostMerge}, {6, x.maintain}, {testkit.Size(2, 8), x.kill}}
	total := 0
	for _, a := range acts {
		total += a.weight
	}
	n := x.rng.IntN(total)
	for _, a := range acts {
		if n -= a.weight; n < 0 {
			return a.do(ctx)
		}
	}
	return "", nil
}

func (x *forkSim) append(ctx context.Context) (string, error) {
	t := x.pick(anything)
	var drafts []repo.Draft
	for range 1 + x.rng.IntN(4)*x.rng.IntN(3) {
		drafts = append(drafts, x.draft())
	}
	entries, err := x.tape(t).Append(ctx, nil, drafts...)
	for _, e := range entries {
		t.entries = append(t.entries, simulated(e))
	}
	return fmt.Sprintf("append %d to %s", len(drafts), t.name), err
}

func (x *forkSim) handoff(ctx context.Context) (string, error) {
	t := x.pick(anything)
	name := fmt.Sprintf("phase/%d", x.rng.IntN(4))
	_, err := x.tape(t).Handoff(ctx, repo.Anchor{Name: name})
	t.entries = append(t.entries, &simEntry{kind: repo.KindAnchor, text: name})
	t.committed = len(t.entries)
	return fmt.Sprintf("handoff %s of %s", name, t.name), err
}

func (x *forkSim) checkpoint(ctx context.Context) (string, error) {
	t := x.pick(anything)
	tp := x.tape(t)
	_, n, err := tp.Checkpoint(ctx)
	if err == nil && int(n) != t.uncommitted() {
		err = fmt.Errorf("%d entries were committed, want %d", n, t.uncommitted())
	}
	t.committed = len(t.entries)
	if dir := tp.WorkTree(); err == nil && dir != "" {
		storetest.WantClean(x.t, dir)
	}
	return "checkpoint " + t.name, err
}

// point chooses where to fork a tape. It returns the argument, and the number of entries up to there.
func (x *forkSim) point(t *simTape) (string, int) {
	switch n := x.rng.IntN(10); {
	case n < 4:
		return "", len(t.entries)
	case n < 7:
		id := 1 + x.rng.IntN(len(t.entries))
		return fmt.Sprintf("@%d", id), id
	}
	var at []int
	for i, e := range t.entries {
		if e.kind == repo.KindAnchor {
			at = append(at, i)
		}
	}
	i := x.rng.IntN(len(at))
	if x.coin() {
		return fmt.Sprintf("%03d", i+1), at[i] + 1
	}
	name := t.entries[at[i]].text
	for _, last := range at {
		if t.entries[last].text == name {
			i = last
		}
	}
	return name, i + 1
}

func (x *forkSim) fork(ctx context.Context) (string, error) {
	t := x.pick(func(t *simTape) bool { return strings.Count(t.name, "/") < 4 })
	if t == nil || len(x.w.tapes) > 7 {
		return x.mergeBack(ctx)
	}
	at, entries := x.point(t)
	name := fmt.Sprintf("f%d", x.rng.IntN(4))
	if x.w.tapes[t.name+"/"+name] == nil && x.orphans(t.name+"/"+name) {
		return x.append(ctx)
	}
	what := fmt.Sprintf("fork %s %s at %q", t.name, name, at)
	f, err := x.tape(t).ForkAt(ctx, name, at)
	if x.w.tapes[t.name+"/"+name] != nil {
		if !errors.Is(err, repo.ErrConflict) {
			return what, fmt.Errorf("a fork was made although there is one of that name: %w", orNone(err))
		}
		return what + ", refused", nil
	}
	if err != nil {
		return what, err
	}
	x.forked(x.w, t, name, at, entries)
	x.touched = append(x.touched, f.Name())
	storetest.WantClean(x.t, f.WorkTree())
	return what, nil
}

func (x *forkSim) forked(w forkWorld, t *simTape, name, at string, entries int) {
	t = w.tapes[t.name]
	if at == "" || entries > t.committed {
		t.committed = len(t.entries)
	}
	own := slices.Clone(t.entries[:entries])
	w.tapes[t.name+"/"+name] = &simTape{name: t.name + "/" + name, number: x.next(), parent: t.number, base: slices.Clone(own),
		simHistory: simHistory{entries: own}, committed: entries}
}

// orphans reports whether a fork, which may be gone, has open forks. A new fork of its name would not be their
// parent.
func (x *forkSim) orphans(name string) bool {
	return slices.ContainsFunc(x.w.names(), func(open string) bool { return strings.HasPrefix(open, name+"/") })
}

func (x *forkSim) mergeBack(ctx context.Context) (string, error) {
	f := x.pick(isFork)
	if f == nil {
		return x.append(ctx)
	}
	o := join.Options{Keep: x.rng.IntN(3) == 0}
	if x.rng.IntN(4) == 0 {
		o.Summary = fmt.Sprint("summary ", x.next())
	}
	into := x.w.target(f)
	what := fmt.Sprintf("merge %s into %s %+v", f.name, into.name, o)
	m, err := join.Merge(ctx, storetest.InnerTape(x.tape(f)), o)
	x.touched = append(x.touched, into.name)
	f.committed, into.committed = len(f.entries), len(into.entries)
	if !x.w.mergeable(into, f) {
		var rewritten *repo.RewrittenError
		if !errors.As(err, &rewritten) {
			err = fmt.Errorf("the merge was not refused although the parent was reset: %w", orNone(err))
		} else {
			err = nil
		}
		return what + ", refused", err
	}
	added := x.w.merge(into, f, len(f.entries), o.Summary)
	into.committed = len(into.entries)
	if err == nil && (m.Merged != added || m.Into != into.name || m.Closed == o.Keep || added > 0 && m.LastID != int64(len(into.entries))) {
		err = fmt.Errorf("the merge says %+v; %d entries were merged", m, added)
	}
	if !o.Keep {
		x.w.close(f)
	}
	return what, err
}

func (x *forkSim) discard(ctx context.Context) (string, error) {
	f := x.pick(isFork)
	if f == nil {
		return x.append(ctx)
	}
	err := x.tape(f).Discard(ctx)
	what := "discard " + f.name
	if len(x.w.forks(f.name)) > 0 {
		if !errors.Is(err, repo.ErrConflict) {
			return what, fmt.Errorf("the discard was not refused although the fork has forks: %w", orNone(err))
		}
		return what + ", refused", nil
	}
	x.w.discard(f)
	return what, err
}

func (w forkWorld) discard(f *simTape) {
	f.committed = len(f.entries)
	w.close(f)
	if up, _, _ := layout.CutFork(f.name); w.tapes[up] != nil {
		w.tapes[up].discards = append(w.tapes[up].discards, f.number)
	}
}

func (x *forkSim) reset(ctx context.Context) (string, error) {
	t := x.pick(isTape)
	archive := x.rng.IntN(4) > 0
	_, err := x.tape(t).Reset(ctx, archive)
	if archive {
		t.archives = append(t.archives, t.simHistory)
	}
	t.simHistory, t.committed = newHistory(), 1
	return fmt.Sprintf("reset %s, archive %v", t.name, archive), err
}

func (x *forkSim) restore(ctx context.Context) (string, error) {
	t := x.pick(func(t *simTape) bool { return isTape(t) && len(t.archives) > 0 })
	if t == nil {
		return x.append(ctx)
	}
	_, _, err := x.tape(t).Restore(ctx, repo.Latest)
	was := t.archives[len(t.archives)-1]
	t.archives = t.archives[:len(t.archives)-1]
	if len(t.entries) > 1 {
		t.archives = append(t.archives, t.simHistory)
	}
	t.simHistory, t.committed = was, len(was.entries)
	return "restore " + t.name, err
}

func (x *forkSim) maintain(ctx context.Context) (string, error) {
	switch x.rng.IntN(4) {
	case 0:
		s, err := repo.Open(ctx, x.s.Dir(), &repo.Options{Now: x.now})
		if err == nil {
			x.s = s
		}
		return "reopen", err
	case 1:
		_, err := x.s.GC(ctx, &repo.GCOptions{Idle: -1, WorktreesOnly: x.rng.IntN(4) > 0})
		return "tape gc", err
	}
	args := [][]string{{"gc", "--quiet", "--prune=now"}, {"pack-refs", "--all"}, {"repack", "-d", "-q"}}[x.rng.IntN(3)]
	storetest.Git(x.t, x.s.Dir(), args...)
	return "git " + args[0], nil
}

// TestSoakForks compares random histories of tapes and forks with a model of plain slices, step by step.
func TestSoakForks(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	for range testkit.Size(1, 25) {
		simulateForks(t, rng, testkit.Size(90, 400))
	}
}

// TestForksThatFailed runs a history that once failed: a host merged into a tape into which git had merged.
func TestForksThatFailed(t *testing.T) {
	t.Parallel()
	simulateForks(t, rand.New(rand.NewPCG(1795381906210368886, 0)), 40)
}

func simulateForks(t *testing.T, rng *rand.Rand, steps int) {
	x := newForkSim(t, rng)
	for range steps {
		x.touched = nil
		what, err := x.step(t.Context())
		x.steps = append(x.steps, what)
		if err == nil {
			err = x.check(t.Context())
		}
		if err != nil || t.Failed() {
			t.Fatalf("step %d, %s: %v\nin %s, after: %s", len(x.steps), what, err, x.keep(), strings.Join(x.steps, "; "))
		}
	}
	storetest.Healthy(t, x.s.Dir())
	if t.Failed() {
		t.Fatalf("in %s, after: %s", x.keep(), strings.Join(x.steps, "; "))
	}
}

// check compares what a step changed with the model, and at every 50th step everything.
func (x *forkSim) check(ctx context.Context) error {
	if n := len(x.steps); n%50 == 0 {
		if err := x.compareAll(ctx, x.w); err != nil {
			return err
		}
		storetest.Healthy(x.t, x.s.Dir())
	}
	slices.Sort(x.touched)
	for _, name := range slices.Compact(x.touched) {
		if x.w.tapes[name] == nil {
			if _, err := x.s.Tape(ctx, name); !errors.Is(err, repo.ErrNotFound) {
				return fmt.Errorf("%s is still there: %w", name, orNone(err))
			}
			continue
		}
		if err := x.w.compare(ctx, x.s, name); err != nil {
			return err
		}
	}
	return nil
}

func orNone(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// keep copies the workspace to the folder in TAPE_KEEP, if that is set.
func (x *forkSim) keep() string {
	dir := os.Getenv("TAPE_KEEP")
	if dir == "" {
		return x.s.Dir()
	}
	storetest.CopyTree(x.t, x.s.Dir(), dir)
	return dir
}
