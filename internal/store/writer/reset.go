package writer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Reset gives a tape a new history with only a first anchor, or empties a fork down to its base. If archive is
// set, it keeps the old history as an archive, and returns the archive's ref; otherwise only git's reflog keeps it.
func Reset(ctx context.Context, t *workspace.Tape, archive bool) (ref string, err error) {
	err = Write(ctx, t, func(w *Writer) error {
		if archive {
			if ref, err = w.Archive(ctx); err != nil {
				return err
			}
		} else if err := w.Checkpoint(ctx); err != nil {
			return err
		}
		next, err := w.beginning(ctx)
		if err != nil {
			return err
		}
		next.Subject = "reset: " + layout.OneLine(t.Name())
		return w.MoveTo(ctx, next, w.Head)
	})
	return ref, err
}

// beginning returns the commit that a reset goes back to.
func (w *Writer) beginning(ctx context.Context) (commits.Plan, error) {
	if !w.T.IsFork() {
		return w.putRoot(ctx, TapeStart{First: layout.Anchor{Name: layout.FirstAnchor, State: []byte(HumanState)}})
	}
	b, err := snapshot.BaseOf(w.T, w.Head)
	return commits.Plan{Hash: b.Start}, err
}

// Archive commits everything, keeps the history as an archive, and returns the archive's ref.
func (w *Writer) Archive(ctx context.Context) (string, error) {
	if err := w.Checkpoint(ctx); err != nil {
		return "", err
	}
	git, now := w.T.Store().Git(), w.T.Store().Now().UTC()
	prefix := layout.ArchivePrefix + w.T.Slug() + "/"
	kept, err := git.Refs(prefix)
	if err != nil {
		return "", layout.Classify(err)
	}
	for _, r := range kept {
		if r.Hash == w.Head {
			return r.Name, nil // created by a call that was interrupted later
		}
	}
	ref := prefix + now.Format("20060102T150405Z")
	if _, err := git.Ref(ref); err == nil {
		ref = prefix + now.Format("20060102T150405.000000Z")
	}
	who := git.Committer(now)
	return ref, git.UpdateRef(ctx, gitstore.RefUpdate{Name: ref, New: w.Head, Message: "tape: archive", Who: who})
}

// Restore makes an archive the tape's history again, also that of a removed tape, and removes the archive's ref. It
// archives the present history and returns the new archive's ref, unless there is nothing but the first anchor.
// For stamp see snapshot.FindArchive.
func Restore(ctx context.Context, t *workspace.Tape, stamp string) (restored snapshot.Archive, archived string, err error) {
	write := Write
	if _, err := t.Head(); errors.Is(err, layout.ErrNotFound) {
		write = writeRemoved
	}
	err = write(ctx, t, func(w *Writer) error {
		if restored, err = snapshot.FindArchive(ctx, t, stamp); err != nil {
			return err
		}
		if w.rec.LastID > 1 {
			if archived, err = w.Archive(ctx); err != nil {
				return err
			}
			if archived == restored.Ref { // kept by a reset that was interrupted, and removed below
				archived = ""
			}
		}
		h, err := gitstore.ParseHash(restored.Commit)
		if err != nil {
			return err
		}
		next := commits.Plan{Hash: h, Subject: "restore: " + restored.Stamp}
		if err := w.MoveTo(ctx, next, w.Head); err != nil {
			return err
		}
		err = t.Store().Git().UpdateRef(ctx, gitstore.RefUpdate{Name: restored.Ref, Old: h, Message: "tape: restored"})
		if err != nil && !errors.Is(err, gitstore.ErrConflict) {
			t.Store().Warn("the archive is restored, but its ref could not be removed: " + err.Error())
		}
		return nil
	})
	return restored, archived, err
}

// writeRemoved is Write for a tape that was removed.
func writeRemoved(ctx context.Context, t *workspace.Tape, f func(w *Writer) error) error {
	err := LockedUnrepaired(ctx, t, func(w *Writer) error {
		return WithNewLock(ctx, t.Store(), func() error {
			if err := w.checkNew(ctx); err != nil {
				return err
			}
			// If git has deleted the branch, the record is still that of its history.
			dir := w.Wt.Dir
			if dir == "" && w.rec.Home != "" && w.rec.LastID > w.rec.Committed { // git has something else checked out there
				dir = t.Store().AbsDir(w.rec.Home)
			}
			if _, err := os.Stat(filepath.Join(dir, layout.AnchorsDir)); dir != "" && err == nil && w.rec.LastID > 1 {
				return layout.Conflict("git -C "+layout.ShellWord(dir)+" update-ref "+layout.ShellWord(w.T.Ref())+" "+layout.ShellWord(w.rec.Head)+" brings the branch back",
					"the branch %s was deleted, but its entries are still in %s", w.T.Branch(), dir)
			}
			w.rec = journal.Record{Gen: w.rec.Gen}
			return f(w)
		})
	})
	return layout.Wrap(err, "restore tape %q", t.Name())
}
