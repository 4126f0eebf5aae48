package repo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tape/internal/disk"
	"tape/internal/testkit"
)

var errFault = errors.New("injected fault")

// faulty is a disk whose n-th operation fails, and with gap set, so many operations
// later, all.
type faulty struct {
	mu   sync.Mutex
	n    int
	gap  int
	seen int
	log  []string
}

func (f *faulty) fault(op disk.Op, path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	if f.seen == f.n || f.gap > 0 && f.seen >= f.n+f.gap {
		f.log = append(f.log, fmt.Sprintf("%s %s", op, filepath.Base(path)))
		return errFault
	}
	return nil
}

// hit reports whether any operation was made to fail.
func (f *faulty) hit() bool { return len(f.log) > 0 }

// faultCase is a change to a workspace that is interrupted at each of its steps.
type faultCase struct {
	name  string
	setup func(t *testing.T, s *Store)
	run   func(ctx context.Context, s *Store) error
	// linked: setup makes linked worktrees, whose paths are absolute, so that the
	// workspace cannot be copied.
	linked bool
	// extra: more of the same. Each operation is tried in the long runs only.
	extra bool
}

func onTape(name string, f func(ctx context.Context, tp *Tape) error) func(context.Context, *Store) error {
	return func(ctx context.Context, s *Store) error {
		tp, err := s.Tape(ctx, name)
		if err != nil {
			return err
		}
		return f(ctx, tp)
	}
}

func someEntries(t *testing.T, s *Store) {
	tp := openTape(t, s, "main")
	mustAppend(t, tp, System("be brief"))
	mustAppend(t, tp, Message("user", "one"), Event("run", nil))
	mustHandoff(t, tp, "second")
	mustAppend(t, tp, Message("user", "two"))
}

func almostSealed(t *testing.T, s *Store) {
	mustAppend(t, openTape(t, s, "main"), big(SealSize, "fills the file "))
}

func faultCases() []faultCase {
	appending := func(drafts ...Draft) func(context.Context, *Store) error {
		return onTape("main", func(ctx context.Context, tp *Tape) error {
			_, err := tp.Append(ctx, nil, drafts...)
			return err
		})
	}
	var batch []Draft
	for i := range 10 {
		batch = append(batch, big(60_000, fmt.Sprint(i)), Event("step", nil))
	}
	handoff := onTape("main", func(ctx context.Context, tp *Tape) error {
		_, err := tp.Handoff(ctx, Anchor{Name: "third", Summary: "all done", State: []byte(`{"n":1.0}`)})
		return err
	})
	return []faultCase{
		{name: "append/one", setup: someEntries, run: appending(Message("user", "three"))},
		{name: "append/new-file", setup: someEntries, run: appending(Event("three", nil))},
		{name: "append/sealed", setup: almostSealed, run: appending(Message("user", "next file"))},
		{name: "append/batch", setup: someEntries, run: appending(batch...)},
		{name: "handoff", setup: someEntries, run: handoff},
		{name: "handoff/after-seal", extra: true, setup: func(t *testing.T, s *Store) {
			almostSealed(t, s)
			mustAppend(t, openTape(t, s, "main"), Message("user", "in the second file"))
		}, run: handoff},
		{name: "update/many-phases", extra: true, setup: someEntries, run: onTape("main", func(ctx context.Context, tp *Tape) error {
			_, err := tp.Update(ctx, func(tx *Tx) error {
				for i := range 2 {
					if _, err := tx.AppendEntry(Message("user", fmt.Sprint(i))); err != nil {
						return err
					}
					if _, err := tx.Handoff(Anchor{Name: fmt.Sprint("step-", i)}); err != nil {
						return err
					}
				}
				_, err := tx.AppendEntry(Event("end", nil))
				return err
			})
			return err
		})},
		{name: "checkpoint", setup: someEntries, run: onTape("main", func(ctx context.Context, tp *Tape) error {
			_, _, err := tp.Checkpoint(ctx)
			return err
		})},
		{name: "reset", setup: func(t *testing.T, s *Store) {
			someEntries(t, s)
			mustCheckpoint(t, openTape(t, s, "main"))
		}, run: onTape("main", func(ctx context.Context, tp *Tape) error {
			_, err := tp.Reset(ctx, false)
			return err
		})},
		{name: "restore", setup: func(t *testing.T, s *Store) {
			someEntries(t, s)
			if _, err := openTape(t, s, "main").Reset(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		}, run: onTape("main", func(ctx context.Context, tp *Tape) error {
			_, _, err := tp.Restore(ctx, Latest)
			return err
		})},
		{name: "create-tape", setup: someEntries, run: func(ctx context.Context, s *Store) error {
			_, err := s.CreateTape(ctx, "other/tape")
			return err
		}},
		{name: "first-write", setup: func(t *testing.T, s *Store) {
			if _, err := s.CreateTape(t.Context(), "other/tape"); err != nil {
				t.Fatal(err)
			}
		}, run: onTape("other/tape", func(ctx context.Context, tp *Tape) error {
			_, err := tp.Append(ctx, nil, Message("user", "hello"))
			return err
		})},
		{name: "linked/handoff", linked: true, extra: true, setup: func(t *testing.T, s *Store) {
			tp, err := s.CreateTape(t.Context(), "other/tape")
			if err != nil {
				t.Fatal(err)
			}
			mustAppend(t, tp, Message("user", "hello"))
		}, run: onTape("other/tape", func(ctx context.Context, tp *Tape) error {
			_, err := tp.Handoff(ctx, Anchor{Name: "second"})
			return err
		})},
	}
}

// template is a workspace in the state before a change, and what the change makes of it.
type template struct {
	faultCase
	dir                    string
	old, new               string // pictures
	oldHistory, newHistory string
}

func (c faultCase) initOptions() *InitOptions {
	return &InitOptions{Options: Options{Now: testkit.Clock}}
}

func (c faultCase) build(t *testing.T, dir string) {
	t.Helper()
	s, _, err := Init(t.Context(), dir, c.initOptions())
	if err != nil {
		t.Fatal(err)
	}
	c.setup(t, s)
}

func (c faultCase) template(t *testing.T) *template {
	t.Helper()
	tm := &template{faultCase: c, dir: filepath.Join(t.TempDir(), "template")}
	c.build(t, tm.dir)
	dir := tm.fresh(t)
	s := tm.open(t, dir, nil, nil)
	tm.old, tm.oldHistory = mustPicture(t, s), history(t, dir)
	if err := c.run(t.Context(), s); err != nil {
		t.Fatalf("without a fault: %v", err)
	}
	tm.new, tm.newHistory = mustPicture(t, s), history(t, dir)
	if tm.old == tm.new && tm.oldHistory == tm.newHistory {
		t.Fatal("the change changes nothing")
	}
	healthy(t, dir)
	return tm
}

// fresh gives a workspace in the state before the change.
func (tm *template) fresh(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ws")
	if tm.linked {
		tm.build(t, dir)
		return dir
	}
	copyTree(t, tm.dir, dir)
	return dir
}

func (tm *template) open(t *testing.T, dir string, f *faulty, warn func(string)) *Store {
	t.Helper()
	o := &Options{Now: testkit.Clock, Warn: warn}
	if f != nil {
		o.fs = &disk.FS{Fault: f.fault}
	}
	s, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSoakFaults makes the N-th disk operation of every change fail, for every N. Then
// it does so with a disk that fails for good, at once or while the change is being taken
// back (that for every N only in the long runs). Whatever fails, the change has happened
// or it has not.
func TestSoakFaults(t *testing.T) {
	seed := testkit.Random(t).Uint64()
	for _, c := range faultCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			tm := c.template(t)
			for _, longest := range []int{0, 1, 12} {
				step := 1
				if longest > 0 || c.extra {
					step = testkit.Size(15, 6, 1)
				}
				n := 1
				if step > 1 {
					n += rng.IntN(step)
				}
				for ; ; n += step {
					gap := longest
					if longest > 1 {
						gap = 2 + rng.IntN(longest-1)
					}
					if tm.interrupted(t, n, gap) {
						t.Logf("gap up to %d: about %d operations", longest, n-1)
						break
					}
					if t.Failed() {
						return
					}
				}
			}
		})
	}
}

// interrupted runs the change with a fault at the n-th operation. It reports whether
// the change was over before that.
func (tm *template) interrupted(t *testing.T, n, gap int) (over bool) {
	dir := tm.fresh(t)
	f := &faulty{n: n, gap: gap}
	warned := ""
	err := tm.run(t.Context(), tm.open(t, dir, f, func(s string) { warned += s + "\n" }))
	if !f.hit() {
		if err != nil {
			t.Errorf("without a fault: %v", err)
		}
		return true
	}
	defer func() {
		if t.Failed() {
			t.Logf("operation %d failed, gap %d: %v; the call returned %v; warnings: %s", n, gap, f.log, err, warned)
		}
	}()

	// A reader that never heard of the fault.
	s := tm.open(t, dir, nil, nil)
	before := mustPicture(t, s)
	switch {
	case before != tm.old && before != tm.new:
		t.Errorf("neither the old nor the new state:\n%s", before)
		return false
	case err == nil && before != tm.new:
		t.Errorf("the call reported success, but the state is the old one")
	case err != nil && !errors.Is(err, errFault):
		t.Errorf("the error hides its cause: %v", err)
	}
	// The next writer puts right what is left to do, and no reader notices.
	verified(t, dir)
	after := mustPicture(t, tm.open(t, dir, nil, nil))
	if after != before {
		t.Errorf("the tape changed when it was repaired, from\n%s\nto\n%s", before, after)
	}
	if after == tm.new {
		got, want := history(t, dir), tm.newHistory
		if err == nil && warned != "" {
			// A restored archive whose ref could not be removed does no harm.
			got, want = withoutArchives(got), withoutArchives(want)
		}
		if tm.old != tm.new && got != want {
			t.Errorf("the entries are those after the change, git's side is not:\n%s\nwant:\n%s", got, want)
		}
	}
	if after == tm.old {
		if err := tm.run(t.Context(), s); err != nil {
			t.Errorf("the next call: %v", err)
		}
		if got := mustPicture(t, s); got != tm.new {
			t.Errorf("the next call made\n%s\nwant\n%s", got, tm.new)
		}
		if got := history(t, dir); got != tm.newHistory {
			t.Errorf("the next call made of git's side\n%s\nwant:\n%s", got, tm.newHistory)
		}
	}
	if n%8 != 0 && !testkit.Soak() {
		return false
	}
	// And the tape goes on.
	tapes, err2 := s.Tapes(t.Context())
	if err2 != nil {
		t.Fatal(err2)
	}
	for _, tp := range tapes {
		mustAppend(t, tp, Message("user", "on we go"))
	}
	verified(t, dir)
	return false
}

func withoutArchives(refs string) string {
	all := strings.Split(refs, "\n")
	return strings.Join(slices.DeleteFunc(all, func(ref string) bool { return strings.HasPrefix(ref, archivePrefix) }), "\n")
}

// TestSoakFaultsInit does the same to the creation of a workspace: afterwards there is
// none, or a second Init completes it.
func TestSoakFaultsInit(t *testing.T) {
	t.Parallel()
	for _, gap := range []int{0, 1} {
		step := 1
		if gap > 0 {
			step = testkit.Size(11, 4, 1)
		}
		for n := 1; ; n += step {
			f := &faulty{n: n, gap: gap}
			dir := filepath.Join(t.TempDir(), "ws")
			_, _, err := Init(t.Context(), dir, &InitOptions{Options: Options{Now: testkit.Clock, fs: &disk.FS{Fault: f.fault}}})
			if !f.hit() {
				if err != nil {
					t.Errorf("without a fault: %v", err)
				}
				t.Logf("gap %d: about %d operations", gap, n-1)
				break
			}
			s, _, err2 := Init(t.Context(), dir, &InitOptions{Options: Options{Now: testkit.Clock}})
			if err2 != nil {
				t.Fatalf("operation %d (%s) failed with %v; the next Init says: %v", n, f.log[0], err, err2)
			}
			tp := openTape(t, s, "")
			mustAppend(t, tp, Message("user", "on we go"))
			if got := ids(entriesOf(t, tp, Query{})); !slices.Equal(got, []int64{1, 2}) {
				t.Fatalf("operation %d (%s) failed; then there are the entries %v", n, f.log[0], got)
			}
			verified(t, dir)
			if t.Failed() {
				t.Fatalf("operation %d (%s) failed with: %v", n, f.log[0], err)
			}
		}
	}
}
