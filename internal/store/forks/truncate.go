package forks

import (
	"bytes"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/text/jsonl"
)

// truncate builds a commit's tree as it was at an entry, and returns the phase that was open then. It
// keeps all artifacts of that phase: artifacts of later entries do no harm.
func truncate(v *snapshot.Snapshot, id int64, put func(gitstore.Kind, []byte) gitstore.Hash) (*resolve.Builder, layout.Phase, error) {
	open, err := snapshot.PhaseOf(v, id)
	if err != nil {
		return nil, layout.Phase{}, err
	}
	p := v.List[open]
	files, err := v.Segments(p)
	if err != nil {
		return nil, p, err
	}
	entries, err := v.Tree(p)
	if err != nil {
		return nil, p, err
	}
	anchor, _ := layout.FindEntry(entries, layout.AnchorFile)
	kept := []gitstore.TreeEntry{anchor}
	for _, list := range files {
		if kept, err = truncateFiles(v, kept, p, list, id, put); err != nil {
			return nil, p, err
		}
	}
	b := &resolve.Builder{Put: put, Folder: p.Folder, Phase: kept}
	if err := b.StartFrom(v); err != nil {
		return nil, p, err
	}
	b.Artifacts, err = v.CommittedArtifacts(p)
	b.RootTree, b.Anchors = gitstore.ZeroHash, b.Anchors[:open]
	return b, p, err
}

// truncateFiles adds the files of a class to kept, with their entries up to an id.
func truncateFiles(v *snapshot.Snapshot, kept []gitstore.TreeEntry, p layout.Phase, files []layout.Segment, id int64, put func(gitstore.Kind, []byte) gitstore.Hash) ([]gitstore.TreeEntry, error) {
	n, err := snapshot.FilesUpTo(v, p, files, id)
	if err != nil || n == 0 {
		return kept, err
	}
	for _, f := range files[:n-1] {
		kept = append(kept, gitstore.TreeEntry{Name: f.Name(), Mode: gitstore.ModeFile, Hash: f.Hash})
	}
	last := files[n-1]
	data, err := v.Content(p, last)
	if err != nil {
		return kept, err
	}
	end := 0
	for line := range bytes.Lines(data) {
		if at, err := jsonl.ParseID(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return kept, &layout.CorruptError{File: v.Where(p, last.Name()), Msg: err.Error()}
		} else if at > id {
			break
		}
		end += len(line)
	}
	h := last.Hash
	if end < len(data) {
		h = put(gitstore.KindBlob, bytes.Clone(data[:end]))
	}
	return append(kept, gitstore.TreeEntry{Name: last.Name(), Mode: gitstore.ModeFile, Hash: h}), nil
}
