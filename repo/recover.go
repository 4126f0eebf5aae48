package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// recover finds out where the tape ends without the last writer's note: it completes
// or takes back what was interrupted, and reads the open phase from its beginning.
// It refuses to go on from damage.
func (w *writer) recover(ctx context.Context, known bool) error {
	before := w.st
	if !known {
		before = state{}
		w.st = state{}
	}
	w.st.Head = w.head.String()
	if !checkingOut(before, w.head) {
		if err := w.checkMerging(); err != nil {
			return err
		}
	}
	u := before.Undo
	recorded := u != nil // a record on disk that has to be cleared for good
	switch {
	case w.wt.Dir == "" || checkingOut(before, w.head):
		recorded = true
		if err := w.checkout(ctx, u); err != nil {
			return err
		}
	case u != nil && !u.Checkout:
		if err := w.takeBack(*u); err != nil {
			return err
		}
	}
	w.st.Undo = nil
	var note state
	if u == nil && known {
		note = before
	}
	v, err := w.t.look(w.wt.Dir, w.head, note)
	if err != nil {
		return err
	}
	if err := v.checkPhases(); err != nil {
		return err
	}
	committed, err := w.t.store.commitView(w.head)
	if err != nil {
		return err
	}
	if err := w.compare(v, committed, before); err != nil {
		return err
	}
	if err := w.scanClosed(ctx, v, len(committed.list)); err != nil {
		return err
	}
	if err := w.scan(ctx, v); err != nil {
		return err
	}
	if err := w.syncOpen(); err != nil {
		return err
	}
	if w.st.Committed, err = committed.lastID(); err != nil {
		return err
	}
	if u != nil && u.Checkout {
		if err := w.t.pruneTags(ctx, committed.list); err != nil {
			return err
		}
	}
	repaired, err := w.t.ensureTags(ctx, w.head, false)
	if err != nil {
		return err
	}
	if u != nil || repaired {
		if err := w.t.store.rebuildIndex(ctx, w.wt); err != nil {
			return err
		}
	}
	w.t.store.git.SweepTemp(w.t.store.now())
	w.note()
	return w.save(recorded)
}

// checkMerging refuses to look for damage in files that git is merging.
func (w *writer) checkMerging() error {
	if w.wt.Dir == "" || !w.t.merging(w.wt) {
		return nil
	}
	return conflict("tape merge --continue finishes it, tape merge --abort takes it back",
		"git is in the middle of a merge in %s", w.wt.Dir)
}

// takeBack undoes an interrupted change, unless the branch has it already: then the
// files are complete, and what comes behind the branch is made up for by recover.
func (w *writer) takeBack(u undo) error {
	back, err := w.t.without(u, w.head)
	if err != nil || !back {
		return err
	}
	if err := w.rollback(u); err != nil {
		return err
	}
	w.t.store.warn("took back a change that was interrupted: none of it was acknowledged")
	return nil
}

// scanClosed reads the phases before the open one that are not committed, and the one that
// was open when the last was: somebody made them by hand, or git left them.
func (w *writer) scanClosed(ctx context.Context, v *snapshot, committed int) error {
	read := &walk{v: v, tape: w.t.name, first: max(0, committed-1), last: len(v.list) - 2}
	return read.read(ctx, func(Entry) bool { return true })
}

// scan reads the open phase: the last id, where the files end, and what was torn.
func (w *writer) scan(ctx context.Context, v *snapshot) error {
	p := v.list[len(v.list)-1]
	w.st.Seq, w.st.Folder = p.seq, p.folder
	w.st.Tails = [classCount]tail{}
	for c, files := range v.last {
		if len(files) == 0 {
			continue
		}
		last := &v.last[c][len(files)-1]
		if err := w.setAside(v, p, last); err != nil {
			return err
		}
		data, err := v.content(p, *last)
		if err != nil {
			return err
		}
		w.st.Tails[c] = tail{Seg: last.n, Size: last.size, Sum: checksum(0, data)}
	}
	anchor, err := readAnchor(v, p, w.t.name)
	if err != nil {
		return err
	}
	before := int64(0)
	if p.seq > 1 {
		if before, err = lastID(v, v.list[p.seq-2]); err != nil {
			return err
		}
	}
	if p.seq == 1 && anchor.ID != 1 {
		return &CorruptError{File: v.where(p, anchorFile), Line: 1, Msg: fmt.Sprintf("the tape begins with id %d", anchor.ID), Fix: v.restoreHint(p)}
	}
	if anchor.ID != before+1 {
		return &CorruptError{File: v.where(p, anchorFile), Line: 1, Msg: fmt.Sprintf("its id is %d, but the phase before ends at %d", anchor.ID, before), Fix: v.restoreHint(p)}
	}
	w.st.Anchor = anchor.Anchor
	// Of a sparse working tree, what git has is read by its hash whenever it is read, and may
	// be as long as the tape.
	read := &walk{v: v, tape: w.t.name, first: p.seq - 1, last: p.seq - 1}
	if v.under != nil && p.seq == len(v.under.list) {
		end, err := v.under.mark()
		if err != nil {
			return err
		}
		read.from = end.place()
	}
	if err := read.read(ctx, func(Entry) bool { return true }); err != nil {
		return err
	}
	w.st.LastID = read.r.last
	return nil
}

// syncOpen makes what scan found durable: whoever wrote it may have been killed before
// it was synced, and what is appended now builds on it.
func (w *writer) syncOpen() error {
	d := w.t.store.fs
	for c, tail := range w.st.Tails {
		if tail.Seg == 0 {
			continue
		}
		f, err := d.OpenFile(w.phasePath(segmentName(class(c), tail.Seg)), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return errors.Join(d.SyncDir(w.phasePath()), d.SyncDir(w.anchorsPath()))
}

// setAside moves a last line without its newline out of a file: it was never
// acknowledged, and the next entry must not be glued to it.
func (w *writer) setAside(v *snapshot, p phase, s *segment) error {
	data, err := v.content(p, *s)
	if err != nil {
		return err
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	if end == len(data) {
		return nil
	}
	d := w.t.store.fs
	dir := w.t.store.privatePath(tornDirName)
	if err := d.MkdirAll(dir); err != nil {
		return err
	}
	stamp := w.t.store.now().UTC().Format("20060102T150405.000000000Z")
	kept := filepath.Join(dir, strings.Join([]string{w.t.slug, p.folder, s.name(), stamp}, "~"))
	if err := d.WriteFile(kept, data[end:]); err != nil {
		return err
	}
	if err := truncate(d, v.path(p, s.name()), int64(end)); err != nil {
		return err
	}
	s.size = int64(end)
	w.t.store.warn(fmt.Sprintf("%s ended in an unfinished line that was never acknowledged; its %d bytes are now in %s",
		v.path(p, s.name()), len(data)-end, kept))
	return nil
}

// compare checks that the working tree continues what is committed, and that nothing
// that the last writer acknowledged is gone.
func (w *writer) compare(v *snapshot, committed *snapshot, before state) error {
	exact, err := v.extends(committed, true)
	if err != nil {
		return err
	}
	if before.Undo != nil || before.Folder != v.list[len(v.list)-1].folder {
		return nil
	}
	err = checkNotCut(v, before, w.head)
	if err != nil && exact && len(v.list) == len(committed.list) {
		w.t.store.warn("entries after the last commit are gone: the files are as committed, so that is taken as meant")
		return nil
	}
	return err
}
