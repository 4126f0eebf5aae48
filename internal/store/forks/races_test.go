package forks_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"tape/internal/store/join"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// runRacer is a process of TestSoakForkRaces; its mode is how many steps it does.
func runRacer(mode string) {
	err := func() error {
		steps, err := strconv.Atoi(mode)
		if err != nil {
			return err
		}
		s, err := repo.Open(context.Background(), os.Getenv(storetest.HelperDir), nil)
		if err != nil {
			return err
		}
		m, err := s.Tape(context.Background(), "main")
		if err != nil {
			return err
		}
		return raceSteps(context.Background(), m, steps)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "helper:", err)
		fmt.Fprintln(os.Stdout, "failed")
	}
}

// raceSteps works on the tape and on its forks, together with other processes. It merges forks called k…
// and discards those called d…. Each line that it prints names a tape or fork and an entry in it.
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

// TestSoakForkRaces lets several processes make, fill, merge and discard forks of the same names while the
// tape grows, git packs and others read. No entry is lost or comes twice, and ids have no gaps.
func TestSoakForkRaces(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	git := func(args ...string) func() error {
		return func() error {
			out, err := exec.Command("git", append([]string{"-C", s.Dir()}, args...)...).CombinedOutput()
			if err != nil {
				return fmt.Errorf("git %v: %w\n%s", args, err, out)
			}
			testkit.Pause(20 * time.Millisecond)
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
		all = append(all, storetest.Start(t, s.Dir(), fmt.Sprint(testkit.Size(15, 400)), 1))
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
			t.Errorf("%s was recorded in %s, and is %d times in the tape, want %d", text, name, seen[text], want)
		}
		delete(seen, text)
	}
	delete(seen, repo.FirstAnchor)
	for text := range seen {
		t.Errorf("nobody recorded %s", text)
	}
	t.Logf("%d entries, %d reads, %d forks at the end", len(where), reads.Load(), len(forks))
	if len(where) < 30 || reads.Load() < 2 {
		t.Error("too little happened at the same time: want at least 30 entries and 2 reads")
	}
	storetest.WantTags(t, m)
	_, _, err = m.Checkpoint(t.Context()) // of what came after the last merge
	storetest.Must(t, err)
	storetest.WantClean(t, s.Dir())
}

// readOne reads all entries and the facts of a tape or fork.
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

// readForks reads main and all forks, which others may be closing.
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
