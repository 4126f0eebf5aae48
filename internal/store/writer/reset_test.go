package writer_test

import (
	"os"
	"path/filepath"
	"strings"
	"tape/internal/git/disk"
	"tape/internal/store/journal"
	"tape/internal/store/writer"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// An archive also brings back a tape whose branch somebody deleted, unless its files are still there.
func TestRestoreWithoutBranch(t *testing.T) {
	s := storetest.New(t, nil)
	tp, err := s.CreateTape(t.Context(), "x")
	storetest.Must(t, err)
	storetest.Append(t, tp, repo.Message("user", "one"))
	_, err = tp.Reset(t.Context(), true)
	storetest.Must(t, err)
	storetest.Append(t, tp, repo.Message("user", "two"), repo.Message("user", "three"))
	head := strings.TrimSpace(storetest.Git(t, s.Dir(), "rev-parse", "tape/x"))
	storetest.Git(t, s.Dir(), "update-ref", "-d", "refs/heads/tape/x")
	_, _, err = tp.Restore(t.Context(), repo.Latest)
	storetest.WantIs(t, err, repo.ErrConflict) // the uncommitted entries would be lost
	storetest.Git(t, s.Dir(), "-C", filepath.Join("tapes", "x"), "update-ref", "--no-deref", "HEAD", head)
	_, _, err = tp.Restore(t.Context(), repo.Latest)
	storetest.WantIs(t, err, repo.ErrConflict) // they are there still if the folder has something else checked out
	storetest.Git(t, s.Dir(), "update-ref", "refs/heads/tape/x", head)
	storetest.Git(t, s.Dir(), "-C", filepath.Join("tapes", "x"), "symbolic-ref", "HEAD", "refs/heads/tape/x")
	storetest.WantTexts(t, tp, "session/start two three")

	storetest.Git(t, s.Dir(), "worktree", "remove", "--force", filepath.Join("tapes", "x"))
	storetest.Git(t, s.Dir(), "branch", "-D", "tape/x")
	_, archived, err := tp.Restore(t.Context(), repo.Latest)
	if err != nil || archived != "" {
		t.Fatalf("restoring the tape kept %q and returned %v, want neither", archived, err)
	}
	storetest.WantTexts(t, tp, "session/start one")
	storetest.Append(t, tp, repo.Message("user", "two"))
	storetest.WantTexts(t, tp, "session/start one two")
}

// A reset that was killed leaves an archive of what the tape has still. Restoring that uses it up.
func TestRestoreOfPresentHistory(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	storetest.Append(t, tp, repo.Message("user", "one"))
	storetest.Must(t, writer.Write(t.Context(), storetest.InnerTape(tp), func(w *writer.Writer) error {
		_, err := w.Archive(t.Context())
		return err
	}))
	restored, archived, err := tp.Restore(t.Context(), repo.Latest)
	storetest.Must(t, err)
	if kept, err := tp.Archives(t.Context()); err != nil || len(kept) != 0 || archived != "" {
		t.Errorf("restoring %s left the archives %v (error %v) and said that %q is one", restored.Ref, kept, err, archived)
	}
	storetest.WantTexts(t, tp, "session/start one")
}

// A tape whose creation was interrupted when it had its branch gets its tag, and no working tree.
func TestFinishWithoutWorkingTree(t *testing.T) {
	dir := storetest.New(t, nil).Dir()
	noTags := func(_ disk.Op, path string) error {
		if strings.Contains(filepath.ToSlash(path), "/refs/tags/") {
			return storetest.ErrFault
		}
		return nil
	}
	s, err := repo.Open(t.Context(), dir, &repo.Options{Fs: &disk.FS{Fault: noTags}})
	storetest.Must(t, err)
	_, err = s.CreateTape(t.Context(), "x")
	storetest.Must(t, err)
	tp := storetest.Tape(t, storetest.Reopen(t, dir), "x")
	inner := storetest.InnerTape(tp)
	if rec, err := journal.PeekOf(inner); err != nil || rec.Undo == nil {
		t.Fatalf("the creation was not interrupted: %+v, %v", rec, err)
	}
	_, err = writer.Finish(t.Context(), inner, false)
	storetest.Must(t, err)
	storetest.WantTags(t, tp)
	if rec, err := journal.PeekOf(inner); err != nil || rec.Undo != nil {
		t.Errorf("the creation is unfinished: %+v, %v", rec.Undo, err)
	}
	if _, err := os.Lstat(inner.TreeDir()); err == nil {
		t.Errorf("the tape has a working tree")
	}
}
