package join_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/join"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// runForkHelper makes one change to a tape or fork, given as "fork-WHAT NAME\nARGUMENT". It prints a line
// when it begins. Appending continues until it is killed.
func runForkHelper(mode string) {
	what, arg, _ := strings.Cut(mode, "\n")
	what, name, _ := strings.Cut(what, " ")
	err := func() error {
		ctx := context.Background()
		s, err := repo.Open(ctx, os.Getenv(storetest.HelperDir), nil)
		if err != nil {
			return err
		}
		t, err := s.Tape(ctx, name)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "begin 0", what)
		return forkStep(ctx, t, what, arg)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "helper:", err)
		fmt.Fprintln(os.Stdout, "failed")
	}
}

func forkStep(ctx context.Context, t *repo.Tape, what, arg string) error {
	switch what {
	case "fork-append":
		for i := 0; ; i++ {
			text := fmt.Sprintf("%s #%d", arg, i)
			e, err := t.Append(ctx, nil, repo.Message("user", text))
			if err != nil {
				return err
			}
			fmt.Fprintln(os.Stdout, "entry", e[0].ID, text)
		}
	case "fork-make":
		name, at, _ := strings.Cut(arg, " ")
		_, err := t.ForkAt(ctx, name, at)
		return err
	case "fork-merge":
		_, err := join.Merge(ctx, storetest.InnerTape(t), join.Options{Summary: arg})
		return err
	case "fork-discard":
		return t.Discard(ctx)
	case "fork-continue":
		_, err := join.ContinueMerge(ctx, storetest.InnerTape(t))
		return err
	case "fork-read":
		_, err := storetest.Collect(ctx, t, repo.Query{})
		return err
	}
	return fmt.Errorf("no helper %q", what)
}

// killed starts a helper that makes a change, kills it after a random time, and returns what the helper had
// acknowledged.
func killed(t *testing.T, rng *rand.Rand, dir, mode string) map[int64]string {
	t.Helper()
	p := storetest.Start(t, dir, mode, 1)
	select {
	case <-p.First:
	case <-p.Done:
		t.Fatalf("the helper ended by itself: %s", p.Errs.String())
	}
	testkit.Pause(time.Duration(rng.ExpFloat64() * float64(6*time.Millisecond)))
	_ = p.Cmd.Process.Kill()
	<-p.Done
	_ = p.Cmd.Wait() // the error is that it was killed
	if p.Fault != "" {
		t.Fatal(p.Fault)
	}
	delete(p.Acked, 0) // says only that the helper began
	return p.Acked
}

// TestSoakForkKill kills processes that make, fill, merge and discard forks, or complete a merge by git, at
// random moments. The state is valid before anybody repairs anything, acknowledged entries are there, and the
// same change then works.
func TestSoakForkKill(t *testing.T) {
	rng := testkit.Random(t)
	for _, mode := range []string{"fork-make", "fork-append", "fork-merge", "fork-discard", "fork-read", "fork-continue"} {
		seed := rng.Uint64()
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 3))
			done := 0
			for range testkit.Size(2, 80) {
				if killOnce(t, rng, mode) {
					done++
				}
				if t.Failed() {
					return
				}
			}
			t.Logf("%d had made their change before they were killed", done)
		})
	}
}

// killOnce reports whether the change was made despite the kill.
func killOnce(t *testing.T, rng *rand.Rand, mode string) (done bool) {
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	target, arg := "main/x", ""
	switch mode {
	case "fork-continue":
		stoppedMerge(t, s)
		target = "main"
	case "fork-read":
		mergedByHost(t, s)
		target = "main"
	case "fork-make":
		storetest.TwoSides(t, s)
		target, arg = "main", "y "
	default:
		storetest.TwoSides(t, s)
	}
	m := storetest.Tape(t, s, "main")
	before := len(storetest.Entries(t, storetest.Tape(t, s, target), repo.Query{}))
	inMain := len(storetest.Entries(t, m, repo.Query{}))
	acked := killed(t, rng, s.Dir(), mode+" "+target+"\n"+arg)

	s = storetest.Reopen(t, s.Dir())
	x, xErr := s.Tape(t.Context(), "main/x")
	now := len(storetest.Entries(t, storetest.Tape(t, s, "main"), repo.Query{}))
	switch mode {
	case "fork-make":
		if now != inMain {
			t.Errorf("main has %d entries, had %d", now, inMain)
		}
		if y, err := s.Tape(t.Context(), "main/y"); err == nil {
			done = true
			if got := len(storetest.Entries(t, y, repo.Query{})); got != inMain {
				t.Errorf("the fork has %d entries, want %d", got, inMain)
			}
		} else if _, err := m.Fork(t.Context(), "y"); err != nil {
			t.Errorf("forking again: %v", err)
		}
	case "fork-append":
		got := storetest.Entries(t, x, repo.Query{})
		done = len(got) > before
		for id, text := range acked {
			if id > int64(len(got)) || storetest.TextOf(got[id-1]) != text {
				t.Errorf("entry %d, %q, is lost", id, text)
			}
		}
	case "fork-merge":
		done = now != inMain
		if now != inMain && now != inMain+4 || xErr != nil && !done {
			t.Errorf("main has %d entries, had %d; the fork: %v", now, inMain, xErr)
		}
		if xErr == nil {
			storetest.Merge(t, x, join.Options{})
		}
		now = len(storetest.Entries(t, m, repo.Query{}))
		if now != inMain+4 {
			t.Errorf("main has %d entries in the end, want %d", now, inMain+4)
		}
	case "fork-discard":
		if done = xErr != nil; !done {
			if got := len(storetest.Entries(t, x, repo.Query{})); got != before {
				t.Errorf("the fork was not discarded, and has %d of %d entries", got, before)
			}
			if err := x.Discard(t.Context()); err != nil {
				t.Errorf("discarding again: %v", err)
			}
		}
	case "fork-read":
		done = true
		if now != 10 || simulated(storetest.Entries(t, m, repo.Query{Tail: repo.N(1)})[0]).text != "not committed" {
			t.Errorf("main has %d entries, want 10, and the uncommitted one last", now)
		}
	case "fork-continue":
		done = !storetest.InnerTape(m).Merging(worktreeOf(t, m))
		if !done {
			if _, err := join.ContinueMerge(t.Context(), storetest.InnerTape(m)); err != nil {
				t.Errorf("continuing again: %v", err)
			}
		}
		storetest.WantTexts(t, m, "session/start one second two three not committed x1 x2 in the fork x3")
	}
	storetest.Healthy(t, s.Dir())
	return done
}

func worktreeOf(t *testing.T, tp *repo.Tape) gitstore.Worktree {
	t.Helper()
	wt, _, err := storetest.InnerTape(tp).Worktree()
	if err != nil {
		t.Fatal(err)
	}
	return wt
}

// stoppedMerge leaves a merge that git stopped at conflicts, beside uncommitted entries.
func stoppedMerge(t *testing.T, s *repo.Store) {
	storetest.TwoSides(t, s)
	storetest.Checkpoint(t, storetest.Tape(t, s, "main/x"))
	m := storetest.Tape(t, s, "main")
	storetest.Checkpoint(t, m)
	storetest.Append(t, m, repo.Draft{Kind: repo.KindToolCall, Payload: []byte(`{"calls":[],"name":"not committed"}`)})
	storetest.MergeWithGit(t, s.Dir(), "git merge")
	wantStopped(t, s.Dir())
}
