package repo

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/disk"
	"tape/internal/testkit"
)

// forkFault is a change around a fork that is interrupted at each of its steps.
type forkFault struct {
	name  string
	setup func(t *testing.T, s *Store)
	run   func(ctx context.Context, s *Store) error
	// between: there is a state between before and after that is good in itself.
	between func(ctx context.Context, s *Store) error
}

func twoSides(t *testing.T, s *Store) {
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", "one"))
	mustHandoff(t, m, "second")
	x := mustFork(t, m, "x", "")
	mustAppend(t, x, Message("user", "x1"), Event("x2", nil))
	mustHandoff(t, x, "in the fork")
	mustAppend(t, x, Message("user", "x3"))
	mustAppend(t, m, Message("user", "two"), Event("three", nil))
}

func forkFaults() []forkFault {
	on := onTape
	merge := func(o MergeOptions) func(context.Context, *Store) error {
		return on("main/x", func(ctx context.Context, f *Tape) error { _, err := f.Merge(ctx, &o); return err })
	}
	fork := func(at string) func(context.Context, *Store) error {
		return on("main", func(ctx context.Context, tp *Tape) error { _, err := tp.ForkAt(ctx, "y", at); return err })
	}
	committed := func(t *testing.T, s *Store) {
		twoSides(t, s)
		mustCheckpoint(t, openTape(t, s, "main"))
		mustCheckpoint(t, openTape(t, s, "main/x"))
	}
	read := on("main", func(ctx context.Context, tp *Tape) error { return tp.Settle(ctx) })
	return []forkFault{
		{name: "fork", setup: twoSides, run: fork("")},
		{name: "fork at an entry", setup: committed, run: fork("@2")},
		{name: "append in the fork", setup: twoSides, run: on("main/x", func(ctx context.Context, f *Tape) error {
			_, err := f.Append(ctx, nil, Message("user", "x4"), Event("x5", nil), System("x6"))
			return err
		})},
		{name: "first append after gc", setup: func(t *testing.T, s *Store) {
			committed(t, s)
			if _, err := s.GC(t.Context(), &GCOptions{Idle: -1, WorktreesOnly: true}); err != nil {
				t.Fatal(err)
			}
		}, run: on("main/x", func(ctx context.Context, f *Tape) error {
			_, err := f.Append(ctx, nil, Message("user", "x4"))
			return err
		})},
		{name: "merge", setup: twoSides, run: merge(MergeOptions{}), between: merge(MergeOptions{Keep: true})},
		{name: "merge, and keep", setup: twoSides, run: merge(MergeOptions{Keep: true})},
		{name: "merge a summary", setup: twoSides, run: merge(MergeOptions{Keep: true, Summary: "tried"})},
		{name: "discard", setup: twoSides, run: on("main/x", func(ctx context.Context, f *Tape) error { return f.Discard(ctx) })},
		{name: "complete", setup: func(t *testing.T, s *Store) {
			committed(t, s)
			mustAppend(t, openTape(t, s, "main"), Message("user", "not committed"))
			mergeWithGit(t, s.Dir(), "host, our tree")
		}, run: read},
		{name: "pull what goes on", setup: func(t *testing.T, s *Store) { published(t, s, false) }, run: joined},
		{name: "pull what went apart", setup: func(t *testing.T, s *Store) { published(t, s, true) }, run: joined},
		{name: "continue", setup: stoppedMerge, run: on("main", func(ctx context.Context, tp *Tape) error { _, err := tp.ContinueMerge(ctx); return err })},
	}
}

// forkPicture is all that a reader can learn of tapes and forks.
func forkPicture(t *testing.T, s *Store) string {
	t.Helper()
	out := mustPicture(t, s)
	forks, err := s.Forks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range forks {
		out += "fork " + f.Name() + "\n" + strings.Join(lines(entriesOf(t, f, Query{})), "\n") + "\n"
	}
	return out
}

func (c forkFault) build(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "ws")
	s, _, err := Init(t.Context(), dir, &InitOptions{Options: Options{Now: testkit.Clock}})
	if err != nil {
		t.Fatal(err)
	}
	c.setup(t, s)
	return dir
}

func openFaulty(t *testing.T, dir string, f *faulty) *Store {
	t.Helper()
	o := &Options{Now: testkit.Clock}
	if f != nil {
		o.fs = &disk.FS{Fault: f.fault}
	}
	s, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSoakForkFaults makes the N-th disk operation of each change around forks fail, for
// every N, alone or with all that follow. The change has happened or it has not, nobody
// has to repair anything, and the next call works.
func TestSoakForkFaults(t *testing.T) {
	seed := testkit.Random(t).Uint64()
	for _, c := range forkFaults() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 2))
			good := []string{c.pictureAfter(t, nil), c.pictureAfter(t, c.run)}
			if c.between != nil {
				good = append(good, c.pictureAfter(t, c.between))
			}
			for _, gap := range []int{0, 1} {
				step := testkit.Size(90, 50, 1)
				for n := 1 + rng.IntN(step); ; n += step {
					if c.interrupted(t, good, n, gap) || t.Failed() {
						t.Logf("gap %d: about %d operations", gap, n)
						break
					}
				}
			}
		})
	}
}

func (c forkFault) pictureAfter(t *testing.T, run func(context.Context, *Store) error) string {
	dir := c.build(t)
	s := openFaulty(t, dir, nil)
	if run == nil {
		return forkPicture(t, s)
	}
	if err := run(t.Context(), s); err != nil {
		t.Fatalf("without a fault: %v", err)
	}
	healthy(t, dir)
	return forkPicture(t, s)
}

// interrupted runs the change with a fault at its n-th operation; good are the states
// before, behind and between. It reports whether the change was over before that.
func (c forkFault) interrupted(t *testing.T, good []string, n, gap int) (over bool) {
	dir := c.build(t)
	f := &faulty{n: n, gap: gap}
	err := c.run(t.Context(), openFaulty(t, dir, f))
	if !f.hit() {
		if err != nil {
			t.Errorf("without a fault: %v", err)
		}
		return true
	}
	defer func() {
		if t.Failed() {
			t.Logf("operation %d failed, gap %d: %v; the call returned %v", n, gap, f.log, err)
		}
	}()
	s := openFaulty(t, dir, nil)
	before := forkPicture(t, s)
	switch {
	case !slices.Contains(good, before):
		t.Errorf("neither the old nor the new state:\n%.2000s\nold:\n%.2000s\nnew:\n%.2000s", before, good[0], good[1])
		return false
	case err == nil && before != good[1]:
		t.Errorf("the call reported success, but the state is\n%.2000s", before)
	case err != nil && !errors.Is(err, errFault):
		t.Errorf("the error hides its cause: %v", err)
	}
	if merging := c.name == "continue" && before == good[0]; !merging {
		verified(t, dir)
	}
	if after := forkPicture(t, openFaulty(t, dir, nil)); after != before {
		t.Errorf("it changed when it was repaired, from\n%.2000s\nto\n%.2000s", before, after)
	}
	if before != good[1] {
		if err := c.run(t.Context(), s); err != nil {
			t.Errorf("the next call: %v", err)
		}
		if got := forkPicture(t, s); got != good[1] {
			t.Errorf("the next call made\n%.2000s\nwant\n%.2000s", got, good[1])
		}
	}
	all, err2 := s.Tapes(t.Context())
	forks, err3 := s.Forks(t.Context())
	if err := errors.Join(err2, err3); err != nil {
		t.Fatal(err)
	}
	for _, tp := range slices.Concat(all, forks) {
		mustAppend(t, tp, Message("user", "on we go"))
	}
	healthy(t, dir)
	return false
}
