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
func (t *Tape) snapshot(ctx context.Context) (*snapshot, error) {
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
		v, err := t.look(wt.Dir, head, before)
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
		if err := v.checkPhases(); err != nil {
			return nil, err
		}
		// The note from before the look: appends go on, and the later one may count more.
		if before.Head != head.String() {
			return v, t.checkNotLost(v)
		}
		return v, checkNotCut(v, before, head)
	}
}

// worktreeView begins a snapshot of a working tree. The note, which tells whether a file was
// changed, has to be older than the look: appends go on, and a later one may count more.
func (t *Tape) worktreeView(dir string, head gitstore.Hash, note state) *snapshot {
	v := &snapshot{git: t.store.git, commit: head, dir: dir, notePath: t.lockPath()}
	v.sealed = sync.OnceValue(func() map[string]string { return t.seals() })
	if note.Head == head.String() {
		v.note = note
	}
	return v
}

// checkingOut reports whether the working tree is not yet, or no more, what the
// branch says.
func checkingOut(st state, head gitstore.Hash) bool {
	return st.Undo != nil && st.Undo.Checkout && st.Undo.Next == head.String()
}

// look lists a working tree until two looks in a row see the same.
func (t *Tape) look(dir string, head gitstore.Hash, note state) (*snapshot, error) {
	list, err := listPhases(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	v := t.worktreeView(dir, head, note)
	v.list = list
	if t.IsFork() {
		if v.under, err = t.store.commitView(head); err != nil {
			return nil, err
		}
		if err := v.addCommitted(); err != nil {
			return nil, err
		}
	}
	for again := len(v.list) > 0; again; {
		was := v.last
		if v.last, err = v.ends(v.lastPhase()); err != nil {
			return nil, err
		}
		again = !slices.EqualFunc(v.last[:], was[:], slices.Equal)
	}
	v.head = t.headView(head)
	return v, nil
}

// headView reads a commit when it is first needed.
func (t *Tape) headView(head gitstore.Hash) func() (*snapshot, error) {
	return sync.OnceValues(func() (*snapshot, error) { return t.store.commitView(head) })
}

// duringMerge is the tape while git is merging into its working tree, and may have put
// anything into the files: what is committed, and what was recorded behind it, unless git
// has touched the files that this is in.
func (t *Tape) duringMerge(ctx context.Context, wt gitstore.Worktree, note state, head gitstore.Hash) (*snapshot, error) {
	committed, err := t.store.commitView(head)
	if err != nil {
		return nil, err
	}
	open := committed.lastPhase()
	if ok, err := t.untouched(wt, committed, open); err != nil || !ok {
		return committed, err
	}
	v := t.worktreeView(wt.Dir, head, note)
	v.list, v.under, v.closedInGit = committed.list, committed, true
	if v.last, err = v.ends(open); err != nil {
		return committed, nil
	}
	v.head = t.headView(head)
	for _, err := range behind(ctx, v, committed, t.name) {
		if err != nil {
			return committed, ctx.Err() // marks of a conflict
		}
	}
	return v, nil
}

// untouched reports whether git's index has nothing but what is committed for the files of
// a phase that are on disk.
func (t *Tape) untouched(wt gitstore.Worktree, committed *snapshot, p phase) (bool, error) {
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
func (v *snapshot) addCommitted() error {
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

// boundBy cuts a snapshot back to what an unfinished change began from.
func boundBy(v *snapshot, u undo) (*snapshot, error) {
	p, ok := v.phase(u.Seq, u.Folder)
	if !ok {
		return v, v.checkPhases() // somebody went back behind it with git
	}
	if u.Seq < len(v.list) {
		var err error
		if v.last, err = v.ends(p); err != nil {
			return nil, classify(err)
		}
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
	return v, v.checkPhases()
}

// checkNotCut notices a file of the open phase that lost bytes which were
// acknowledged. (In earlier phases a missing entry shows as a gap in the ids.)
func checkNotCut(v *snapshot, st state, head gitstore.Hash) error {
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
func (t *Tape) checkNotLost(v *snapshot) error {
	committed, err := t.store.commitView(v.commit)
	if err != nil {
		return err
	}
	if len(v.list) > len(committed.list) {
		return v.hasPhases(committed) // a missing end shows as a gap
	}
	_, err = v.extends(committed, false)
	return err
}

func (v *snapshot) hasPhases(committed *snapshot) error {
	for _, p := range committed.list {
		if _, ok := v.phase(p.seq, p.folder); !ok {
			return &CorruptError{File: v.path(p, ""), Msg: "a committed phase is missing", Fix: v.restoreHint(p)}
		}
	}
	return nil
}

// extends checks that a working tree has all phases of a commit, and that no file of the last
// of them is shorter than the committed one. Closely, it compares the bytes of the last file
// of each class; the others are sealed, and go by their size, so that this does not depend on
// the length of the phase (tape verify compares all). It reports whether the phase is exactly
// as committed.
func (v *snapshot) extends(committed *snapshot, closely bool) (exact bool, err error) {
	if err := v.hasPhases(committed); err != nil {
		return false, err
	}
	p := committed.lastPhase()
	entries, err := committed.tree(p)
	if err != nil {
		return false, err
	}
	onDisk, err := v.segments(v.list[p.seq-1])
	if err != nil {
		return false, err
	}
	exact = true
	left := len(slices.Concat(onDisk[:]...))
	for _, e := range entries {
		c, n, ok := parseSegment(e.Name)
		if !ok {
			continue
		}
		left--
		if len(onDisk[c]) < n {
			return false, &CorruptError{File: v.path(p, e.Name), Msg: "a committed file is missing", Fix: v.restoreHint(p)}
		}
		same, err := v.extendsFile(p, onDisk[c][n-1], e, closely && n == len(onDisk[c]))
		if err != nil {
			return false, err
		}
		exact = exact && same
	}
	return exact && left == 0, nil
}

func (v *snapshot) extendsFile(p phase, s segment, e gitstore.TreeEntry, closely bool) (same bool, err error) {
	if s.hash == e.Hash {
		return true, nil // it was left in git
	}
	if s.size, err = v.size(p, s); err != nil {
		return false, classify(err)
	}
	size, err := v.git.BlobSize(e.Hash)
	if err != nil {
		return false, corruptObject(v.commit, err)
	}
	if s.size < size {
		return false, cutError(v, p, e.Name, s.size, size)
	}
	if !closely {
		return s.size == size, nil
	}
	blob, err := v.git.Blob(e.Hash)
	if err != nil {
		return false, corruptObject(v.commit, err)
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
	return bytes.Count(a[:samePrefix(a, b)], []byte("\n")) + 1
}

// samePrefix is how many bytes two files have in common at their beginning.
func samePrefix(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// cutError tells of a file that is shorter than it was; the line is the first that is
// not whole.
func cutError(v *snapshot, p phase, name string, size, was int64) error {
	line := 0
	if data, err := os.ReadFile(v.path(p, name)); err == nil {
		line = bytes.Count(data, []byte("\n")) + 1
	}
	return &CorruptError{File: v.path(p, name), Line: line, Msg: fmt.Sprintf("the file has %d bytes; %d were recorded", size, was),
		Fix: "put the missing lines back; or give up what was not committed, with: git -C " + shellWord(v.dir) +
			" restore -- " + shellWord(anchorsDir+"/"+p.folder)}
}
