package forks_test

//tape:race: forks are closed while others look at them

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"tape/internal/git/disk"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// TestDiscardBesideHandoffs makes handoffs on all ancestors of a fork while its discard is about to lock
// the refs. The reflog of each ancestor still notes the discard.
func TestDiscardBesideHandoffs(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	above := []*repo.Tape{storetest.Tape(t, s, "main")}
	above = append(above, storetest.Fork(t, above[0], "x", ""))
	y := storetest.Fork(t, above[1], "y", "")
	storetest.Append(t, y, repo.Message("user", "y1"))
	storetest.Checkpoint(t, y)
	// Fault sees the lock file only when it is created, so the file is removed each time.
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
		t.Errorf("%d handoffs came between, want at least 2", handoffs)
	}
	for _, up := range above {
		head := strings.TrimSpace(storetest.Git(t, s.Dir(), "rev-parse", up.Branch()))
		log := storetest.Git(t, s.Dir(), "reflog", "--format=%H %gs", up.Branch())
		if !strings.Contains(log, "tape: discard y (1 entry)") {
			t.Errorf("the reflog of %s does not note the discard:\n%s", up.Name(), log)
		}
		if !strings.HasPrefix(log, head) {
			t.Errorf("%s is at %s, but its reflog does not end there:\n%s", up.Name(), head, log)
		}
	}
}

// TestForkClosedBeside discards a fork at each moment while others read all forks.
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
