package writer

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"tape/internal/git/gitindex"
	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
)

// loadBase gives the builder the branch's tree, and the files that are not committed yet.
func (tx *treeTx) loadBase() error {
	w := tx.w
	if tx.commits != nil {
		return nil
	}
	v, err := snapshot.AtCommit(w.T.Store(), w.Head)
	if err != nil {
		return err
	}
	if err := tx.b.StartFrom(v); err != nil {
		return err
	}
	if w.Uncommitted() > 0 {
		tx.b.RootTree = gitstore.ZeroHash
	}
	last := v.LastPhase()
	committed, err := v.Tree(last)
	if err != nil {
		return err
	}
	if last.Seq < w.rec.Seq {
		if err := tx.addUncommittedPhases(last, committed); err != nil {
			return err
		}
		committed = nil
	}
	if tx.b.Phase, err = tx.phaseTree(w.rec.Folder, committed, tx.b.Phase); err == nil {
		if last.Seq == w.rec.Seq {
			tx.b.Artifacts, err = v.CommittedArtifacts(last)
		}
		tx.commits = commits.Continue(w.T, tx.batch, tx.b, commits.Plan{Hash: w.Head}, w.rec.Committed).Dated(tx.dates)
	}
	return err
}

// addUncommittedPhases adds closed phases that are not committed, because somebody made them by hand or undid
// their commit. The last committed phase may have grown before them.
func (tx *treeTx) addUncommittedPhases(last layout.Phase, committed []gitstore.TreeEntry) error {
	list, err := snapshot.ListPhases(tx.w.Wt.Dir)
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.Seq < last.Seq || p.Seq >= tx.w.rec.Seq {
			continue
		}
		if p.Seq > last.Seq {
			committed = nil
		}
		entries, err := tx.phaseTree(p.Folder, committed, nil)
		if err != nil {
			return err
		}
		stored, err := snapshot.ArtifactsOf(tx.w.T.Store().Git(), committed)
		if err == nil {
			err = tx.keepArtifactsOf(p.Folder, &stored)
		}
		if err != nil {
			return err
		}
		tx.b.StoreArtifacts(&entries, stored)
		tx.b.StorePhase(p.Folder, entries)
	}
	return nil
}

// phaseTree returns the tree of a phase from its files, without files that the builder holds. It reads only
// the last committed file of each class and later files, because no other can have changed. Files in stored
// have their blobs already.
func (tx *treeTx) phaseTree(folder string, committed, stored []gitstore.TreeEntry) ([]gitstore.TreeEntry, error) {
	w, dir := tx.w, filepath.Join(tx.w.AnchorsPath(), folder)
	entries, isOpen := slices.Clone(committed), folder == w.rec.Folder
	if committed == nil {
		if err := tx.storeFile(&entries, folder, layout.AnchorFile); err != nil {
			return nil, err
		}
	}
	var last [layout.ClassCount]int
	if isOpen {
		for c, tail := range w.rec.Tails {
			last[c] = tail.Seg
		}
	} else {
		files, err := snapshot.FilesIn(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			last[f.Class] = max(last[f.Class], f.N)
		}
	}
	for _, e := range stored {
		layout.SetEntry(&entries, e)
	}
	newest := layout.LastSegments(committed)
	for c := range layout.ClassCount {
		for n := max(newest[c], 1); n <= last[c]; n++ {
			name := layout.SegmentName(c, n)
			_, isStored := layout.FindEntry(stored, name)
			if file := tx.b.Open[c]; isStored || isOpen && file != nil && file.N == n {
				continue
			}
			if err := tx.storeFile(&entries, folder, name); err != nil {
				return nil, err
			}
		}
	}
	return entries, nil
}

// storeFile stores a file of a phase as it is on disk.
func (tx *treeTx) storeFile(entries *[]gitstore.TreeEntry, folder, name string) error {
	path := filepath.Join(tx.w.AnchorsPath(), folder, name)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if c, n, ok := layout.ParseSegment(name); ok && folder == tx.w.rec.Folder && n < tx.w.rec.Tails[c].Seg {
		if err := snapshot.CheckSealed(snapshot.Seals(tx.w.T), path, data); err != nil {
			return err
		}
	}
	if e, ok := layout.FindEntry(*entries, name); !ok || e.Hash != gitstore.HashObject(gitstore.KindBlob, data) {
		tx.b.SetFile(entries, folder, name, tx.batch.Put(gitstore.KindBlob, data), len(data))
	}
	return nil
}

func (tx *treeTx) keepArtifacts() error { return tx.keepArtifactsOf(tx.w.rec.Folder, &tx.b.Artifacts) }

// keepArtifactsOf stores those artifacts of a phase that list lacks, and adds them to list.
func (tx *treeTx) keepArtifactsOf(folder string, list *[]gitstore.TreeEntry) error {
	wants := func(name string) bool { return tx.wanted == nil || tx.wanted[name] }
	return CommitArtifacts(filepath.Join(tx.w.AnchorsPath(), folder), list, wants, tx.batch.Put, func(name string, h gitstore.Hash, size int) {
		tx.noteChange(path.Join(layout.AnchorsDir, folder, layout.ArtifactsDir, name), h, size)
		tx.b.RootTree = gitstore.ZeroHash
	})
}

// noteChange notes a file of the next commit for git's index.
func (tx *treeTx) noteChange(path string, h gitstore.Hash, size int) {
	tx.changes[path] = gitindex.Change{Path: path, Hash: h, Mode: gitstore.ModeFile, Size: int64(size)}
}
