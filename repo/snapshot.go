package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"tape/internal/gitstore"
)

// snapshot returns the tape as it is at one moment, without a lock: the working tree
// where there is one, the branch's commit otherwise.
//
// Entries are appended in the order of their ids, each with one write. So the sizes
// of the open phase's files, read twice with the same result, are a state that the
// tape was in. A change of several steps is kept out by its Undo record, which stands
// for as long as the change is not complete.
func (t *Tape) snapshot(ctx context.Context) (view, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		before, _ := t.peekState()
		head, err := t.head()
		if err != nil {
			return nil, err
		}
		wt, _, err := t.worktree()
		if homeErr := t.checkHome(before, head, wt.Dir); homeErr != nil {
			return nil, homeErr
		}
		if before.moved(head) {
			if err := t.checkSettled(head); err != nil {
				return nil, err
			}
		}
		if errors.Is(err, gitstore.ErrNotFound) || err == nil && checkingOut(before, head) {
			return t.store.commitView(head)
		}
		if err == nil {
			err = checkTapeFile(wt.Dir, before.Undo)
		}
		if err != nil {
			return nil, classify(err)
		}
		if t.merging(wt) {
			return t.duringMerge(ctx, wt, before, head)
		}
		v, err := t.look(wt.Dir, head)
		t.witness(v, before, head)
		after, _ := t.peekState()
		if after.Gen != before.Gen || (after.Undo == nil) != (before.Undo == nil) {
			continue
		}
		if err != nil {
			return nil, classify(err)
		}
		if again, err := t.head(); err != nil || again != head {
			continue
		}
		if u := after.Undo; u != nil && !u.Checkout {
			back, err := t.without(*u, head)
			if err != nil {
				return nil, err
			}
			if back {
				return boundBy(v, *u)
			}
		}
		if err := checkPhases(v, v.list); err != nil {
			return nil, err
		}
		// The note from before the look: appends go on, and the later one may count more.
		if before.Head != head.String() {
			return v, t.checkNotLost(v, head)
		}
		return v, checkNotCut(v, before, head)
	}
}

// witness gives a view what tells it whether a file was changed. The note has to be
// older than the look: appends go on, and a later one may count more.
func (t *Tape) witness(v *diskView, note state, head gitstore.Hash) {
	if v == nil {
		return
	}
	v.notePath = t.lockPath()
	v.sealed = sync.OnceValue(func() map[string]string { return t.seals() })
	if note.Head == head.String() {
		v.note = note
	}
	v.head = sync.OnceValues(func() (*commitView, error) { return t.store.commitView(head) })
}

// checkingOut reports whether the working tree is not yet, or no more, what the
// branch says.
func checkingOut(st state, head gitstore.Hash) bool {
	return st.Undo != nil && st.Undo.Checkout && st.Undo.Next == head.String()
}

// look lists a working tree until two looks in a row see the same.
func (t *Tape) look(worktree string, head gitstore.Hash) (*diskView, error) {
	list, err := listPhases(worktree)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	v := &diskView{dir: worktree, list: list}
	if t.IsFork() {
		if v.under, err = t.store.commitView(head); err != nil {
			return nil, err
		}
		if err := v.addCommitted(); err != nil {
			return nil, err
		}
	}
	if len(v.list) == 0 {
		return v, nil
	}
	open := v.list[len(v.list)-1]
	if v.last, err = v.ends(open); err != nil {
		return nil, err
	}
	for {
		again, err := v.ends(open)
		if err != nil {
			return nil, err
		}
		if slices.EqualFunc(v.last[:], again[:], func(a, b []segment) bool { return slices.Equal(a, b) }) {
			return v, nil
		}
		v.last = again
	}
}

// duringMerge is the tape while git is merging into its working tree, and may have put
// anything into the files: what is committed, and what was recorded behind it, unless git
// has touched the files that this is in.
func (t *Tape) duringMerge(ctx context.Context, wt gitstore.Worktree, note state, head gitstore.Hash) (view, error) {
	committed, err := t.store.commitView(head)
	if err != nil {
		return nil, err
	}
	open := committed.list[len(committed.list)-1]
	if ok, err := t.untouched(wt, committed, open); err != nil || !ok {
		return committed, err
	}
	v := &diskView{dir: wt.Dir, list: committed.list, under: committed, closedInGit: true}
	if v.last, err = v.ends(open); err != nil {
		return committed, nil
	}
	t.witness(v, note, head)
	for _, err := range behind(ctx, v, committed, t.name) {
		if err != nil {
			return committed, ctx.Err() // marks of a conflict
		}
	}
	return v, nil
}

// untouched reports whether git's index has nothing but what is committed for the files of
// a phase that are on disk.
func (t *Tape) untouched(wt gitstore.Worktree, committed *commitView, p phase) (bool, error) {
	staged, err := t.store.git.ReadIndex(wt)
	if err != nil {
		return false, err
	}
	const ourStage = 2
	known := map[string]gitstore.Hash{}
	for _, e := range staged {
		if e.Stage == 0 || e.Stage == ourStage {
			known[e.Path] = e.Hash
		}
	}
	entries, err := committed.tree(p)
	if err != nil {
		return false, err
	}
	files, err := filesIn(filepath.Join(wt.Dir, anchorsDir, p.folder))
	if err != nil {
		return false, nil
	}
	for _, f := range files {
		e, _ := findEntry(entries, f.name())
		if known[anchorsDir+"/"+p.folder+"/"+f.name()] != e.Hash {
			return false, nil
		}
	}
	return true, nil
}

// addCommitted puts the phases that git has before those that only the working tree has.
func (v *diskView) addCommitted() error {
	all := slices.Clone(v.under.list)
	for _, p := range v.list {
		if p.seq > len(all) {
			all = append(all, p)
		} else if p.seq <= len(v.under.list) && all[p.seq-1].folder != p.folder {
			return &CorruptError{File: v.path(p, ""), Msg: "the committed phase of this number is " + all[p.seq-1].folder,
				Fix: "move the folder away"}
		}
	}
	v.list = all
	return nil
}

// boundBy cuts a view back to what an unfinished change began from.
func boundBy(v *diskView, u undo) (view, error) {
	if len(v.list) < u.Seq || v.list[u.Seq-1].folder != u.Folder {
		return v, checkPhases(v, v.list) // somebody went back behind it with git
	}
	p := v.list[u.Seq-1]
	if u.Seq < len(v.list) {
		segments, err := v.listed(p)
		if err != nil {
			return nil, classify(err)
		}
		v.last = segments
	}
	v.list = v.list[:u.Seq]
	for c := range v.last {
		was := u.Tails[c]
		v.last[c] = v.last[c][:min(len(v.last[c]), was.Seg)]
		if was.Seg > 0 && len(v.last[c]) == was.Seg {
			last := &v.last[c][was.Seg-1]
			size, err := v.size(p, *last)
			if err != nil {
				return nil, classify(err)
			}
			last.size = min(size, was.Size)
		}
	}
	return v, checkPhases(v, v.list)
}

// checkNotCut notices a file of the open phase that lost bytes which were
// acknowledged. (In earlier phases a missing entry shows as a gap in the ids.)
func checkNotCut(v *diskView, st state, head gitstore.Hash) error {
	if st.Head != head.String() || st.Seq < len(v.list) {
		return nil
	}
	if st.Seq > len(v.list) {
		p := phase{seq: st.Seq, folder: st.Folder}
		return &CorruptError{File: v.path(p, ""), Msg: "the phase is missing", Fix: v.restoreHint(p)}
	}
	p := v.list[st.Seq-1]
	for c, was := range st.Tails {
		if was.Seg == 0 {
			continue
		}
		name := segmentName(class(c), was.Seg)
		if len(v.last[c]) < was.Seg {
			return &CorruptError{File: v.path(p, name), Msg: "the file is missing", Fix: v.restoreHint(p)}
		}
		size, err := v.size(p, v.last[c][was.Seg-1])
		if err != nil {
			return classify(err)
		}
		if size < was.Size {
			return cutError(v, p, name, size, was.Size)
		}
	}
	return nil
}

// checkNotLost notices, without a note, that the working tree has less than the commit:
// a phase, or the end of the last one.
func (t *Tape) checkNotLost(v *diskView, head gitstore.Hash) error {
	committed, err := t.store.commitView(head)
	if err != nil {
		return err
	}
	for i, p := range committed.list {
		if i >= len(v.list) || v.list[i].folder != p.folder {
			return &CorruptError{File: v.path(p, ""), Msg: "a committed phase is missing", Fix: v.restoreHint(p)}
		}
	}
	if len(v.list) > len(committed.list) {
		return nil // a missing end shows as a gap
	}
	p := committed.list[len(committed.list)-1]
	entries, err := committed.tree(p)
	if err != nil {
		return err
	}
	for _, e := range entries {
		c, n, ok := parseSegment(e.Name)
		if !ok {
			continue
		}
		if len(v.last[c]) < n {
			return &CorruptError{File: v.path(p, e.Name), Msg: "a committed file is missing", Fix: v.restoreHint(p)}
		}
		size, err := t.store.git.BlobSize(e.Hash)
		if err != nil {
			return corruptObject(head, err)
		}
		got, err := v.size(p, v.last[c][n-1])
		if err != nil {
			return classify(err)
		}
		if got < size {
			return cutError(v, p, e.Name, got, size)
		}
	}
	return nil
}

// cutError tells of a file that is shorter than it was; the line is the first that is
// not whole.
func cutError(v *diskView, p phase, name string, size, was int64) error {
	line := 0
	if data, err := os.ReadFile(v.path(p, name)); err == nil {
		line = bytes.Count(data, []byte("\n")) + 1
	}
	return &CorruptError{File: v.path(p, name), Line: line, Msg: fmt.Sprintf("the file has %d bytes; %d were recorded", size, was),
		Fix: "put the missing lines back; or give up what was not committed, with: git -C " + shellWord(v.dir) +
			" restore -- " + shellWord(anchorsDir+"/"+p.folder)}
}
