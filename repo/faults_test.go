package repo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"tape/internal/git/disk"
	"tape/internal/store/layout"
	"tape/internal/testkit"
	"testing"
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
	// warned is what the store had to say meanwhile.
	warned string
	// lossy, if set, is told of what succeeds.
	lossy *testkit.LossyDisk
}

func (f *faulty) fault(op disk.Op, path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	if f.seen == f.n || f.gap > 0 && f.seen >= f.n+f.gap {
		f.log = append(f.log, fmt.Sprintf("%s %s", op, filepath.Base(path)))
		return errFault
	}
	if f.lossy != nil {
		f.lossy.Before(op, path)
	}
	return nil
}

func (f *faulty) warn(said string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.warned += said + "\n"
}

// hit reports whether any operation was made to fail.
func (f *faulty) hit() bool { return len(f.log) > 0 }

// faultCase is a change to a workspace that is interrupted at each of its steps.
type faultCase struct {
	name  string
	setup func(t *testing.T, s *Store)
	run   func(ctx context.Context, s *Store) error
	// between: there is a state between before and after that is good in itself.
	between func(ctx context.Context, s *Store) error
	// extra: more of the same. Fewer operations are tried, but in the long runs.
	extra bool
	// late: an entry of it may be there without the commit that follows it, which the next
	// one then makes.
	late bool
	// merging: git has stopped in a merge, which verify tells of until the change is made.
	merging bool
	// unseen: nobody can tell it from what the workspace shows.
	unseen bool
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
	mustAppend(t, openTape(t, s, "main"), big(layout.SealSize, "fills the file "))
}

// commitsEvery has entries, not all of them committed, and a policy of commits.
func commitsEvery(policy string) func(t *testing.T, s *Store) {
	return func(t *testing.T, s *Store) {
		someEntries(t, s)
		mustDo(t, s.SetSetting("commit", policy))
	}
}

func faultCases() []faultCase {
	appending := func(drafts ...Draft) func(context.Context, *Store) error {
		return onTape("main", func(ctx context.Context, tp *Tape) error {
			_, err := tp.Append(ctx, nil, drafts...)
			return err
		})
	}
	var batch []Draft
	for i := range 6 { // fills a file
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
		{name: "append/then-commit", late: true, extra: true, setup: commitsEvery("2"), run: appending(Message("user", "three"))},
		{name: "append/commit-before", extra: true, setup: commitsEvery("turn"), run: appending(Message("user", "three"))},
		{name: "append/batch-and-commit", extra: true, setup: commitsEvery("5"), run: appending(batch...)},
		{name: "handoff", setup: someEntries, run: handoff},
		{name: "handoff/after-seal", extra: true, setup: func(t *testing.T, s *Store) {
			almostSealed(t, s)
			mustAppend(t, openTape(t, s, "main"), Message("user", "in the second file"))
		}, run: handoff},
		{name: "update/many-phases", extra: true, setup: someEntries, run: onTape("main", func(ctx context.Context, tp *Tape) error {
			_, err := tp.Update(ctx, func(tx *Tx) error {
				for i := range 2 {
					if _, err := tx.AppendEntry(ctx, Message("user", fmt.Sprint(i))); err != nil {
						return err
					}
					if _, err := tx.Handoff(ctx, Anchor{Name: fmt.Sprint("step-", i)}); err != nil {
						return err
					}
				}
				_, err := tx.AppendEntry(ctx, Event("end", nil))
				return err
			})
			return err
		})},
		{name: "artifact/add", setup: someEntries, run: onTape("main", func(ctx context.Context, tp *Tape) error {
			a, err := tp.AddArtifact(ctx, Artifact{}, strings.NewReader("a new one"))
			if err == nil {
				_, err = tp.Append(ctx, nil, referTo("see", a))
			}
			return err
		})},
		{name: "artifact/refer", setup: withArtifact, run: appending(referTo("again", artifactNamed("late", lateContent)))},
		{name: "artifact/refer-to-older", setup: func(t *testing.T, s *Store) {
			withArtifact(t, s)
			mustHandoff(t, openTape(t, s, "main"), "third")
		}, run: appending(Event("before", nil), referTo("again", artifactNamed("late", lateContent)))},
		{name: "artifact/handoff", setup: withArtifact, run: handoff},
		{name: "artifact/checkpoint", extra: true, setup: withArtifact, run: onTape("main", func(ctx context.Context, tp *Tape) error {
			_, _, err := tp.Checkpoint(ctx)
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
		{name: "linked/handoff", extra: true, setup: func(t *testing.T, s *Store) {
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
	saved string // the state before
	dir   string // where it is put each time: paths of linked worktrees are absolute
	old, new,
	half outcome // half: between them, or nothing
}

// outcome is all that a reader can learn of a workspace, and what git has of it.
type outcome struct{ picture, history string }

func outcomeOf(t *testing.T, s *Store) outcome {
	t.Helper()
	refs := history(t, s.Dir()) // before reading, which may complete a merge of git's
	return outcome{forkPicture(t, s), refs}
}

func (c faultCase) template(t *testing.T) *template {
	t.Helper()
	root := t.TempDir()
	tm := &template{faultCase: c, saved: filepath.Join(root, "saved"), dir: filepath.Join(root, "ws")}
	s, _, err := Init(t.Context(), tm.dir, &InitOptions{Options: Options{Now: testkit.Clock}})
	if err != nil {
		t.Fatal(err)
	}
	c.setup(t, s)
	copyTree(t, tm.dir, tm.saved)
	after := func(run func(context.Context, *Store) error) outcome {
		tm.putBack(t)
		s := openFaulty(t, tm.dir, nil)
		if err := run(t.Context(), s); err != nil {
			t.Fatalf("without a fault: %v", err)
		}
		healthy(t, tm.dir)
		return outcomeOf(t, s)
	}
	tm.old = outcomeOf(t, openFaulty(t, tm.dir, nil))
	tm.new = after(c.run)
	if c.between != nil {
		tm.half = after(c.between)
	}
	if (tm.old == tm.new) != c.unseen {
		t.Fatalf("the change changes nothing: %v", tm.old == tm.new)
	}
	return tm
}

// putBack makes the workspace what it was before the change.
func (tm *template) putBack(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(tm.dir); err != nil {
		t.Fatal(err)
	}
	copyTree(t, tm.saved, tm.dir)
}

func openFaulty(t *testing.T, dir string, f *faulty) *Store {
	t.Helper()
	o := &Options{Now: testkit.Clock}
	if f != nil {
		o.Fs, o.Warn = &disk.FS{Fault: f.fault}, f.warn
	}
	s, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSoakFaults makes the N-th disk operation of every change fail: that one alone, that
// and all that follow, the same and then the power goes, or with a disk that fails for good
// while the change is being taken back. Whatever fails, the change has happened or it has not, nobody has to repair
// anything, and the next call works. Every N is tried in the long runs.
func TestSoakFaults(t *testing.T) {
	tryFaults(t, faultCases(), pace{alone: testkit.Size(10, 1), others: testkit.Size(40, 1), goOn: testkit.Size(8, 1)})
}

// TestReferAfterFault: an artifact that a call left which failed is not taken for durable by the
// next one that refers to it.
func TestReferAfterFault(t *testing.T) {
	if !testkit.Forgets {
		t.Skip("it needs a disk that forgets")
	}
	cases := faultCases()
	tm := cases[slices.IndexFunc(cases, func(c faultCase) bool { return c.name == "artifact/refer-to-older" })].template(t)
	for n, over := 1, false; !over && !t.Failed(); n++ {
		over = tm.interrupted(t, n, forgetsLater)
	}
}

// pace says which faults are tried: one in so many, beginning anywhere.
type pace struct {
	alone  int // of an operation that fails alone
	others int // of a disk that fails for good, and of extra changes
	goOn   int // of those tried, after how many more is recorded
}

// tryFaults interrupts each change until it is over before the fault.
func tryFaults(t *testing.T, cases []faultCase, p pace) {
	seed := testkit.Random(t).Uint64()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			tm := c.template(t)
			tried := 0
			for _, longest := range []int{0, 1, forgets, forgetsLater, 12} {
				// Nothing is recorded before a merge of git's is over.
				if longest < 0 && !testkit.Forgets || longest == forgetsLater && c.merging {
					continue
				}
				step := p.alone
				switch {
				case longest < 0:
					step = 2*p.others - 1
				case longest > 0 || c.extra:
					step = p.others
				}
				for n := 1 + rng.IntN(step); ; n += step {
					gap := longest
					if longest > 1 {
						gap = 2 + rng.IntN(longest-1)
					}
					if tm.interrupted(t, n, gap) || t.Failed() {
						t.Logf("gap up to %d: about %d operations", longest, n)
						break
					}
					if tried++; tried%p.goOn == 0 {
						tm.goesOn(t)
					}
				}
			}
		})
	}
}

// forgets, as a gap, is that of a disk that fails for good, and of which nothing is left
// that was never synced.
// With forgetsLater, one operation fails, and somebody goes on before the power goes.
const (
	forgets      = -1
	forgetsLater = -2
)

// interrupted runs the change with a fault at the n-th operation. It reports whether
// the change was over before that.
func (tm *template) interrupted(t *testing.T, n, gap int) (over bool) {
	tm.putBack(t)
	f := &faulty{n: n, gap: gap}
	if gap < 0 {
		f.gap, f.lossy = gap-forgetsLater, testkit.NewLossyDisk(t, tm.dir)
		defer f.lossy.Close()
	}
	err := tm.run(t.Context(), openFaulty(t, tm.dir, f))
	if f.hit() && gap == forgetsLater {
		tm.goesOnThenForgets(t, f, err)
		return false
	}
	if f.hit() && gap == forgets {
		f.lossy.Restart(t)
	}
	if !f.hit() {
		if err != nil {
			t.Errorf("without a fault: %v", err)
		}
		return true
	}
	defer func() {
		if t.Failed() {
			t.Logf("operation %d failed, gap %d: %v; the call returned %v; warnings: %s", n, gap, f.log, err, f.warned)
		}
	}()

	// A reader that never heard of the fault.
	s := openFaulty(t, tm.dir, nil)
	before := forkPicture(t, s)
	switch {
	case before != tm.old.picture && before != tm.new.picture && (tm.between == nil || before != tm.half.picture):
		t.Errorf("neither the old nor the new state:\n%.2000s\nold:\n%.2000s\nnew:\n%.2000s", before, tm.old.picture, tm.new.picture)
		return false
	case err == nil && before != tm.new.picture:
		t.Errorf("the call reported success, but the state is\n%.2000s", before)
	case err != nil && !errors.Is(err, errFault):
		t.Errorf("the error hides its cause: %v", err)
	}
	// The next writer puts right what is left to do, and no reader notices.
	if !tm.merging || before != tm.old.picture {
		settledAll(t, tm.dir)
	}
	after := outcomeOf(t, openFaulty(t, tm.dir, nil))
	if after.picture != before {
		t.Errorf("it changed when it was repaired, from\n%.2000s\nto\n%.2000s", before, after.picture)
	}
	if after.picture == tm.new.picture && !tm.late && tm.old.picture != tm.new.picture {
		got, want := withoutLeft(after.history), tm.new.history
		if err != nil || f.warned != "" {
			// A restored archive whose ref could not be removed does no harm.
			got, want = withoutRefs(got, layout.ArchivePrefix), withoutRefs(want, layout.ArchivePrefix)
		}
		if got != want {
			t.Errorf("the entries are those after the change, git's side is not:\n%s\nwant:\n%s", got, want)
		}
	}
	if tm.old.picture == tm.new.picture && err == nil && f.warned == "" && after.history != tm.new.history {
		t.Errorf("the call reported success, but git has\n%s\nwant:\n%s", after.history, tm.new.history)
	}
	if after.picture != tm.new.picture || tm.old.picture == tm.new.picture {
		if err := tm.run(t.Context(), s); err != nil {
			t.Errorf("the next call: %v", err)
		}
		got := outcomeOf(t, s)
		if got.picture != tm.new.picture {
			t.Errorf("the next call made\n%.2000s\nwant\n%.2000s", got.picture, tm.new.picture)
		}
		if got.history = withoutLeft(got.history); got.history != tm.new.history {
			t.Errorf("the next call made of git's side\n%s\nwant:\n%s", got.history, tm.new.history)
		}
	}
	return false
}

// withoutLeft leaves the tags of a fork out that is gone: it may have been cut off between
// its branch and these, and nobody reads them.
func withoutLeft(refs string) string {
	if strings.Contains(refs, "refs/heads/fork/main/x ") {
		return refs
	}
	return withoutRefs(refs, "refs/tags/anchor/"+layout.TapeSlug("main/x")+"/")
}

func withoutRefs(refs, prefix string) string {
	all := strings.Split(refs, "\n")
	return strings.Join(slices.DeleteFunc(all, func(ref string) bool { return strings.HasPrefix(ref, prefix) }), "\n")
}
