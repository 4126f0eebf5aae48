package audit

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/snapshot"
	"tape/internal/workspace"
)

// content reads every entry of a working tree, from the phase of an index on.
func (v *verifier) content(ctx context.Context, tape string, look *snapshot.Snapshot, from int) error {
	for i := from; i < len(look.List); i++ {
		p := look.List[i]
		v.report.Checked.Files++
		w := &snapshot.Walk{V: look, Tape: tape, First: i, Last: i, Loaded: v.sealing(tape, look, p)}
		err := w.Read(ctx, func(e layout.Entry) bool {
			if want := layout.FolderName(p.Seq, e.Anchor); e.Kind == layout.KindAnchor && p.Folder != want {
				v.problemf(tape, look.Where(p, ""), "the folder of the anchor %q must be %s", e.Anchor, want)
			}
			return true
		})
		if ctxErr := ctx.Err(); ctxErr != nil {
			return ctxErr
		}
		if err != nil {
			v.problem(tape, err)
		}
	}
	return nil
}

// sealing returns a function that is shown each file of a phase, a class's in order,
// and checks that they follow each other at the sealing size.
func (v *verifier) sealing(tape string, look *snapshot.Snapshot, p layout.Phase) func(layout.Segment, []byte) {
	var before [layout.ClassCount]int // size of the file before
	return func(f layout.Segment, data []byte) {
		v.report.Checked.Files++
		if was := before[f.Class]; f.N > 1 && was < layout.SealSize {
			v.problemf(tape, look.Where(p, f.Name()), "the file before it has only %d bytes, so it was not full", was)
		}
		before[f.Class] = len(data)
		if isOverfull(data) {
			v.problemf(tape, look.Where(p, f.Name()), overfull, layout.SealSize)
		}
	}
}

// workingTree checks that the files on disk continue the commit, byte for byte.
func (v *verifier) workingTree(ctx context.Context, t *workspace.Tape, committed *snapshot.Snapshot) error {
	onDisk, err := snapshot.Take(ctx, t)
	if err != nil {
		v.problem(t.Name(), err)
		return ctx.Err()
	}
	if onDisk.Dir == "" {
		return nil
	}
	for i, p := range committed.List {
		if i >= len(onDisk.List) || onDisk.List[i].Folder != p.Folder {
			v.problem(t.Name(), &layout.CorruptError{File: onDisk.Where(p, ""), Msg: "a committed phase is missing"})
			continue
		}
		if err := v.samePhase(ctx, t.Name(), onDisk, committed, p, i == len(committed.List)-1); err != nil {
			return err
		}
	}
	// Of the phases that are committed, the open one may have more on disk.
	was, err1 := committed.LastID()
	last, err2 := onDisk.LastID()
	if err1 == nil && err2 == nil {
		v.report.Checked.Entries += max(0, last-was)
	}
	return v.content(ctx, t.Name(), onDisk, len(committed.List)-1)
}

func (v *verifier) samePhase(ctx context.Context, tape string, onDisk, committed *snapshot.Snapshot, p layout.Phase, open bool) error {
	entries, err := committed.Tree(p)
	if err != nil {
		v.problem(tape, err)
		return nil
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := os.ReadFile(onDisk.Path(p, e.Name))
		if onDisk.Under != nil && errors.Is(err, fs.ErrNotExist) {
			continue // left in git
		}
		if err != nil {
			v.problem(tape, &layout.CorruptError{File: onDisk.Path(p, e.Name), Msg: "the file cannot be read: " + err.Error()})
			continue
		}
		if gitstore.HashObject(gitstore.KindBlob, data) == e.Hash {
			continue
		}
		blob, err := v.s.Git().Blob(e.Hash)
		if err != nil {
			v.problem(tape, layout.CorruptObject(committed.Commit, err))
			continue
		}
		switch {
		case !bytes.HasPrefix(data, blob):
			v.problem(tape, &layout.CorruptError{File: onDisk.Path(p, e.Name), Line: layout.FirstDifference(data, blob), Msg: "the line differs from the committed one"})
		case !open || e.Name == layout.AnchorFile:
			v.problem(tape, &layout.CorruptError{File: onDisk.Path(p, e.Name), Line: bytes.Count(blob, []byte("\n")) + 1, Msg: "the phase is closed, but the file has grown"})
		}
	}
	return nil
}
