package writer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"tape/internal/git/disk"
	"tape/internal/store/writer"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// A writer that does not get the lock in time returns ErrBusy.
func TestBusy(t *testing.T) {
	s := storetest.New(t, nil)
	tx, err := writer.Begin(t.Context(), storetest.InnerTape(storetest.Tape(t, s, "")))
	storetest.Must(t, err)
	impatient, err := repo.Open(t.Context(), s.Dir(), &repo.Options{LockWait: 50 * time.Millisecond})
	storetest.Must(t, err)
	_, err = storetest.Tape(t, impatient, "").Append(t.Context(), nil, repo.Message("user", "x"))
	storetest.WantIs(t, err, repo.ErrBusy)
	if len(repo.Hints(err)) == 0 {
		t.Errorf("the error has no hint: %v", err)
	}
	storetest.Must(t, tx.Rollback())
	storetest.Append(t, storetest.Tape(t, impatient, ""), repo.Message("user", "x"))
}

// An append that gives up while git works leaves the file alone that git has put in the place of its own.
func TestGivesUpBesideGit(t *testing.T) {
	dir := storetest.New(t, nil).Dir()
	ctx, cancel := context.WithCancel(t.Context())
	lock, file := filepath.Join(dir, ".git", "index.lock"), ""
	s, err := repo.Open(t.Context(), dir, &repo.Options{Fs: &disk.FS{Fault: func(op disk.Op, path string) error {
		if op == disk.OpOpen && strings.HasSuffix(path, "messages.jsonl") {
			file = path
		}
		if op == disk.OpSyncDir && path == filepath.Dir(file) {
			storetest.WriteFile(t, lock, nil)
			storetest.WriteFile(t, file+".new", []byte("of git"))
			storetest.Must(t, os.Rename(file+".new", file))
			cancel()
		}
		return nil
	}}})
	storetest.Must(t, err)
	_, err = storetest.Tape(t, s, "").Append(ctx, nil, repo.Message("user", "x"))
	storetest.WantIs(t, err, context.Canceled)
	if got := string(storetest.ReadFile(t, file)); got != "of git" {
		t.Errorf("the file has %q, want what git wrote", got)
	}
	storetest.Must(t, errors.Join(os.Remove(lock), os.Remove(file)))
}

// The setting commit decides when entries are committed.
func TestCommitPolicy(t *testing.T) {
	for policy, want := range map[string]string{
		"handoff": "start: main",
		"turn":    "start: main|checkpoint: 2 entries|checkpoint: 2 entries",
		"3":       "start: main|checkpoint: 3 entries",
		"1":       "start: main" + strings.Repeat("|checkpoint: 1 entry", 5),
	} {
		t.Run(policy, func(t *testing.T) {
			s := storetest.New(t, nil)
			storetest.Must(t, s.SetSetting("commit", policy))
			tp := storetest.Tape(t, storetest.Reopen(t, s.Dir()), "")
			for i, role := range []string{"user", "assistant", "user", "assistant", "user"} {
				storetest.Append(t, tp, repo.Message(role, fmt.Sprint(i)))
			}
			got := strings.ReplaceAll(storetest.Git(t, s.Dir(), "log", "--reverse", "--format=%s", "tape/main"), "\n", "|")
			if got != want {
				t.Errorf("the commits are %s, want %s", got, want)
			}
		})
	}
}

// An anchor's name may be too long for the writer's record; the tape works as usual.
func TestLongAnchorNames(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	name := strings.Repeat("長い\n", 8000)
	storetest.Handoff(t, tp, name)
	for i := range 3 {
		if e := storetest.Append(t, tp, repo.Message("user", fmt.Sprint(i)))[0]; e.Anchor != name {
			t.Errorf("the entry says that it belongs to %.20q", e.Anchor)
		}
	}
	errStop := errors.New("stop")
	_, err := tp.Update(t.Context(), func(tx *repo.Tx) error {
		if _, err := tx.Handoff(t.Context(), repo.Anchor{Name: name}); err != nil {
			return err
		}
		// Readers do not see what a crash would leave.
		if got := len(storetest.Entries(t, storetest.Tape(t, storetest.Reopen(t, s.Dir()), ""), repo.Query{})); got != 5 {
			t.Errorf("a reader sees %d entries during a change, want the 5 from before it", got)
		}
		return errStop
	})
	storetest.WantIs(t, err, errStop)
	if got := len(storetest.Entries(t, tp, repo.Query{})); got != 5 {
		t.Errorf("%d entries after a change was given up, want 5", got)
	}
}

// A tape cannot have the name of an open fork.
func TestNoTapeNamedAsFork(t *testing.T) {
	s := storetest.New(t, nil)
	fork, err := storetest.Tape(t, s, "main").Fork(t.Context(), "x")
	storetest.Must(t, err)
	_, err = s.CreateTape(t.Context(), "main/x")
	storetest.WantIs(t, err, repo.ErrConflict)
	storetest.Must(t, fork.Discard(t.Context()))
	if _, err := s.CreateTape(t.Context(), "main/x"); err != nil {
		t.Error(err)
	}
}

// Somebody undoes a handoff's commit but leaves its folder. The next commit has the closed phase's entries, and the
// tag moves there.
func TestSoftReset(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	storetest.Append(t, tp, repo.Message("user", "one"))
	storetest.Handoff(t, tp, "two")
	storetest.Git(t, s.Dir(), "reset", "--quiet", "--soft", "HEAD~1")
	storetest.Append(t, tp, repo.Message("user", "two"))
	storetest.Checkpoint(t, tp)
	if got := storetest.Git(t, s.Dir(), "ls-tree", "-r", "--name-only", "HEAD", "anchors/001_session-start"); got == "" ||
		storetest.Git(t, s.Dir(), "show", "HEAD:anchors/001_session-start/messages.jsonl") == "" {
		t.Errorf("the commit has %q of the first phase, want its messages.jsonl with content", got)
	}
	if report, err := s.Verify(t.Context()); err != nil || !report.OK {
		t.Errorf("verify: %+v, %v", report, err)
	}
}
