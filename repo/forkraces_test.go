package repo_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"tape/internal/git/disk"
	"tape/internal/store/join"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// raceSteps has one process work on the tape and on forks of it that others work on, too.
// Forks called k… are merged, those called d… are discarded. Each line that it prints
// names a tape or fork and an entry that is in it.
func raceSteps(ctx context.Context, m *repo.Tape, steps int) error {
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(time.Now().UnixNano())))
	for i := range steps {
		name := fmt.Sprintf("%c%d", "kkkd"[rng.IntN(4)], rng.IntN(2))
		err := func() error {
			f, err := m.Store().Tape(ctx, "main/"+name)
			if errors.Is(err, repo.ErrNotFound) && rng.IntN(2) == 0 {
				f, err = m.Fork(ctx, name)
			}
			switch {
			case err != nil || rng.IntN(3) == 0:
				f = m
			case rng.IntN(6) == 0 && name[0] == 'd':
				return f.Discard(ctx)
			case rng.IntN(6) == 0 && name[0] == 'k':
				_, err := join.Merge(ctx, storetest.InnerTape(f), join.Options{Keep: rng.IntN(2) == 0})
				return err
			}
			text := fmt.Sprintf("p%d-%d", os.Getpid(), i)
			if rng.IntN(8) == 0 {
				_, err = f.Handoff(ctx, repo.Anchor{Name: text})
			} else {
				_, err = f.Append(ctx, nil, repo.Message("user", text))
			}
			if err == nil {
				fmt.Fprintln(os.Stdout, "entry", i+1, f.Name(), text)
			}
			return err
		}()
		// Somebody else was quicker, or has closed the fork.
		if err != nil && !errors.Is(err, repo.ErrNotFound) && !errors.Is(err, repo.ErrConflict) {
			return fmt.Errorf("step %d with %s: %w", i, name, err)
		}
	}
	return nil
}

// TestSoakForkRaces has several processes make, fill, merge and discard forks under the
// same names while the tape grows, git packs and others read. No entry is lost or comes
// twice, and ids have no gaps.
func TestSoakForkRaces(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	git := func(args ...string) func() error {
		return func() error {
			out, err := exec.Command("git", append([]string{"-C", s.Dir()}, args...)...).CombinedOutput()
			if err != nil {
				return fmt.Errorf("git %v: %w\n%s", args, err, out)
			}
			time.Sleep(20 * time.Millisecond)
			return nil
		}
	}
	var reads atomic.Int64
	loops := map[string]func() error{
		"gc":        storetest.Background(git("gc", "--quiet")),
		"pack-refs": storetest.Background(git("pack-refs", "--all")),
		"readers":   storetest.Background(func() error { reads.Add(1); return readForks(t.Context(), s.Dir()) }),
	}
	var all []*storetest.Process
	for range 5 {
		all = append(all, storetest.Start(t, s.Dir(), fmt.Sprintf("fork-race main\n%d", testkit.Size(15, 400)), 1))
	}
	where := map[string]string{}
	for _, p := range all {
		<-p.Done
		if err := p.Cmd.Wait(); err != nil || p.Errs.Len() > 0 {
			t.Errorf("a process failed: %v\n%s", err, p.Errs.String())
		}
		delete(p.Acked, 0)
		for _, line := range p.Acked {
			name, text, _ := strings.Cut(strings.TrimPrefix(line, "entry "), " ")
			where[text] = name
		}
	}
	for name, stop := range loops {
		if err := stop(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	forks, err := s.Forks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range forks {
		if strings.HasPrefix(f.ForkName(), "k") {
			storetest.Merge(t, f, join.Options{})
		}
	}
	seen := map[string]int{}
	m := storetest.Tape(t, s, "main")
	for _, text := range strings.Fields(storetest.Texts(t, m)) {
		seen[text]++
	}
	for text, name := range where {
		want := 1
		if strings.HasPrefix(name, "main/d") {
			want = 0
		}
		if seen[text] != want {
			t.Errorf("%s was recorded in %s, and is %d times in the tape", text, name, seen[text])
		}
		delete(seen, text)
	}
	delete(seen, repo.FirstAnchor)
	for text := range seen {
		t.Errorf("nobody recorded %s", text)
	}
	t.Logf("%d entries, %d reads, %d forks at the end", len(where), reads.Load(), len(forks))
	if len(where) < 30 || reads.Load() < 2 {
		t.Error("too little happened at the same time")
	}
	storetest.WantTags(t, m)
	_, _, err = m.Checkpoint(t.Context()) // of what came after the last merge
	storetest.Must(t, err)
	storetest.WantClean(t, s.Dir())
}

// readForks reads everything that there is, whatever becomes of it meanwhile.
func readOne(ctx context.Context, s *repo.Store, name string) (got []repo.Entry, err error) {
	tp, err := s.Tape(ctx, name)
	if err == nil {
		got, err = storetest.Collect(ctx, tp, repo.Query{})
	}
	if err == nil {
		_, err = tp.Info(ctx)
	}
	return got, err
}

func readForks(ctx context.Context, dir string) error {
	s, err := repo.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	names := []string{"main"}
	forks, err := s.Forks(ctx)
	if err != nil {
		return err
	}
	for _, f := range forks {
		names = append(names, f.Name())
	}
	for _, name := range names {
		got, err := readOne(ctx, s, name)
		for try := 0; try < 3 && name != "main" && errors.Is(err, repo.ErrCorrupt); try++ {
			got, err = readOne(ctx, s, name) // closed and begun again meanwhile: damage would stay
		}
		if name != "main" && (errors.Is(err, repo.ErrNotFound) || errors.Is(err, fs.ErrNotExist)) {
			continue // closed while it was read
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		for i, e := range got {
			if e.ID != int64(i+1) {
				return fmt.Errorf("entry %d of %s has the id %d", i+1, name, e.ID)
			}
		}
	}
	tp, err := s.Tape(ctx, "main")
	if err == nil {
		_, err = tp.ClosedForks(ctx)
	}
	return err
}

// TestDiscardBesideHandoffs has somebody hand off on all that a fork is a fork of whenever
// its discard is about to take the lock on refs. Each is still told of the discard.
func TestDiscardBesideHandoffs(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	above := []*repo.Tape{storetest.Tape(t, s, "main")}
	above = append(above, storetest.Fork(t, above[0], "x", ""))
	y := storetest.Fork(t, above[1], "y", "")
	storetest.Append(t, y, repo.Message("user", "y1"))
	storetest.Checkpoint(t, y)
	// Only making the lock file asks for a fault: it is taken away whenever it was made.
	guard, handoffs := filepath.Join(s.Dir(), ".git", "tape", "refs.lock"), 0
	quicker := &disk.FS{Fault: func(_ disk.Op, path string) error {
		if path == guard {
			handoffs++
			for _, up := range above {
				storetest.Handoff(t, up, fmt.Sprintf("h%d", handoffs))
			}
		}
		if filepath.Dir(path) != filepath.Dir(guard) && path != filepath.Dir(guard) {
			_ = os.Remove(guard)
		}
		return nil
	}}
	racing, err := repo.Open(t.Context(), s.Dir(), &repo.Options{Fs: quicker})
	if err != nil {
		t.Fatal(err)
	}
	if err := storetest.Tape(t, racing, "main/x/y").Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if handoffs < 2 {
		t.Errorf("only %d handoffs came between", handoffs)
	}
	for _, up := range above {
		head := strings.TrimSpace(storetest.Git(t, s.Dir(), "rev-parse", up.Branch()))
		log := storetest.Git(t, s.Dir(), "reflog", "--format=%H %gs", up.Branch())
		if !strings.Contains(log, "tape: discard y (1 entry)") {
			t.Errorf("%s is not told:\n%s", up.Name(), log)
		}
		if !strings.HasPrefix(log, head) {
			t.Errorf("%s is at %s, and its reflog says otherwise:\n%s", up.Name(), head, log)
		}
	}
}

// TestForkClosedBeside has a fork discarded at each moment of what looks at all forks.
func TestForkClosedBeside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stride, last int
		run          func(ctx context.Context, s *repo.Store) error
	}{
		"verify": {5, 90, func(ctx context.Context, s *repo.Store) error {
			report, err := s.Verify(ctx)
			if err == nil && !report.OK {
				err = fmt.Errorf("problems: %v", report.Problems)
			}
			return err
		}},
		"push": {1, 8, func(ctx context.Context, s *repo.Store) error {
			_, err := s.Push(ctx, "origin", &repo.PushOptions{Forks: true})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.New(t, nil)
			m := storetest.Tape(t, s, "main")
			storetest.Git(t, s.Dir(), "init", "-q", "--bare", s.Dir()+".git")
			storetest.Must(t, s.AddRemote(t.Context(), "origin", s.Dir()+".git"))
			quick, err := repo.Open(t.Context(), s.Dir(), &repo.Options{LockWait: time.Millisecond})
			storetest.Must(t, err)
			for n := 1; n <= c.last; n += c.stride {
				fork := fmt.Sprintf("x%d", n)
				storetest.Append(t, storetest.Fork(t, m, fork, ""), repo.Message("user", "x"))
				storetest.Append(t, m, repo.Message("user", "not committed"))
				ctx := testkit.AtLook(t.Context(), n, func() {
					// Busy if the fork is just being looked at.
					if err := storetest.Tape(t, quick, "main/"+fork).Discard(t.Context()); !errors.Is(err, repo.ErrBusy) {
						storetest.Must(t, err)
					}
				})
				if err := c.run(ctx, s); err != nil {
					t.Errorf("discarded at look %d: %v", n, err)
				}
				if f, err := s.Tape(t.Context(), "main/"+fork); err == nil {
					storetest.Must(t, f.Discard(t.Context()))
				}
			}
		})
	}
}

// TestVerifyBesideResets has a tape start over while it is verified.
func TestVerifyBesideResets(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	stop := storetest.Background(func() error {
		_, err := m.Append(t.Context(), nil, repo.Message("user", "one"))
		if err == nil {
			_, err = m.Handoff(t.Context(), repo.Anchor{Name: "second"})
		}
		if err == nil {
			_, err = m.Reset(t.Context(), false)
		}
		time.Sleep(20 * time.Millisecond)
		return err
	})
	for range 30 {
		report, err := s.Verify(t.Context())
		storetest.Must(t, err)
		if !report.OK {
			t.Errorf("problems: %v", report.Problems)
		}
	}
	storetest.Must(t, stop())
}
