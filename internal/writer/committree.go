package writer

import (
	"os"
	"path/filepath"
	"slices"
	"tape/internal/gitstore"
	"tape/internal/gitstore/gitindex"
	"tape/internal/journal"
	"tape/internal/layout"
	"tape/internal/snapshot"
)

// treeBase is the branch's tree, as the commits of a Tx change it.
type treeBase struct {
	root    []gitstore.TreeEntry
	anchors []gitstore.TreeEntry
	phase   []gitstore.TreeEntry // the open phase, as committed; nil if it is not
	parent  gitstore.Hash
}

func (tx *Tx) loadBase() error {
	if tx.base != nil {
		return nil
	}
	v, err := snapshot.AtCommit(tx.w.T.Store(), tx.w.Head)
	if err != nil {
		return err
	}
	b := &treeBase{root: slices.Clone(v.Root), parent: tx.w.Head} // the view is shared
	for _, p := range v.List {
		b.anchors = append(b.anchors, gitstore.TreeEntry{Name: p.Folder, Mode: gitstore.ModeDir, Hash: p.Tree})
	}
	if last := v.List[len(v.List)-1]; last.Folder == tx.w.rec.Folder {
		if b.phase, err = v.Tree(last); err != nil {
			return err
		}
	}
	tx.base = b
	return tx.addUncommittedPhases(v)
}

// addUncommittedPhases takes in folders that somebody made by hand.
func (tx *Tx) addUncommittedPhases(v *snapshot.Snapshot) error {
	last := v.List[len(v.List)-1]
	if last.Seq >= tx.w.rec.Seq {
		return nil
	}
	list, err := snapshot.ListPhases(tx.w.Wt.Dir)
	if err != nil {
		return err
	}
	committed, err := v.Tree(last)
	if err != nil {
		return err
	}
	// The last committed one may have grown before the next was opened.
	if err := tx.setPhase(last.Folder, committed); err != nil {
		return err
	}
	for _, p := range list {
		if p.Seq <= last.Seq || p.Seq >= tx.w.rec.Seq {
			continue
		}
		if err := tx.setPhase(p.Folder, nil); err != nil {
			return err
		}
	}
	return nil
}

// setPhase puts the tree of a phase, with what its files hold now, under anchors.
func (tx *Tx) setPhase(folder string, committed []gitstore.TreeEntry) error {
	entries, err := tx.phaseTree(folder, committed)
	if err != nil {
		return err
	}
	e := gitstore.TreeEntry{Name: folder, Mode: gitstore.ModeDir, Hash: tx.put(gitstore.KindTree, gitstore.EncodeTree(entries))}
	layout.SetEntry(&tx.base.anchors, e)
	if folder == tx.w.rec.Folder {
		tx.base.phase = entries
	}
	return nil
}

// phaseTree stores what a phase's files hold and the commit does not have yet. Only
// the last committed file of each class, and those behind it, can be new.
func (tx *Tx) phaseTree(folder string, committed []gitstore.TreeEntry) ([]gitstore.TreeEntry, error) {
	entries := slices.Clone(committed)
	if entries == nil {
		line, err := os.ReadFile(filepath.Join(tx.w.AnchorsPath(), folder, layout.AnchorFile))
		if err != nil {
			return nil, err
		}
		tx.setFile(&entries, folder, layout.AnchorFile, tx.put(gitstore.KindBlob, line), int64(len(line)))
	}
	tails := tx.w.rec.Tails
	if folder != tx.w.rec.Folder {
		files, err := snapshot.FilesIn(filepath.Join(tx.w.AnchorsPath(), folder))
		if err != nil {
			return nil, err
		}
		tails = [layout.ClassCount]journal.Tail{}
		for _, f := range files {
			tails[f.Class].Seg = max(tails[f.Class].Seg, f.N)
		}
	}
	var newest [layout.ClassCount]int
	for _, e := range committed {
		if c, n, ok := layout.ParseSegment(e.Name); ok {
			newest[c] = max(newest[c], n)
		}
	}
	for c := range layout.ClassCount {
		for n := max(newest[c], 1); n <= tails[c].Seg; n++ {
			if err := tx.addFile(&entries, folder, c, n); err != nil {
				return nil, err
			}
		}
	}
	return entries, nil
}

// addFile stores one file of a phase, from memory where it is there.
func (tx *Tx) addFile(entries *[]gitstore.TreeEntry, folder string, c layout.Class, n int) error {
	name := layout.SegmentName(c, n)
	path := filepath.Join(tx.w.AnchorsPath(), folder, name)
	if h, ok := tx.sealed[name]; ok && folder == tx.w.rec.Folder {
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		tx.setFile(entries, folder, name, h, st.Size())
		return nil
	}
	var data []byte
	if file := tx.open[c]; folder == tx.w.rec.Folder && file != nil && file.N == n {
		data = slices.Clone(file.Data)
	} else {
		var err error
		if data, err = os.ReadFile(path); err != nil {
			return err
		}
		if n < tx.w.rec.Tails[c].Seg && folder == tx.w.rec.Folder {
			v := &snapshot.Snapshot{Dir: tx.w.Wt.Dir, Sealed: func() map[string]string { return snapshot.Seals(tx.w.T) }}
			v.Last[c] = make([]layout.Segment, tx.w.rec.Tails[c].Seg)
			if err := v.CheckSealed(layout.Phase{Seq: tx.w.rec.Seq, Folder: folder}, name, data); err != nil {
				return err
			}
		}
	}
	if e, ok := layout.FindEntry(*entries, name); ok && e.Hash == gitstore.HashObject(gitstore.KindBlob, data) {
		return nil
	}
	tx.setFile(entries, folder, name, tx.put(gitstore.KindBlob, data), int64(len(data)))
	return nil
}

func (tx *Tx) setFile(entries *[]gitstore.TreeEntry, folder, name string, h gitstore.Hash, size int64) {
	layout.SetEntry(entries, gitstore.TreeEntry{Name: name, Mode: gitstore.ModeFile, Hash: h})
	path := layout.AnchorsDir + "/" + folder + "/" + name
	tx.changes[path] = gitindex.Change{Path: path, Hash: h, Mode: gitstore.ModeFile, Size: size}
}
