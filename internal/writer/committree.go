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
	Root    []gitstore.TreeEntry
	Anchors []gitstore.TreeEntry
	Phase   []gitstore.TreeEntry // the open phase, as committed; nil if it is not
	Parent  gitstore.Hash
}

// LoadBase reads the trees of the branch's commit, which the next one builds on.
func (tx *Tx) LoadBase() error {
	if tx.Base != nil {
		return nil
	}
	v, err := snapshot.AtCommit(tx.W.T.Store(), tx.W.Head)
	if err != nil {
		return err
	}
	b := &treeBase{Root: slices.Clone(v.Root), Parent: tx.W.Head} // the view is shared
	for _, p := range v.List {
		b.Anchors = append(b.Anchors, gitstore.TreeEntry{Name: p.Folder, Mode: gitstore.ModeDir, Hash: p.Tree})
	}
	if last := v.List[len(v.List)-1]; last.Folder == tx.W.St.Folder {
		if b.Phase, err = v.Tree(last); err != nil {
			return err
		}
	}
	tx.Base = b
	return tx.addUncommittedPhases(v)
}

// addUncommittedPhases takes in folders that somebody made by hand.
func (tx *Tx) addUncommittedPhases(v *snapshot.Snapshot) error {
	last := v.List[len(v.List)-1]
	if last.Seq >= tx.W.St.Seq {
		return nil
	}
	list, err := snapshot.ListPhases(tx.W.Wt.Dir)
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
		if p.Seq <= last.Seq || p.Seq >= tx.W.St.Seq {
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
	e := gitstore.TreeEntry{Name: folder, Mode: gitstore.ModeDir, Hash: tx.Put(gitstore.KindTree, gitstore.EncodeTree(entries))}
	layout.SetEntry(&tx.Base.Anchors, e)
	if folder == tx.W.St.Folder {
		tx.Base.Phase = entries
	}
	return nil
}

// phaseTree stores what a phase's files hold and the commit does not have yet. Only
// the last committed file of each class, and those behind it, can be new.
func (tx *Tx) phaseTree(folder string, committed []gitstore.TreeEntry) ([]gitstore.TreeEntry, error) {
	entries := slices.Clone(committed)
	if entries == nil {
		line, err := os.ReadFile(filepath.Join(tx.W.AnchorsPath(), folder, layout.AnchorFile))
		if err != nil {
			return nil, err
		}
		tx.setFile(&entries, folder, layout.AnchorFile, tx.Put(gitstore.KindBlob, line), int64(len(line)))
	}
	tails := tx.W.St.Tails
	if folder != tx.W.St.Folder {
		files, err := snapshot.FilesIn(filepath.Join(tx.W.AnchorsPath(), folder))
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
	path := filepath.Join(tx.W.AnchorsPath(), folder, name)
	if h, ok := tx.sealed[name]; ok && folder == tx.W.St.Folder {
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		tx.setFile(entries, folder, name, h, st.Size())
		return nil
	}
	var data []byte
	if file := tx.open[c]; folder == tx.W.St.Folder && file != nil && file.N == n {
		data = slices.Clone(file.Data)
	} else {
		var err error
		if data, err = os.ReadFile(path); err != nil {
			return err
		}
		if n < tx.W.St.Tails[c].Seg && folder == tx.W.St.Folder {
			v := &snapshot.Snapshot{Dir: tx.W.Wt.Dir, Sealed: func() map[string]string { return snapshot.Seals(tx.W.T) }}
			v.Last[c] = make([]layout.Segment, tx.W.St.Tails[c].Seg)
			if err := v.CheckSealed(layout.Phase{Seq: tx.W.St.Seq, Folder: folder}, name, data); err != nil {
				return err
			}
		}
	}
	if e, ok := layout.FindEntry(*entries, name); ok && e.Hash == gitstore.HashObject(gitstore.KindBlob, data) {
		return nil
	}
	tx.setFile(entries, folder, name, tx.Put(gitstore.KindBlob, data), int64(len(data)))
	return nil
}

func (tx *Tx) setFile(entries *[]gitstore.TreeEntry, folder, name string, h gitstore.Hash, size int64) {
	layout.SetEntry(entries, gitstore.TreeEntry{Name: name, Mode: gitstore.ModeFile, Hash: h})
	path := layout.AnchorsDir + "/" + folder + "/" + name
	tx.changes[path] = gitindex.Change{Path: path, Hash: h, Mode: gitstore.ModeFile, Size: size}
}
