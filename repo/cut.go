package repo

import (
	"bytes"
	"slices"
	"sort"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
)

// cut makes the tree of a commit as it was when an entry was the last one, and returns the
// phase that was open then.
func (v *snapshot) cut(id int64, put func(gitstore.Kind, []byte) gitstore.Hash) (gitstore.Hash, phase, error) {
	open, err := phaseOf(v, id)
	if err != nil {
		return gitstore.ZeroHash, phase{}, err
	}
	p := v.list[open]
	files, err := v.segments(p)
	if err != nil {
		return gitstore.ZeroHash, p, err
	}
	entries, err := v.tree(p)
	if err != nil {
		return gitstore.ZeroHash, p, err
	}
	anchor, _ := findEntry(entries, anchorFile)
	kept := []gitstore.TreeEntry{anchor}
	for _, list := range files {
		if kept, err = v.cutFiles(kept, p, list, id, put); err != nil {
			return gitstore.ZeroHash, p, err
		}
	}
	var anchors []gitstore.TreeEntry
	for _, before := range v.list[:open] {
		anchors = append(anchors, gitstore.TreeEntry{Name: before.folder, Mode: gitstore.ModeDir, Hash: before.tree})
	}
	tree := func(entries []gitstore.TreeEntry) gitstore.Hash {
		return put(gitstore.KindTree, gitstore.EncodeTree(entries))
	}
	anchors = append(anchors, gitstore.TreeEntry{Name: p.folder, Mode: gitstore.ModeDir, Hash: tree(kept)})
	root := slices.Clone(v.root)
	setEntry(&root, gitstore.TreeEntry{Name: anchorsDir, Mode: gitstore.ModeDir, Hash: tree(anchors)})
	return tree(root), p, nil
}

// cutFiles keeps what the files of a class have up to an entry.
func (v *snapshot) cutFiles(kept []gitstore.TreeEntry, p phase, files []segment, id int64, put func(gitstore.Kind, []byte) gitstore.Hash) ([]gitstore.TreeEntry, error) {
	var failed error
	n := sort.Search(len(files), func(i int) bool {
		first, err := firstID(v, p, files[i])
		if err != nil {
			failed = err
		}
		return first > id
	})
	if failed != nil || n == 0 {
		return kept, failed
	}
	for _, f := range files[:n-1] {
		kept = append(kept, gitstore.TreeEntry{Name: f.name(), Mode: gitstore.ModeFile, Hash: f.hash})
	}
	last := files[n-1]
	data, err := v.content(p, last)
	if err != nil {
		return kept, err
	}
	end := 0
	for line := range bytes.Lines(data) {
		if at, err := jsonl.ParseID(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return kept, &CorruptError{File: v.where(p, last.name()), Msg: err.Error()}
		} else if at > id {
			break
		}
		end += len(line)
	}
	h := last.hash
	if end < len(data) {
		h = put(gitstore.KindBlob, bytes.Clone(data[:end]))
	}
	return append(kept, gitstore.TreeEntry{Name: last.name(), Mode: gitstore.ModeFile, Hash: h}), nil
}
