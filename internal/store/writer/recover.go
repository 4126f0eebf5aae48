package writer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"tape/internal/git/gitlock"
	"tape/internal/git/gitstore"
	"tape/internal/git/gitworktree"
	"tape/internal/store/aside"
	"tape/internal/store/commits"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// FinishCheckout completes an interrupted rewrite of the working tree after a move of the branch.
func (w *Writer) FinishCheckout(ctx context.Context) error {
	if !journal.CheckingOut(w.rec, w.Head) {
		return nil
	}
	return w.recover(ctx)
}

// WriteTree writes the files of a tape whose working tree git knows but has not filled.
func WriteTree(ctx context.Context, t *workspace.Tape) error {
	return LockedUnrepaired(ctx, t, func(w *Writer) error {
		w.rec = journal.Record{Branch: t.Ref(), Head: w.Head.String(), Undo: journal.CheckOut(w.Head, "")}
		return w.recover(ctx)
	})
}

// recover completes or undoes an interrupted change, and finds out where the tape ends by reading its open phase
// instead of relying on the last writer's record. Damage is an error.
func (w *Writer) recover(ctx context.Context) error {
	before := w.rec
	now, err := w.now()
	if err != nil {
		return err
	}
	if before.Head != w.Head.String() {
		w.rec.LastID, w.rec.Committed = 0, 0 // they are for another commit
	}
	w.rec.Head, w.rec.Owner = w.Head.String(), ""
	if now.GitFirst {
		if err := w.checkMerging(); err != nil {
			return err
		}
	}
	if err := w.settle(ctx, now); err != nil {
		return err
	}
	w.rec.Undo = nil
	committed, err := w.findEnd(ctx, before, now.EndKnown)
	if err != nil {
		return err
	}
	if now.Prune {
		if err := commits.PruneTags(ctx, w.T, committed.List); err != nil {
			return err
		}
	}
	repaired, err := commits.EnsureTags(ctx, w.T, w.Head, false)
	if err != nil {
		return err
	}
	if now.SyncRefs {
		if err := w.syncRefs(); err != nil {
			return err
		}
	}
	if now.Index || repaired {
		err = RebuildIndex(ctx, w.T.Store(), w.Wt)
		if err != nil && !errors.Is(err, gitlock.ErrBusy) {
			return err
		}
	}
	w.T.Store().Git().SweepTemp(w.T.Store().Now())
	w.updateRecord()
	if err != nil { // tapes do not need the index
		w.T.Store().Warn("git status is out of date: " + err.Error())
		w.rec.IndexTime = w.T.Store().Now().UnixNano() // so the next writer tries again
	}
	return w.save(now.Durably)
}

// now says what the tape is, and what is to be finished or undone.
func (w *Writer) now() (journal.Now, error) {
	f, err := snapshot.Find(w.T, w.rec, w.Head, w.Wt)
	if w.Wt.Dir != "" {
		f.OldIndex = w.indexIsOld(w.rec) || modTime(w.Wt.IndexPath()) == 0 // git clone --no-checkout makes none
	}
	return journal.Decide(f), err
}

// settle completes or undoes an interrupted change in the files, and makes a working tree if there is none.
func (w *Writer) settle(ctx context.Context, now journal.Now) error {
	switch now.Files {
	case journal.FromCommit:
		return w.checkout(ctx, w.rec.Undo)
	case journal.RollBack:
		if err := w.rollback(*w.rec.Undo, false); err != nil {
			return err
		}
		w.T.Store().Warn("undid an interrupted change, none of which was acknowledged")
	case journal.Keep:
	}
	return nil
}

// syncRefs syncs the folders that have the branch, the open phase's tag and the worktree's admin folder: the process
// that changed them was interrupted, and its record is about to be cleared. Or there is no record, as for a tape
// from an import that is written to for the first time.
func (w *Writer) syncRefs() error {
	git := w.T.Store().Git()
	for _, ref := range []string{w.T.Ref(), w.T.TagRef(w.rec.Folder)} {
		err := w.T.Store().FS().SyncDir(filepath.Dir(git.RefPath(ref)))
		if gitstore.IsAbsent(err) { // the ref is packed
			err = w.T.Store().FS().SyncDir(git.GitDir())
		}
		if err != nil {
			return err
		}
	}
	if w.Wt.Dir == "" {
		return nil
	}
	return w.T.Store().FS().SyncDir(filepath.Dir(w.Wt.GitDir)) // the folder of admin folders
}

// findEnd finds out where the tape ends, syncs the open phase, and returns the snapshot of the tape's commit.
// before is the last writer's record. If known is set, entries up to that record's end were acknowledged, so none of them
// may be missing.
func (w *Writer) findEnd(ctx context.Context, before journal.Record, known bool) (*snapshot.Snapshot, error) {
	var rec journal.Record
	if before.Undo == nil {
		rec = before
	}
	v, err := snapshot.ReadTree(w.T, w.Wt.Dir, w.Head, rec)
	if err != nil {
		return nil, err
	}
	if err := v.CheckPhases(); err != nil {
		return nil, err
	}
	committed, err := snapshot.AtCommit(w.T.Store(), w.Head)
	if err != nil {
		return nil, err
	}
	if err := w.compare(v, committed, before, known); err != nil {
		return nil, err
	}
	// Check the phase that was open at the last commit, and closed phases after it: somebody made them by
	// hand, or git left them.
	closed := &snapshot.Walk{V: v, Tape: w.T.Name(), First: max(0, len(committed.List)-1), Last: len(v.List) - 2}
	if err := closed.Read(ctx, func(layout.Entry) bool { return true }); err != nil {
		return nil, err
	}
	if err := w.scan(ctx, v); err != nil {
		return nil, err
	}
	if err := w.syncOpen(); err != nil {
		return nil, err
	}
	w.rec.Committed, err = committed.LastID()
	return committed, err
}

// checkMerging refuses a working tree in which git has an unfinished merge. If the branch already contains what is
// merged, the merge is over, and only its cleanup was interrupted.
func (w *Writer) checkMerging() error {
	if w.Wt.Dir == "" || !w.T.Merging(w.Wt) {
		return nil
	}
	heads, err := gitworktree.MergeHeads(w.Wt)
	over := err == nil
	for _, h := range heads {
		has, err := lineage.Contains(w.T.Store(), w.Head, h)
		over = over && err == nil && has
	}
	if over {
		return gitworktree.ClearMerge(w.T.Store().Git(), w.Wt)
	}
	return layout.Conflict("", "git is in the middle of a merge in %s", w.Wt.Dir).Try(layout.FinishMerge)
}

// scan reads the open phase into the record: the last id and where the files end. It sets torn lines aside.
func (w *Writer) scan(ctx context.Context, v *snapshot.Snapshot) error {
	p := v.List[len(v.List)-1]
	w.rec.Seq, w.rec.Folder = p.Seq, p.Folder
	w.rec.Tails = [layout.ClassCount]journal.Tail{}
	for c, files := range v.Last {
		if len(files) == 0 {
			continue
		}
		last := &v.Last[c][len(files)-1]
		if err := w.setAside(v, p, last); err != nil {
			return err
		}
		data, err := v.Content(p, *last)
		if err != nil {
			return err
		}
		w.rec.Tails[c] = journal.Tail{Seg: last.N, Size: last.Size, Sum: snapshot.Checksum(0, data)}
	}
	anchor, err := snapshot.ReadAnchor(v, p, w.T.Name())
	if err != nil {
		return err
	}
	before := int64(0)
	if p.Seq > 1 {
		if before, err = snapshot.LastID(v, v.List[p.Seq-2]); err != nil {
			return err
		}
	}
	if p.Seq == 1 && anchor.ID != 1 {
		return &layout.CorruptError{File: v.Where(p, layout.AnchorFile), Line: 1, Msg: fmt.Sprintf("the tape begins with id %d", anchor.ID)}
	}
	if anchor.ID != before+1 {
		return &layout.CorruptError{File: v.Where(p, layout.AnchorFile), Line: 1, Msg: fmt.Sprintf("its id is %d, but the phase before ends at %d", anchor.ID, before)}
	}
	w.rec.Anchor = anchor.Anchor
	// In a sparse working tree, check only what is not committed: git checks the rest by its hash on each
	// read, and the rest may be as long as the tape.
	read := &snapshot.Walk{V: v, Tape: w.T.Name(), First: p.Seq - 1, Last: p.Seq - 1}
	if v.Under != nil && p.Seq == len(v.Under.List) {
		end, err := v.Under.Mark()
		if err != nil {
			return err
		}
		read.From = end.Place()
	}
	if err := read.Read(ctx, func(layout.Entry) bool { return true }); err != nil {
		return err
	}
	w.rec.LastID = read.R.Last
	return nil
}

// syncOpen syncs what scan found: its writer may have been killed before its sync, and new entries follow it.
func (w *Writer) syncOpen() error {
	d := w.T.Store().FS()
	for c, tail := range w.rec.Tails {
		if tail.Seg == 0 {
			continue
		}
		f, err := d.OpenFile(w.phasePath(layout.SegmentName(layout.Class(c), tail.Seg)), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return errors.Join(d.SyncDir(w.phasePath()), d.SyncDir(w.AnchorsPath()))
}

// setAside moves a last line without newline out of a file: it was never acknowledged, and the next entry must not
// continue it.
func (w *Writer) setAside(v *snapshot.Snapshot, p layout.Phase, s *layout.Segment) error {
	data, err := v.Content(p, *s)
	if err != nil {
		return err
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	if end == len(data) {
		return nil
	}
	kept, err := aside.Of(w.T, w.Wt.Dir).Cut(v.Path(p, s.Name()), int64(end))
	if err != nil {
		return err
	}
	s.Size = int64(end)
	w.T.Store().Warn(fmt.Sprintf("%s ended in an unfinished line; its %d bytes are now in %s",
		v.Path(p, s.Name()), len(data)-end, kept))
	return nil
}

// compare checks that the working tree continues what is committed, and, with known, that no acknowledged entry is
// missing.
func (w *Writer) compare(v *snapshot.Snapshot, committed *snapshot.Snapshot, before journal.Record, known bool) error {
	_, err := v.Extends(committed, true)
	if err != nil || !known {
		return err
	}
	if before.Undo == nil && before.Folder == v.LastPhase().Folder {
		err = snapshot.CheckNotTruncated(v, before, w.Head)
	}
	return snapshot.WithStash(v, w.Head, cmp.Or(err, snapshot.CheckEnd(w.T, v, before)))
}

// Mend completes or undoes an interrupted change, then calls f to repair the files of a tape, and accepts their
// content as the tape. rec is the last writer's record, empty if it described an interrupted Tx.
func Mend(ctx context.Context, t *workspace.Tape, f func(w *Writer, rec journal.Record) error) error {
	return LockedUnrepaired(ctx, t, func(w *Writer) error {
		if err := w.checkMerging(); err != nil {
			return err
		}
		rec := w.rec
		now, err := w.now()
		if err != nil {
			return err
		}
		if err := w.settle(ctx, now); err != nil {
			return err
		}
		if rec.Undo.Change() == journal.Growth && now.Files != journal.FromCommit {
			rec = journal.Record{} // it described the interrupted change
		}
		rec.Undo = nil
		if err := f(w, rec); err != nil {
			return err
		}
		if w.Wt.Dir != "" { // what is staged there was damaged, too, such as by git rm
			if err := RebuildIndex(ctx, w.T.Store(), w.Wt); err != nil {
				w.T.Store().Warn("git status will be out of date until the next command: " + err.Error())
			}
		}
		w.rec = journal.Record{Gen: w.rec.Gen, UnsyncedClear: true}
		return w.recover(ctx)
	})
}

// Finish completes what a crash left unfinished: a move of the branch, a working tree that was being made, and tags.
// For all and made, see commits.EnsureTags.
func Finish(ctx context.Context, t *workspace.Tape, all bool) (made bool, err error) {
	if _, err := t.Head(); err != nil {
		return false, err // no lock file for a tape that does not exist
	}
	err = LockedUnrepaired(ctx, t, func(w *Writer) error {
		if w.Head.IsZero() {
			return nil // removed meanwhile
		}
		now, err := w.now()
		if err != nil {
			return err
		}
		if now.Bare {
			if err := w.syncRefs(); err != nil {
				return err
			}
			if err := w.finishBareMove(ctx); err != nil {
				return err
			}
		} else if err := w.FinishCheckout(ctx); err != nil {
			return err
		}
		made, err = commits.EnsureTags(ctx, t, w.Head, all)
		return err
	})
	return made, err
}
