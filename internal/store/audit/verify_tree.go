package audit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/repair"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// content reads every entry of a working tree from a phase on. committed is the id of the last committed
// entry.
func (v *verifier) content(ctx context.Context, tape string, snap *snapshot.Snapshot, from int, committed int64) error {
	for i := from; i < len(snap.List); i++ {
		p := snap.List[i]
		v.report.Checked.Files++
		v.sealed(tape, snap, p)
		v.artifactsOnDisk(tape, snap, p)
		artifacts, err := snap.Artifacts(p)
		v.problem(tape, err)
		w := &snapshot.Walk{V: snap, Tape: tape, First: i, Last: i}
		err = w.Read(ctx, func(e layout.Entry) bool {
			if want := layout.FolderName(p.Seq, e.Anchor); e.Kind == layout.KindAnchor && p.Folder != want {
				v.problem(tape, violation(snap.Where(p, ""), "the folder of the anchor %q must be %s", e.Anchor, want))
			}
			if e.ID > committed && repair.IsEvent(e.Kind, e.Payload) {
				v.repaired(tape, snap.Where(p, ""), e.ID)
			}
			for _, ref := range referencesOf(e.ID, e.Kind, e.Payload, e.Meta) {
				if !slices.Contains(artifacts, ref.name) {
					v.problem(tape, missingArtifact(snap.Where(p, ""), ref))
				}
			}
			return true
		})
		if ctxErr := ctx.Err(); ctxErr != nil {
			return ctxErr
		}
		v.problem(tape, err)
	}
	return nil
}

// sealed checks that each file of a class was full before the next one was begun. Files that cannot be
// read are reported by content.
func (v *verifier) sealed(tape string, snap *snapshot.Snapshot, p layout.Phase) {
	segments, _ := snap.Segments(p)
	for _, files := range segments {
		before := 0 // size of the previous file
		for _, f := range files {
			v.report.Checked.Files++
			data, err := snap.Content(p, f)
			if err != nil {
				break
			}
			if f.N > 1 && before < layout.SealSize {
				v.problem(tape, violation(snap.Where(p, f.Name()), "the file before it has only %d bytes, so it was not full", before))
			}
			if before = len(data); isOverfull(data) {
				v.problem(tape, violation(snap.Where(p, f.Name()), overfull, layout.SealSize))
			}
		}
	}
}

// workingTree checks that the files on disk continue the commit byte for byte.
func (v *verifier) workingTree(ctx context.Context, t *workspace.Tape, committed *snapshot.Snapshot) error {
	onDisk, err := snapshot.Take(ctx, t)
	if err != nil {
		v.problem(t.Name(), err)
		return ctx.Err()
	}
	if onDisk.Dir == "" {
		return nil
	}
	if wt, _, err := t.Worktree(); err == nil && t.Merging(wt) {
		found := len(v.report.Problems)
		defer func() { // git has changed the files
			for i := range v.report.Problems[found:] {
				p := &v.report.Problems[found+i]
				p.Fix = cmp.Or(p.Fix, "git is in the middle of a merge there: tape merge --continue finishes it, tape merge --abort undoes it")
			}
		}()
	}
	for i, p := range committed.List {
		if i >= len(onDisk.List) || onDisk.List[i].Folder != p.Folder {
			v.problem(t.Name(), violation(onDisk.Where(p, ""), "a committed phase is missing"))
			continue
		}
		entries, err := committed.Tree(p)
		v.problem(t.Name(), err)
		v.sameArtifacts(t.Name(), onDisk, committed, p)
		if i < len(committed.List)-1 { // content checks the open phase
			v.artifactsOnDisk(t.Name(), onDisk, p)
			v.checkClosed(t.Name(), onDisk, p, entries)
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			if isArtifactsDir(e) {
				continue
			}
			err := sameFile(onDisk, committed, p, e)
			v.problem(t.Name(), err)
		}
	}
	v.problem(t.Name(), sameRootFile(onDisk, committed, layout.ReadmeFile))
	v.problem(t.Name(), sameRootFile(onDisk, committed, layout.AttributesFile))
	// In the open phase, the files on disk may contain more than the commit.
	was, err1 := committed.LastID()
	last, err2 := onDisk.LastID()
	if err1 == nil && err2 == nil {
		v.report.Checked.Entries += max(0, last-was)
	}
	return v.content(ctx, t.Name(), onDisk, len(committed.List)-1, was)
}

// checkClosed reports files of entries that were added to a closed phase.
func (v *verifier) checkClosed(tape string, onDisk *snapshot.Snapshot, p layout.Phase, entries []gitstore.TreeEntry) {
	found, _ := snapshot.FilesIn(onDisk.Path(p, ""))
	for _, f := range found {
		if _, ok := layout.FindEntry(entries, f.Name()); !ok {
			v.problem(tape, violation(onDisk.Path(p, f.Name()), "the phase is closed, but there is a new file"))
		}
	}
}

// sameRootFile compares README.md or .gitattributes on disk with the committed one, if any.
func sameRootFile(onDisk, committed *snapshot.Snapshot, name string) error {
	e, ok := layout.FindEntry(committed.Root, name)
	if !ok {
		return nil
	}
	path := filepath.Join(onDisk.Dir, name)
	data, err := os.ReadFile(path)
	if onDisk.Under != nil && errors.Is(err, fs.ErrNotExist) || err == nil && gitstore.HashObject(gitstore.KindBlob, data) == e.Hash {
		return nil
	}
	return &layout.CorruptError{File: path, Msg: "the file is missing, or differs from the committed one"}
}

// sameFile compares a file with its committed version. In the open phase, it may have grown.
func sameFile(onDisk, committed *snapshot.Snapshot, p layout.Phase, e gitstore.TreeEntry) error {
	path := onDisk.Path(p, e.Name)
	data, err := os.ReadFile(path)
	switch {
	case onDisk.Under != nil && errors.Is(err, fs.ErrNotExist):
		return nil // it is only in git
	case err != nil:
		return violation(path, "the file cannot be read: %v", err)
	case gitstore.HashObject(gitstore.KindBlob, data) == e.Hash:
		return nil
	}
	blob, err := committed.Git.Blob(e.Hash)
	switch {
	case err != nil:
		return layout.CorruptObject(committed.Commit, err)
	case !bytes.HasPrefix(data, blob):
		return &layout.CorruptError{File: path, Line: layout.FirstDifference(data, blob), Msg: "the line differs from the committed one"}
	case p.Seq < len(committed.List) || e.Name == layout.AnchorFile:
		return &layout.CorruptError{File: path, Line: bytes.Count(blob, []byte("\n")) + 1, Msg: "the phase is closed, but the file has grown"}
	}
	return nil
}
