package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"tape/internal/git/gitindex"
	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/workspace"
)

// Take returns the tape at one moment, without a lock: its working tree if there is one, otherwise the
// branch's commit.
//
// Entries are appended in the order of their ids, each with one write. So if two readings of the sizes of the
// open phase's files are equal, the tape was in that state. An unfinished change of several steps is left out
// because of its undo record, which stays until the change is complete.
func Take(ctx context.Context, t *workspace.Tape) (*Snapshot, error) {
	for ctx.Err() == nil {
		before, err := journal.PeekOf(t)
		if err != nil {
			return nil, err
		}
		head, err := t.Head()
		if err != nil {
			return nil, err
		}
		wt, err := treeOf(t)
		if err != nil {
			return nil, layout.Classify(err)
		}
		if err := journal.CheckHome(t, before, head, wt.Dir); err != nil {
			return nil, err
		}
		if err := CheckMoved(t, before, head); err != nil {
			return nil, err
		}
		found, err := Find(t, before, head, wt) // only now: CheckMoved says the way back from a commit that removes entries
		if err != nil {
			return nil, layout.Classify(err)
		}
		now := journal.Decide(found)
		if now.Content == journal.InCommit {
			return AtCommit(t.Store(), head)
		}
		if found.Tree == journal.Merging {
			return duringMerge(ctx, t, wt, before, head, now)
		}
		if err := journal.CheckTapeFile(wt.Dir, before.Undo); err != nil {
			after, recErr := journal.PeekOf(t)
			if again, headErr := t.Head(); recErr == nil && journal.Changed(before, after) || headErr != nil || again != head {
				continue // the working tree is being removed
			}
			return nil, layout.Classify(err)
		}
		v, err := ReadTree(t, wt.Dir, head, before)
		after, recErr := journal.PeekOf(t)
		if recErr != nil {
			return nil, recErr
		}
		if again, err := t.Head(); journal.Changed(before, after) || err != nil || again != head {
			continue
		}
		if err != nil {
			return nil, layout.Classify(err)
		}
		if after.Undo != nil { // the commit that completes the change may have been recorded meanwhile
			if found, err = Find(t, after, head, wt); err != nil {
				return nil, err
			}
			if journal.Decide(found).Content == journal.InFilesBefore {
				return boundBy(v, *after.Undo)
			}
		}
		if err := v.CheckPhases(); err != nil {
			return nil, err
		}
		if before.Head != head.String() {
			return v, cmp.Or(checkNotLost(t, v), CheckEnd(t, v, before))
		}
		return v, WithStash(v, head, CheckNotTruncated(v, before, head))
	}
	return nil, ctx.Err()
}

// worktreeView starts a snapshot of a working tree. The record must have been read before the files: a later
// record may include appends that the files as read do not have.
func worktreeView(t *workspace.Tape, dir string, head gitstore.Hash, rec journal.Record) *Snapshot {
	v := &Snapshot{tape: t, Git: t.Store().Git(), Commit: head, Dir: dir, recPath: journal.LockPath(t)}
	v.Sealed = sync.OnceValue(func() map[string]string { return Seals(t) })
	if rec.Head == head.String() {
		v.rec = rec
	}
	return v
}

// ReadTree returns a snapshot of a working tree. It reads the sizes of the open phase's files until two readings
// are equal. rec must have been read before the call.
func ReadTree(t *workspace.Tape, dir string, head gitstore.Hash, rec journal.Record) (*Snapshot, error) {
	list, err := ListPhases(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	v := worktreeView(t, dir, head, rec)
	v.List = list
	if t.IsFork() {
		if v.Under, err = AtCommit(t.Store(), head); err != nil {
			return nil, err
		}
		if err := v.addCommitted(); err != nil {
			return nil, err
		}
	}
	for changed := len(v.List) > 0; changed; {
		was := v.Last
		if v.Last, err = v.Ends(v.LastPhase()); errors.Is(err, fs.ErrNotExist) { // another program removed it after it was listed
			err = &layout.CorruptError{File: v.Path(v.LastPhase(), ""), Msg: "the folder, or a file in it, is missing"}
		}
		if err != nil {
			return nil, err
		}
		changed = !slices.EqualFunc(v.Last[:], was[:], slices.Equal)
	}
	v.head = headView(t, head)
	return v, nil
}

// headView returns a function that reads a commit on first use.
func headView(t *workspace.Tape, head gitstore.Hash) func() (*Snapshot, error) {
	return sync.OnceValues(func() (*Snapshot, error) { return AtCommit(t.Store(), head) })
}

// duringMerge returns the tape while git has an unfinished merge in its working tree and may have changed any
// file. It has the committed entries, and the later ones if git did not change the files of the open phase.
func duringMerge(ctx context.Context, t *workspace.Tape, wt gitstore.Worktree, rec journal.Record, head gitstore.Hash, now journal.Now) (*Snapshot, error) {
	committed, err := AtCommit(t.Store(), head)
	if err != nil {
		return nil, err
	}
	open := committed.LastPhase()
	if ok, err := untouched(t, wt, committed, open); err != nil || !ok {
		return committed, err
	}
	v := worktreeView(t, wt.Dir, head, rec)
	v.List, v.Under, v.closedInGit = committed.List, committed, true
	if v.Last, err = v.Ends(open); err != nil {
		return committed, nil
	}
	v.head = headView(t, head)
	if now.Content == journal.InFilesBefore {
		if v, err = boundBy(v, *rec.Undo); err != nil {
			return nil, err
		}
	}
	for _, err := range v.After(ctx, committed, t.Name()) {
		if err != nil {
			return committed, ctx.Err() // conflict markers
		}
	}
	return v, nil
}

// untouched reports whether git's index has only committed content for a phase's files on disk.
func untouched(t *workspace.Tape, wt gitstore.Worktree, committed *Snapshot, p layout.Phase) (bool, error) {
	staged, err := gitindex.Read(wt)
	if err != nil {
		return false, err
	}
	const ourStage = 2
	hashes := map[string]gitstore.Hash{}
	for _, e := range staged {
		if e.Stage == 0 || e.Stage == ourStage {
			hashes[e.Path] = e.Hash
		}
	}
	entries, err := committed.Tree(p)
	if err != nil {
		return false, err
	}
	files, err := FilesIn(filepath.Join(wt.Dir, layout.AnchorsDir, p.Folder))
	if err != nil {
		return false, nil
	}
	for _, f := range files {
		e, _ := layout.FindEntry(entries, f.Name())
		if hashes[layout.AnchorsDir+"/"+p.Folder+"/"+f.Name()] != e.Hash {
			return false, nil
		}
	}
	return true, nil
}

func (v *Snapshot) addCommitted() error {
	all := slices.Clone(v.Under.List)
	for _, p := range v.List {
		if p.Seq > len(all) {
			all = append(all, p)
		} else if p.Seq <= len(v.Under.List) && all[p.Seq-1].Folder != p.Folder {
			return &layout.CorruptError{File: v.Path(p, ""), Msg: "the committed phase of this number is " + all[p.Seq-1].Folder,
				Fix: "move the folder away"}
		}
	}
	v.List = all
	return nil
}

// boundBy cuts a snapshot back to the state before an unfinished change.
func boundBy(v *Snapshot, u journal.Undo) (*Snapshot, error) {
	p, ok := v.Phase(u.Seq, u.Folder)
	if !ok {
		return v, v.CheckPhases() // somebody has reset the branch to before the change
	}
	if u.Seq < len(v.List) {
		var err error
		if v.Last, err = v.Ends(p); err != nil {
			return nil, layout.Classify(err)
		}
	}
	v.List = v.List[:u.Seq]
	for c := range v.Last {
		was := u.Tails[c]
		v.Last[c] = v.Last[c][:min(len(v.Last[c]), was.Seg)]
		if was.Seg > 0 && len(v.Last[c]) == was.Seg {
			last := &v.Last[c][was.Seg-1]
			size, err := v.size(p, *last)
			if err != nil {
				return nil, layout.Classify(err)
			}
			last.Size = min(size, was.Size)
		}
	}
	return v, v.CheckPhases()
}

// CheckNotTruncated returns an error if a file of the open phase has lost acknowledged bytes. (In earlier
// phases a missing entry shows as a gap in the ids.)
func CheckNotTruncated(v *Snapshot, st journal.Record, head gitstore.Hash) error {
	if st.Head != head.String() || st.Seq < len(v.List) {
		return nil
	}
	if st.Seq > len(v.List) {
		p := layout.Phase{Seq: st.Seq, Folder: st.Folder}
		return &layout.CorruptError{File: v.Path(p, ""), Msg: "the phase is missing"}
	}
	p := v.List[st.Seq-1]
	for c, was := range st.Tails {
		if was.Seg == 0 {
			continue
		}
		name := layout.SegmentName(layout.Class(c), was.Seg)
		if len(v.Last[c]) < was.Seg {
			return &layout.CorruptError{File: v.Path(p, name), Msg: "the file is missing"}
		}
		size, err := v.size(p, v.Last[c][was.Seg-1])
		if err != nil {
			return layout.Classify(err)
		}
		if size < was.Size {
			return truncatedError(v, p, name, size, was.Size)
		}
	}
	return nil
}

// CheckEnd returns an error if a tape ends before the last entry that was acknowledged. A branch that git has
// moved back has another history, and may end earlier.
func CheckEnd(t *workspace.Tape, v *Snapshot, st journal.Record) error {
	last, err := v.LastID()
	if err != nil || last >= st.LastID {
		return nil //nolint:nilerr // the reader gets the error
	}
	if has, err := lineage.Descends(t.Store(), v.Commit, st.Head); err != nil || !has {
		return err
	}
	return &layout.CorruptError{File: v.Path(v.LastPhase(), ""), Msg: "acknowledged but missing: " + layout.Entries(last+1, st.LastID)}
}

// checkNotLost returns an error if the working tree lacks a phase of the commit, or the end of the commit's
// last phase. It is for a tape without a valid record.
func checkNotLost(t *workspace.Tape, v *Snapshot) error {
	committed, err := AtCommit(t.Store(), v.Commit)
	if err != nil {
		return err
	}
	if len(v.List) > len(committed.List) {
		return v.hasPhases(committed) // a missing end shows as a gap in the ids
	}
	_, err = v.Extends(committed, false)
	return err
}

func (v *Snapshot) hasPhases(committed *Snapshot) error {
	for _, p := range committed.List {
		if _, ok := v.Phase(p.Seq, p.Folder); !ok {
			return &layout.CorruptError{File: v.Path(p, ""), Msg: "a committed phase is missing"}
		}
	}
	return nil
}

// Extends checks that a working tree has all phases of a commit, and no shorter file in the commit's last
// phase. With closely it compares the bytes of each class's last file; the others are sealed, and only their
// sizes are compared, so the cost does not depend on the length of the phase (tape verify compares all).
// exact reports whether the phase is as committed.
func (v *Snapshot) Extends(committed *Snapshot, closely bool) (exact bool, err error) {
	if err := v.hasPhases(committed); err != nil {
		return false, err
	}
	p := committed.LastPhase()
	entries, err := committed.Tree(p)
	if err != nil {
		return false, err
	}
	onDisk, err := v.Segments(v.List[p.Seq-1])
	if err != nil {
		return false, err
	}
	exact = true
	uncommitted := len(slices.Concat(onDisk[:]...))
	for _, e := range entries {
		c, n, ok := layout.ParseSegment(e.Name)
		if !ok {
			continue
		}
		uncommitted--
		if len(onDisk[c]) < n {
			return false, &layout.CorruptError{File: v.Path(p, e.Name), Msg: "a committed file is missing"}
		}
		same, err := v.extendsFile(p, onDisk[c][n-1], e, closely && n == len(onDisk[c]))
		if err != nil {
			return false, err
		}
		exact = exact && same
	}
	return exact && uncommitted == 0, nil
}

func (v *Snapshot) extendsFile(p layout.Phase, s layout.Segment, e gitstore.TreeEntry, closely bool) (same bool, err error) {
	if s.Hash == e.Hash {
		return true, nil // it is only in git
	}
	if s.Size, err = v.size(p, s); err != nil {
		return false, layout.Classify(err)
	}
	size, err := v.Git.BlobSize(e.Hash)
	if err != nil {
		return false, layout.CorruptObject(v.Commit, err)
	}
	if s.Size < size {
		return false, truncatedError(v, p, e.Name, s.Size, size)
	}
	if !closely {
		return s.Size == size, nil
	}
	blob, err := v.Git.Blob(e.Hash)
	if err != nil {
		return false, layout.CorruptObject(v.Commit, err)
	}
	data, err := v.Content(p, s)
	if err != nil {
		return false, err
	}
	if !bytes.HasPrefix(data, blob) {
		if err := v.converted(p, e.Name, data, blob); err != nil {
			return false, err
		}
		return false, &layout.CorruptError{File: v.Path(p, e.Name), Line: layout.FirstDifference(data, blob), Msg: "the line differs from the committed one"}
	}
	return len(data) == len(blob), nil
}

// truncatedError is the error for a file that has become shorter. Its line is the first incomplete one.
func truncatedError(v *Snapshot, p layout.Phase, name string, size, was int64) error {
	line := 0
	if data, err := os.ReadFile(v.Path(p, name)); err == nil {
		line = bytes.Count(data, []byte("\n")) + 1
	}
	return &layout.CorruptError{File: v.Path(p, name), Line: line, Msg: fmt.Sprintf("the file has %d bytes; %d were recorded", size, was)}
}
