package repo

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"

	"tape/internal/gitstore"
)

// content reads every entry of a working tree, from the phase of an index on.
func (v *verifier) content(ctx context.Context, tape string, look *snapshot, from int) error {
	list := look.list
	for i := from; i < len(list); i++ {
		v.report.Checked.Files++
		w := &walk{v: look, tape: tape, first: i, last: i, loaded: v.sealing(tape, look, list[i])}
		err := w.read(ctx, func(e Entry) bool {
			if want := folderName(list[i].seq, e.Anchor); e.Kind == KindAnchor && list[i].folder != want {
				v.problemf(tape, look.where(list[i], ""), "the folder of the anchor %q must be %s", e.Anchor, want)
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
func (v *verifier) sealing(tape string, look *snapshot, p phase) func(segment, []byte) {
	var before [classCount]int // size of the file before
	return func(f segment, data []byte) {
		v.report.Checked.Files++
		if was := before[f.class]; f.n > 1 && was < SealSize {
			v.problemf(tape, look.where(p, f.name()), "the file before it has only %d bytes, so it was not full", was)
		}
		before[f.class] = len(data)
		if last := lastLine(data); len(data)-len(last)-1 >= SealSize {
			v.problemf(tape, look.where(p, f.name()), "the file was written to after it was sealed at %d bytes", SealSize)
		}
	}
}

// workingTree checks that the files on disk continue the commit, byte for byte.
func (v *verifier) workingTree(ctx context.Context, t *Tape, committed *snapshot) error {
	look, err := t.snapshot(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		v.problem(t.name, err)
		return nil
	}
	onDisk := look
	if onDisk.dir == "" {
		return nil
	}
	for i, p := range committed.list {
		if i >= len(onDisk.list) || onDisk.list[i].folder != p.folder {
			v.problem(t.name, &CorruptError{File: onDisk.where(p, ""), Msg: "a committed phase is missing"})
			continue
		}
		if err := v.samePhase(ctx, t.name, onDisk, committed, p, i == len(committed.list)-1); err != nil {
			return err
		}
	}
	// Of the phases that are committed, the open one may have more on disk.
	was, err1 := committed.lastID()
	last, err2 := lastID(onDisk, onDisk.list[len(onDisk.list)-1])
	if err1 == nil && err2 == nil {
		v.report.Checked.Entries += max(0, last-was)
	}
	return v.content(ctx, t.name, onDisk, len(committed.list)-1)
}

func (v *verifier) samePhase(ctx context.Context, tape string, onDisk *snapshot, committed *snapshot, p phase, open bool) error {
	entries, err := committed.tree(p)
	if err != nil {
		v.problem(tape, err)
		return nil
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := os.ReadFile(onDisk.path(p, e.Name))
		if onDisk.under != nil && errors.Is(err, fs.ErrNotExist) {
			continue // left in git
		}
		if err != nil {
			v.problem(tape, &CorruptError{File: onDisk.path(p, e.Name), Msg: "the file cannot be read: " + err.Error()})
			continue
		}
		if gitstore.HashObject(gitstore.KindBlob, data) == e.Hash {
			continue
		}
		blob, err := v.s.git.Blob(e.Hash)
		if err != nil {
			v.problem(tape, corruptObject(committed.commit, err))
			continue
		}
		switch {
		case !bytes.HasPrefix(data, blob):
			v.problem(tape, &CorruptError{File: onDisk.path(p, e.Name), Line: firstDifference(data, blob), Msg: "the line differs from the committed one"})
		case !open || e.Name == anchorFile:
			v.problem(tape, &CorruptError{File: onDisk.path(p, e.Name), Line: bytes.Count(blob, []byte("\n")) + 1, Msg: "the phase is closed, but the file has grown"})
		}
	}
	return nil
}
