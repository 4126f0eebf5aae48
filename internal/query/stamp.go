package query

import (
	"os"
	"path/filepath"

	"tape/internal/gitstore"
	"tape/internal/journal"
	"tape/internal/layout"
	"tape/internal/workspace"
)

// Stamp tells states of a tape apart for the price of a few looks at the disk: while it stays
// the same, and is known, nothing has been written to the tape.
type Stamp struct {
	head  gitstore.Hash
	note  journal.Record
	files [layout.ClassCount + 2]fileStamp // those that an append changes, and what is around them
}

type fileStamp struct{ size, time int64 }

// StampOf returns the stamp of a tape now, or one that is not known: while a change is under
// way, and where the last writer has left no note of the tape's files.
func StampOf(t *workspace.Tape) (s Stamp, err error) {
	if s.note, err = journal.PeekOf(t); err != nil {
		return Stamp{}, err
	}
	if s.head, err = t.Head(); err != nil {
		return Stamp{}, err
	}
	if s.note.Home == "" || s.note.Undo != nil || s.note.Doubtful || s.note.Head != s.head.String() {
		return Stamp{}, nil
	}
	anchors := filepath.Join(t.Store().Folder(s.note.Home), layout.AnchorsDir)
	phase := filepath.Join(anchors, s.note.Folder)
	paths := []string{anchors, phase}
	for c, tail := range s.note.Tails {
		if tail.Seg > 0 {
			paths = append(paths, filepath.Join(phase, layout.SegmentName(layout.Class(c), tail.Seg)))
		}
	}
	for i, path := range paths {
		st, err := os.Lstat(path)
		if err != nil {
			return Stamp{}, nil //nolint:nilerr // who reads the tape will tell what is wrong
		}
		s.files[i] = fileStamp{st.Size(), st.ModTime().UnixNano()}
	}
	return s, nil
}

// Known reports whether the stamp can be compared.
func (s Stamp) Known() bool { return s.note.LastID > 0 }

// Last is the id of the last entry then; 0 of a stamp that is not known.
func (s Stamp) Last() int64 { return s.note.LastID }
