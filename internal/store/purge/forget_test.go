package purge_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"tape/internal/git/disk"
	"tape/internal/store/join"
	"tape/internal/store/purge"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// aTapeToForget returns a workspace with a tape, Gone, that has theWord in everything that a tape can have.
func aTapeToForget(t *testing.T) (s *repo.Store, remote string) {
	t.Helper()
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), &repo.InitOptions{Options: repo.Options{Now: testkit.Clock}})
	storetest.Must(t, err)
	storetest.Append(t, storetest.Tape(t, s, "main"), repo.Message("user", "stays"))
	m, err := s.CreateTape(t.Context(), "Gone")
	storetest.Must(t, err)
	storetest.Append(t, m, repo.Message("user", theWord))
	storetest.Handoff(t, m, "second "+theWord)
	storetest.AppendArtifact(t, m, theWord)
	_, err = m.Reset(t.Context(), true)
	storetest.Must(t, err)
	storetest.Append(t, m, repo.Message("user", "again "+theWord))
	x := storetest.Fork(t, m, "x", "")
	storetest.Append(t, x, repo.Message("user", "x "+theWord))
	storetest.Handoff(t, x, "in the fork "+theWord)
	storetest.Append(t, storetest.Fork(t, x, "y", ""), repo.Message("user", "y "+theWord))
	storetest.Merge(t, x, join.Options{Keep: true})
	remote = storetest.Remote(t, s)
	storetest.Push(t, s, &repo.PushOptions{All: true})
	storetest.Append(t, m, repo.Message("user", "not committed "+theWord))
	return s, remote
}

const theWord = "xylophone-7391"

// Nothing is left of a forgotten tape in files, names, messages and git's objects. The other tapes stay.
func TestForget(t *testing.T) {
	s, remote := aTapeToForget(t)
	got, err := purge.Forget(t.Context(), storetest.Inner(s), "Gone", purge.ForgetOptions{})
	storetest.Must(t, err)
	storetest.WantNowhere(t, s.Dir(), theWord)
	storetest.WantNowhere(t, s.Dir(), "Gone")
	storetest.WantNowhere(t, s.Dir(), "gone-")
	storetest.WantTexts(t, storetest.Tape(t, s, "main"), "session/start stays")
	if len(got.Remotes) != 1 || got.Remotes[0] != "origin" {
		t.Errorf("the remotes that had the tape are %v, want origin", got.Remotes)
	}
	if out, _ := storetest.PlainGit(t, remote, "for-each-ref", "refs/heads/tape"); out == "" {
		t.Error("the remote has lost the tape, and should have kept it")
	}
	storetest.Healthy(t, s.Dir())
}

// A merge of other tapes that git has stopped keeps its message. Drafts that may be about the tape go.
func TestForgetDuringAnotherMerge(t *testing.T) {
	s, _ := aTapeToForget(t)
	f := storetest.Fork(t, storetest.Tape(t, s, "main"), "z", "")
	storetest.Append(t, f, repo.Message("user", "in z"))
	storetest.Checkpoint(t, f)
	storetest.Git(t, s.Dir(), "-c", "user.name=x", "-c", "user.email=x", "merge", "--no-commit", "--no-ff", f.Branch())
	dir := filepath.Join(s.Dir(), ".git")
	was := string(storetest.ReadFile(t, filepath.Join(dir, "MERGE_MSG")))
	storetest.WriteFile(t, filepath.Join(dir, "COMMIT_EDITMSG"), []byte(theWord))
	ofFork := strings.TrimSpace(storetest.Git(t, f.WorkTree(), "rev-parse", "--absolute-git-dir"))
	storetest.WriteFile(t, filepath.Join(ofFork, "MERGE_MSG"), []byte(theWord))
	_, err := purge.Forget(t.Context(), storetest.Inner(s), "Gone", purge.ForgetOptions{})
	storetest.Must(t, err)
	storetest.WantNowhere(t, s.Dir(), theWord)
	if now := string(storetest.ReadFile(t, filepath.Join(dir, "MERGE_MSG"))); now != was {
		t.Errorf("the message of the merge is %q, want %q", now, was)
	}
}

// Forgetting that was interrupted before it cleared the reflogs of others clears them when it is called again.
func TestForgetClearsReflogsLater(t *testing.T) {
	s, _ := aTapeToForget(t)
	storetest.Git(t, s.Dir(), "checkout", "-q", "--detach", "tape/main")
	storetest.Git(t, s.Dir(), "reset", "-q", "--soft", storetest.Tape(t, s, "Gone").Branch())
	storetest.Git(t, s.Dir(), "reset", "-q", "--soft", "tape/main")
	storetest.Git(t, s.Dir(), "checkout", "-q", "tape/main")
	log := filepath.Join(s.Dir(), ".git", "logs", "HEAD")
	failed := errors.New("failed")
	faulty, err := repo.Open(t.Context(), s.Dir(), &repo.Options{Fs: &disk.FS{Fault: func(_ disk.Op, path string) error {
		if strings.HasPrefix(path, log) {
			return failed
		}
		return nil
	}}})
	storetest.Must(t, err)
	_, err = purge.Forget(t.Context(), storetest.Inner(faulty), "Gone", purge.ForgetOptions{})
	storetest.WantIs(t, err, failed)
	was := strings.ToLower(string(storetest.ReadFile(t, log)))
	if !strings.Contains(was, "moving to tape/gone") {
		t.Fatalf("nothing to test: %s", was)
	}
	_, err = purge.Forget(t.Context(), storetest.Inner(s), "Gone", purge.ForgetOptions{})
	storetest.Must(t, err)
	if now := strings.ToLower(string(storetest.ReadFile(t, log))); strings.Contains(now, "tape/gone") {
		t.Errorf("the reflog still tells of the tape:\n%s", now)
	}
}

// What keeps something of the tape is an error that names it: a branch of the user, or a pack that git must keep. Once
// it is gone, the next call removes the rest.
func TestForgetIsKeptFromFinishing(t *testing.T) {
	s, _ := aTapeToForget(t)
	forget := func() error {
		_, err := purge.Forget(t.Context(), storetest.Inner(s), "Gone", purge.ForgetOptions{})
		return err
	}
	wantKept := func(by string) {
		t.Helper()
		err := forget()
		storetest.WantIs(t, err, repo.ErrConflict)
		if text := fmt.Sprint(err, repo.Hints(err)); !strings.Contains(text, by) || strings.Contains(text, "purge") || !strings.Contains(text, "then forget the tape again") {
			t.Errorf("the error is %s; want what keeps the tape, %s, and the way out", text, by)
		}
	}
	storetest.Git(t, s.Dir(), "branch", "mine", storetest.Tape(t, s, "Gone").Branch())
	storetest.Git(t, s.Dir(), "repack", "-adq")
	packs, err := filepath.Glob(filepath.Join(s.Dir(), ".git", "objects", "pack", "*.pack"))
	storetest.Must(t, err)
	keep := strings.TrimSuffix(packs[0], "pack") + "keep"
	storetest.WriteFile(t, keep, nil)
	wantKept("refs/heads/mine")
	storetest.Git(t, s.Dir(), "branch", "-D", "mine")
	wantKept(filepath.Base(keep))
	storetest.Must(t, os.Remove(keep))
	storetest.Must(t, forget())
	storetest.WantNowhere(t, s.Dir(), theWord)
	storetest.Healthy(t, s.Dir())
}

// Forget refuses the current tape, a tape with the user's files beside it, and one that does not exist, before
// anything is changed.
func TestForgetRefuses(t *testing.T) {
	s, _ := aTapeToForget(t)
	m := storetest.Tape(t, s, "Gone")
	forget := func() error {
		_, err := purge.Forget(t.Context(), storetest.Inner(s), "Gone", purge.ForgetOptions{})
		return err
	}
	before := storetest.Picture(t, s)
	note := filepath.Join(m.WorkTree(), "notes.txt")
	storetest.WriteFile(t, note, []byte("mine"))
	storetest.WantIs(t, forget(), repo.ErrConflict)
	storetest.Must(t, os.Remove(note))
	_, err := s.Switch(t.Context(), "Gone")
	storetest.Must(t, err)
	storetest.WantIs(t, forget(), repo.ErrConflict)
	if storetest.Picture(t, s) != before {
		t.Error("a refused call changed the workspace")
	}
	_, err = purge.Forget(t.Context(), storetest.Inner(s), "never", purge.ForgetOptions{})
	storetest.WantIs(t, err, repo.ErrNotFound)
}

// The tape that is checked out in the workspace's folder can be forgotten like any other.
func TestForgetInTheMainTree(t *testing.T) {
	s, _ := aTapeToForget(t)
	storetest.Append(t, storetest.Tape(t, s, "main"), repo.Message("user", "late xenon-1"))
	_, err := s.CreateTape(t.Context(), "other")
	storetest.Must(t, err)
	_, err = s.Switch(t.Context(), "other")
	storetest.Must(t, err)
	_, err = purge.Forget(t.Context(), storetest.Inner(s), "main", purge.ForgetOptions{})
	storetest.Must(t, err)
	storetest.WantNowhere(t, s.Dir(), "xenon-1")
	storetest.WantNowhere(t, s.Dir(), "stays")
	storetest.Healthy(t, s.Dir())
}
