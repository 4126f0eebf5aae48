package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/gitstore"
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
	v, err := w.t.look(w.wt.Dir, w.head)
	if err != nil {
		return err
	}
	if u == nil && known {
		w.t.witness(v, before, w.head)
	} else {
		w.t.witness(v, state{}, w.head)
	}
	if err := checkPhases(v, v.list); err != nil {
		return err
	}
	committed, err := w.t.store.commitView(w.head)
	if err != nil {
		return err
	}
	if err := w.compare(v, committed, before); err != nil {
		return err
	}
	if err := w.scanClosed(v, len(committed.list)); err != nil {
		return err
	}
	if err := w.scan(v); err != nil {
		return err
	}
	if err := w.syncOpen(); err != nil {
		return err
	}
	if w.st.Committed, err = lastID(committed, committed.list[len(committed.list)-1]); err != nil {
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
func (w *writer) scanClosed(v *diskView, committed int) error {
	walk := &walk{ctx: context.Background(), v: v, tape: w.t.name}
	for i := committed - 1; i < len(v.list)-1; i++ {
		if i < 0 {
			continue
		}
		r, err := readPhase(v, v.list[i], w.t.name)
		if err != nil {
			return err
		}
		if _, err := walk.rest(i, r, func(Entry) bool { return true }); err != nil {
			return err
		}
	}
	return nil
}

// scan reads the open phase: the last id, where the files end, and what was torn.
func (w *writer) scan(v *diskView) error {
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
	r, err := w.readOpen(v, p)
	if err != nil {
		return err
	}
	if p.seq > 1 {
		before, err := lastID(v, v.list[p.seq-2])
		if err != nil {
			return err
		}
		if before+1 != r.anchor.ID {
			return &CorruptError{File: v.where(p, anchorFile), Line: 1, Msg: fmt.Sprintf("its id is %d, but the phase before ends at %d", r.anchor.ID, before), Fix: v.restoreHint(p)}
		}
	} else if r.anchor.ID != 1 {
		return &CorruptError{File: v.where(p, anchorFile), Line: 1, Msg: fmt.Sprintf("the tape begins with id %d", r.anchor.ID), Fix: v.restoreHint(p)}
	}
	w.st.Anchor = r.anchor.Anchor
	for {
		if _, err := r.next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
	}
	w.st.LastID = r.last
	return nil
}

// readOpen reads the open phase; of a sparse working tree, what git does not have: the
// rest is read by its hash whenever it is read, and may be as long as the tape.
func (w *writer) readOpen(v *diskView, p phase) (*phaseReader, error) {
	if v.under == nil || p.seq > len(v.under.list) {
		return readPhase(v, p, w.t.name)
	}
	ends, last, err := v.under.end()
	if err != nil {
		return nil, err
	}
	return readPhaseBehind(v, p, w.t.name, last, ends)
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
func (w *writer) setAside(v *diskView, p phase, s *segment) error {
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
func (w *writer) compare(v *diskView, committed *commitView, before state) error {
	for i, p := range committed.list {
		if i >= len(v.list) || v.list[i].folder != p.folder {
			return &CorruptError{File: v.where(p, ""), Msg: "a committed phase is missing", Fix: v.restoreHint(p)}
		}
	}
	last := committed.list[len(committed.list)-1]
	exact, err := w.extends(v, committed, last)
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

// extends checks that each committed file of a phase is a prefix of the one on disk.
// It reports whether the phase is exactly as committed.
func (w *writer) extends(v *diskView, committed *commitView, p phase) (exact bool, err error) {
	entries, err := committed.tree(p)
	if err != nil {
		return false, err
	}
	disk, err := v.named(p)
	if err != nil {
		return false, err
	}
	exact = true
	onDisk := 0
	for _, files := range disk {
		onDisk += len(files)
	}
	for _, e := range entries {
		c, n, ok := parseSegment(e.Name)
		if !ok {
			continue
		}
		onDisk--
		if len(disk[c]) < n {
			return false, &CorruptError{File: v.path(p, e.Name), Msg: "a committed file is missing", Fix: v.restoreHint(p)}
		}
		same, err := w.extendsFile(v, p, disk[c][n-1], e, n == len(disk[c]))
		if err != nil {
			return false, err
		}
		exact = exact && same
	}
	return exact && onDisk == 0, nil
}

// extendsFile compares one file. A sealed one is compared by its size only, so that
// this does not depend on the length of the phase; tape verify compares all bytes.
func (w *writer) extendsFile(v *diskView, p phase, s segment, e gitstore.TreeEntry, last bool) (same bool, err error) {
	if s.hash == e.Hash {
		return true, nil // it was left in git
	}
	if s.size, err = v.size(p, s); err != nil {
		return false, err
	}
	git := w.t.store.git
	size, err := git.BlobSize(e.Hash)
	if err != nil {
		return false, corruptObject(w.head, err)
	}
	if s.size < size {
		return false, cutError(v, p, e.Name, s.size, size)
	}
	if !last {
		return s.size == size, nil
	}
	blob, err := git.Blob(e.Hash)
	if err != nil {
		return false, corruptObject(w.head, err)
	}
	data, err := v.content(p, s)
	if err != nil {
		return false, err
	}
	if !bytes.HasPrefix(data, blob) {
		return false, &CorruptError{File: v.path(p, e.Name), Line: firstDifference(data, blob), Msg: "the line differs from the committed one", Fix: v.restoreHint(p)}
	}
	return len(data) == len(blob), nil
}

// firstDifference is the number of the first line in which two files differ.
func firstDifference(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return bytes.Count(a[:n], []byte("\n")) + 1
}
