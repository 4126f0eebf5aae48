package repo

import (
	"os"
	"path/filepath"
	"slices"

	"tape/internal/gitstore"
)

// treeBase is the branch's tree, as the commits of a Tx change it.
type treeBase struct {
	root    []gitstore.TreeEntry
	anchors []gitstore.TreeEntry
	phase   []gitstore.TreeEntry // the open phase, as committed; nil if it is not
	parent  gitstore.Hash
}

type plannedCommit struct {
	hash    gitstore.Hash
	subject string
	tags    []gitstore.Ref // of the phases that it opens: full name, and the tag object
}

func (tx *Tx) loadBase() error {
	if tx.base != nil {
		return nil
	}
	v, err := tx.w.t.store.commitView(tx.w.head)
	if err != nil {
		return err
	}
	b := &treeBase{root: slices.Clone(v.root), parent: tx.w.head} // the view is shared
	for _, p := range v.list {
		b.anchors = append(b.anchors, gitstore.TreeEntry{Name: p.folder, Mode: gitstore.ModeDir, Hash: p.tree})
	}
	if last := v.list[len(v.list)-1]; last.folder == tx.w.st.Folder {
		if b.phase, err = v.tree(last); err != nil {
			return err
		}
	}
	tx.base = b
	return tx.addUncommittedPhases(v)
}

// addUncommittedPhases takes in folders that somebody made by hand.
func (tx *Tx) addUncommittedPhases(v *snapshot) error {
	last := v.list[len(v.list)-1]
	if last.seq >= tx.w.st.Seq {
		return nil
	}
	list, err := listPhases(tx.w.wt.Dir)
	if err != nil {
		return err
	}
	committed, err := v.tree(last)
	if err != nil {
		return err
	}
	// The last committed one may have grown before the next was opened.
	if err := tx.setPhase(last.folder, committed); err != nil {
		return err
	}
	for _, p := range list {
		if p.seq <= last.seq || p.seq >= tx.w.st.Seq {
			continue
		}
		if err := tx.setPhase(p.folder, nil); err != nil {
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
	setEntry(&tx.base.anchors, e)
	if folder == tx.w.st.Folder {
		tx.base.phase = entries
	}
	return nil
}

// phaseTree stores what a phase's files hold and the commit does not have yet. Only
// the last committed file of each class, and those behind it, can be new.
func (tx *Tx) phaseTree(folder string, committed []gitstore.TreeEntry) ([]gitstore.TreeEntry, error) {
	entries := slices.Clone(committed)
	if entries == nil {
		line, err := os.ReadFile(filepath.Join(tx.w.anchorsPath(), folder, anchorFile))
		if err != nil {
			return nil, err
		}
		tx.setFile(&entries, folder, anchorFile, tx.put(gitstore.KindBlob, line), int64(len(line)))
	}
	tails := tx.w.st.Tails
	if folder != tx.w.st.Folder {
		files, err := filesIn(filepath.Join(tx.w.anchorsPath(), folder))
		if err != nil {
			return nil, err
		}
		tails = [classCount]tail{}
		for _, f := range files {
			tails[f.class].Seg = max(tails[f.class].Seg, f.n)
		}
	}
	var newest [classCount]int
	for _, e := range committed {
		if c, n, ok := parseSegment(e.Name); ok {
			newest[c] = max(newest[c], n)
		}
	}
	for c := range classCount {
		for n := max(newest[c], 1); n <= tails[c].Seg; n++ {
			if err := tx.addFile(&entries, folder, c, n); err != nil {
				return nil, err
			}
		}
	}
	return entries, nil
}

// addFile stores one file of a phase, from memory where it is there.
func (tx *Tx) addFile(entries *[]gitstore.TreeEntry, folder string, c class, n int) error {
	name := segmentName(c, n)
	path := filepath.Join(tx.w.anchorsPath(), folder, name)
	if h, ok := tx.sealed[name]; ok && folder == tx.w.st.Folder {
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		tx.setFile(entries, folder, name, h, st.Size())
		return nil
	}
	var data []byte
	if file := tx.open[c]; folder == tx.w.st.Folder && file != nil && file.n == n {
		data = slices.Clone(file.data)
	} else {
		var err error
		if data, err = os.ReadFile(path); err != nil {
			return err
		}
		if n < tx.w.st.Tails[c].Seg && folder == tx.w.st.Folder {
			v := &snapshot{dir: tx.w.wt.Dir, sealed: func() map[string]string { return tx.w.t.seals() }}
			v.last[c] = make([]segment, tx.w.st.Tails[c].Seg)
			if err := v.checkSealed(phase{seq: tx.w.st.Seq, folder: folder}, name, data); err != nil {
				return err
			}
		}
	}
	if e, ok := findEntry(*entries, name); ok && e.Hash == gitstore.HashObject(gitstore.KindBlob, data) {
		return nil
	}
	tx.setFile(entries, folder, name, tx.put(gitstore.KindBlob, data), int64(len(data)))
	return nil
}

func (tx *Tx) setFile(entries *[]gitstore.TreeEntry, folder, name string, h gitstore.Hash, size int64) {
	setEntry(entries, gitstore.TreeEntry{Name: name, Mode: gitstore.ModeFile, Hash: h})
	path := anchorsDir + "/" + folder + "/" + name
	tx.changes[path] = gitstore.IndexChange{Path: path, Hash: h, Mode: gitstore.ModeFile, Size: size}
}
