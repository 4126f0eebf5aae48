package storetest

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
	"tape/repo"
	"testing"
)

// ErrFault is what a Faulty disk fails with.
var ErrFault = errors.New("injected fault")

// Faulty is a disk whose N-th operation fails. With Gap set, all operations from N+Gap on fail, too.
type Faulty struct {
	mu     sync.Mutex
	N      int
	Gap    int
	Seen   int        // operations so far
	Log    []string   // the operations that failed
	warned string     // the store's warnings
	Lossy  *LossyDisk // if set, sees the operations that succeed
}

// Fault returns ErrFault if an operation on the disk has to fail. The disk calls it before each
// operation.
func (f *Faulty) Fault(op disk.Op, path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Seen++
	if f.Seen == f.N || f.Gap > 0 && f.Seen >= f.N+f.Gap {
		f.Log = append(f.Log, fmt.Sprintf("%s %s", op, filepath.Base(path)))
		return ErrFault
	}
	if f.Lossy != nil {
		f.Lossy.Before(op, path)
	}
	return nil
}

func (f *Faulty) warn(said string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.warned += said + "\n"
}

// Hit reports whether any operation was made to fail.
func (f *Faulty) Hit() bool { return len(f.Log) > 0 }

// FaultCase is a change to a workspace that is interrupted at each of its steps.
type FaultCase struct {
	Name  string
	Setup func(t *testing.T, s *repo.Store)
	Run   func(ctx context.Context, s *repo.Store) error
	// Between makes a part of the change that may remain after a fault; nil if there is none.
	Between func(ctx context.Context, s *repo.Store) error
	// Extra: the case resembles another one, so fewer operations are tried.
	Extra bool
	// Late: the entry may be stored without its commit, which the next entry then makes.
	Late bool
	// Merging: git has stopped in a merge, which verify reports until the change is made.
	Merging bool
	// Unseen: readers see the same before and after the change.
	Unseen bool
}

// OnTape is a change to one tape of a workspace.
func OnTape(name string, f func(ctx context.Context, tp *repo.Tape) error) func(context.Context, *repo.Store) error {
	return func(ctx context.Context, s *repo.Store) error {
		tp, err := s.Tape(ctx, name)
		if err != nil {
			return err
		}
		return f(ctx, tp)
	}
}

// Template is a workspace in the state before a change, and what the change makes of it.
type Template struct {
	FaultCase
	saved    string // a copy of the workspace before the change
	dir      string // the workspace itself, always at one place: paths of linked worktrees are absolute
	old, new outcome
	half     outcome // after Between, if that is set
}

// outcome is what readers see of a workspace (picture), and its refs in git (history).
type outcome struct{ picture, history string }

// outcomeOf reads the outcome of a change.
func outcomeOf(t *testing.T, s *repo.Store) outcome {
	t.Helper()
	refs := History(t, s.Dir()) // before reading, which may complete an incomplete merge
	return outcome{forkPicture(t, s), refs}
}

// forkPicture is what readers see of tapes and forks.
func forkPicture(t *testing.T, s *repo.Store) string {
	t.Helper()
	out := Picture(t, s)
	forks, err := s.Forks(t.Context())
	Must(t, err)
	for _, f := range forks {
		out += "fork " + f.Name() + "\n" + strings.Join(Lines(Entries(t, f, repo.Query{})), "\n") + "\n"
	}
	return out
}

// Template prepares the workspace of a case, and makes its change once without a fault.
func (c FaultCase) Template(t *testing.T) *Template {
	t.Helper()
	root := t.TempDir()
	tm := &Template{FaultCase: c, saved: filepath.Join(root, "saved"), dir: filepath.Join(root, "ws")}
	s, _, err := repo.Init(t.Context(), tm.dir, &repo.InitOptions{Options: repo.Options{Now: testkit.Clock}})
	Must(t, err)
	c.Setup(t, s)
	CopyTree(t, tm.dir, tm.saved)
	after := func(run func(context.Context, *repo.Store) error) outcome {
		tm.putBack(t)
		s := OpenFaulty(t, tm.dir, nil)
		if err := run(t.Context(), s); err != nil {
			t.Fatalf("without a fault: %v", err)
		}
		Healthy(t, tm.dir)
		return outcomeOf(t, s)
	}
	tm.old = outcomeOf(t, OpenFaulty(t, tm.dir, nil))
	tm.new = after(c.Run)
	if c.Between != nil {
		tm.half = after(c.Between)
	}
	if (tm.old == tm.new) != c.Unseen {
		t.Fatalf("the change makes no difference: %v; Unseen: %v", tm.old == tm.new, c.Unseen)
	}
	return tm
}

// putBack restores the workspace as it was before the change. It keeps the .git folder itself,
// by which the workspace is known as the user's own.
func (tm *Template) putBack(t *testing.T) {
	t.Helper()
	git := filepath.Join(tm.dir, layout.GitDirName)
	for _, dir := range []string{tm.dir, git} {
		all, err := os.ReadDir(dir)
		Must(t, err)
		for _, e := range all {
			if path := filepath.Join(dir, e.Name()); path != git {
				Must(t, os.RemoveAll(path))
			}
		}
	}
	CopyTree(t, tm.saved, tm.dir)
}

// OpenFaulty opens a workspace on the disk f. If f is nil, the disk does not fail.
func OpenFaulty(t *testing.T, dir string, f *Faulty) *repo.Store {
	t.Helper()
	o := &repo.Options{Now: testkit.Clock}
	if f != nil {
		o.Fs, o.Warn = &disk.FS{Fault: f.Fault}, f.warn
	}
	s, err := repo.Open(t.Context(), dir, o)
	Must(t, err)
	return s
}

// Pace says how many faults are tried: 10 means every tenth operation, beginning at a random one of
// the first ten.
type Pace struct {
	Alone  int // where a single operation fails
	Others int // where the disk fails for good, and for extra cases
	GoOn   int // how often entries are recorded on the recovered workspace: 10 is after every tenth fault
}

// TryFaults repeats each change with faults at later and later operations, until it ends before the
// fault.
func TryFaults(t *testing.T, cases []FaultCase, p Pace) {
	seed := testkit.Random(t).Uint64()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			tm := c.Template(t)
			tried := 0
			for _, longest := range []int{0, 1, PowerCut, LatePowerCut, 12} {
				// Nothing can be recorded while git has stopped in a merge.
				if longest < 0 && !HasLossyDisk || longest == LatePowerCut && c.Merging {
					continue
				}
				step := p.Alone
				switch {
				case longest < 0:
					step = 2*p.Others - 1
				case longest > 0 || c.Extra:
					step = p.Others
				}
				for n := 1 + rng.IntN(step); ; n += step {
					gap := longest
					if longest > 1 {
						gap = 2 + rng.IntN(longest-1)
					}
					if tm.Interrupted(t, n, gap) || t.Failed() {
						t.Logf("gap up to %d: about %d operations", longest, n)
						break
					}
					if tried++; tried%p.GoOn == 0 {
						tm.recordMore(t)
					}
				}
			}
		})
	}
}

// Gaps that end in a power cut, after which only synced data is left. With PowerCut the disk fails for
// good first. With LatePowerCut one operation fails, and more is recorded before the power cut.
const (
	PowerCut     = -1
	LatePowerCut = -2
)

// Interrupted runs the change with a fault at the n-th operation. It reports whether
// the change was over before that.
func (tm *Template) Interrupted(t *testing.T, n, gap int) (over bool) {
	tm.putBack(t)
	f := &Faulty{N: n, Gap: gap}
	if gap < 0 {
		f.Gap, f.Lossy = gap-LatePowerCut, NewLossyDisk(t, tm.dir)
		defer f.Lossy.Close()
	}
	err := tm.Run(t.Context(), OpenFaulty(t, tm.dir, f))
	if f.Hit() && gap == LatePowerCut {
		tm.recordMoreThenCutPower(t, f, err)
		return false
	}
	if f.Hit() && gap == PowerCut {
		f.Lossy.Restart(t)
	}
	if !f.Hit() {
		if err != nil {
			t.Errorf("without a fault: %v", err)
		}
		return true
	}
	defer func() {
		if t.Failed() {
			t.Logf("operation %d failed, gap %d: %v; the call returned %v; warnings: %s", n, gap, f.Log, err, f.warned)
		}
	}()

	// A new reader, whose disk does not fail.
	s := OpenFaulty(t, tm.dir, nil)
	before := forkPicture(t, s)
	switch {
	case before != tm.old.picture && before != tm.new.picture && (tm.Between == nil || before != tm.half.picture):
		t.Errorf("neither the old nor the new state:\n%.2000s\nold:\n%.2000s\nnew:\n%.2000s", before, tm.old.picture, tm.new.picture)
		return false
	case err == nil && before != tm.new.picture:
		t.Errorf("the call reported success, but the state is\n%.2000s", before)
	case err != nil && !errors.Is(err, ErrFault):
		t.Errorf("the error hides its cause: %v", err)
	}
	// The next writer completes what was interrupted, and readers see no difference.
	if !tm.Merging || before != tm.old.picture {
		Recovered(t, tm.dir)
	}
	after := outcomeOf(t, OpenFaulty(t, tm.dir, nil))
	if after.picture != before {
		t.Errorf("the repair changed what readers see, from\n%.2000s\nto\n%.2000s", before, after.picture)
	}
	if after.picture == tm.new.picture && !tm.Late && tm.old.picture != tm.new.picture {
		got, want := withoutForkTags(after.history), tm.new.history
		if err != nil || f.warned != "" {
			// A restored archive whose ref could not be removed does no harm.
			got, want = withoutRefs(got, layout.ArchivePrefix), withoutRefs(want, layout.ArchivePrefix)
		}
		if got != want {
			t.Errorf("the entries are those after the change, but the refs are\n%s\nwant:\n%s", got, want)
		}
	}
	if tm.old.picture == tm.new.picture && err == nil && f.warned == "" && after.history != tm.new.history {
		t.Errorf("the call reported success, but the refs are\n%s\nwant:\n%s", after.history, tm.new.history)
	}
	if after.picture != tm.new.picture || tm.old.picture == tm.new.picture {
		if err := tm.Run(t.Context(), s); err != nil {
			t.Errorf("the next call: %v", err)
		}
		got := outcomeOf(t, s)
		if got.picture != tm.new.picture {
			t.Errorf("the next call made\n%.2000s\nwant\n%.2000s", got.picture, tm.new.picture)
		}
		if got.history = withoutForkTags(got.history); got.history != tm.new.history {
			t.Errorf("after the next call the refs are\n%s\nwant:\n%s", got.history, tm.new.history)
		}
	}
	return false
}

// withoutForkTags drops the tags of the fork if its branch is gone: closing the fork may have been
// interrupted between the two, and nobody reads the tags.
func withoutForkTags(refs string) string {
	if strings.Contains(refs, "refs/heads/fork/main/x ") {
		return refs
	}
	return withoutRefs(refs, "refs/tags/anchor/"+layout.TapeSlug("main/x")+"/")
}

func withoutRefs(refs, prefix string) string {
	all := strings.Split(refs, "\n")
	return strings.Join(slices.DeleteFunc(all, func(ref string) bool { return strings.HasPrefix(ref, prefix) }), "\n")
}

// recordMore appends to every tape and fork.
func (tm *Template) recordMore(t *testing.T) {
	t.Helper()
	s := OpenFaulty(t, tm.dir, nil)
	for _, tp := range TapesAndForks(t, s) {
		Append(t, tp, repo.Message("user", "on we go"))
	}
	Healthy(t, tm.dir)
}

// recordMoreThenCutPower appends to every tape and fork after a fault, then cuts the power. Each
// acknowledged entry must exist once.
func (tm *Template) recordMoreThenCutPower(t *testing.T, f *Faulty, err error) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("operation %d failed, and the call returned %v; warnings: %s", f.N, err, f.warned)
		}
	}()
	s := OpenFaulty(t, tm.dir, &Faulty{Lossy: f.Lossy})
	if outcomeOf(t, s).picture == tm.old.picture && tm.old.picture != tm.new.picture {
		Must(t, tm.Run(t.Context(), s))
	}
	want := map[string][]string{}
	for _, tp := range TapesAndForks(t, s) {
		Append(t, tp, repo.Message("user", "on we go"))
		want[tp.Name()] = Lines(Entries(t, tp, repo.Query{}))
	}
	f.Lossy.Restart(t)
	s = OpenFaulty(t, tm.dir, nil)
	got := map[string][]string{}
	for _, tp := range TapesAndForks(t, s) {
		got[tp.Name()] = Lines(Entries(t, tp, repo.Query{}))
		Append(t, tp, repo.Message("user", "and on"))
	}
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("%s has\n%s\nwant\n%s", name, strings.Join(got[name], "\n"), strings.Join(want[name], "\n"))
		}
	}
	// A fork whose removal was never acknowledged may be back.
	if len(got) != len(want) && err == nil {
		t.Errorf("there are %d tapes and forks, %d were written to", len(got), len(want))
	}
	Healthy(t, tm.dir)
}
