package store

import (
	"errors"
	"os"

	"tape/index/internal/fts5"
)

// wordWriter puts words into the index.
//
// Words come in as many parts as memory requires. In an index that is being built they
// wait in a file of their own until all are there, and are then written as one part: a
// part that is joined with others leaves a hole, and a new index should have none.
type wordWriter struct {
	x   *fts5.Index
	dir string // for that file; "": each part goes into the index at once

	held  *fts5.Builder // the first part, which is mostly all there is
	path  string        // of that file
	side  *DB           // in it
	parts *fts5.Index   // in side
}

func (w *wordWriter) add(b *fts5.Builder) error {
	switch {
	case w.dir == "":
		return w.x.Write(b)
	case w.held == nil && w.parts == nil:
		w.held = b
		return nil
	}
	if w.parts == nil {
		if err := w.open(); err != nil {
			return err
		}
		if err := w.parts.Write(w.held); err != nil {
			return err
		}
		w.held = nil
	}
	return w.parts.Write(b)
}

func (w *wordWriter) open() error {
	f, err := os.CreateTemp(w.dir, scratchPattern)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	w.path = f.Name()
	if w.side, err = openScratch(w.path); err != nil {
		return errors.Join(err, os.Remove(w.path))
	}
	if err := w.side.Script(wordsTable + "BEGIN"); err != nil {
		return err
	}
	w.parts, err = w.side.Words()
	return err
}

// close writes what waits, if all went well, and removes the file.
func (w *wordWriter) close(ok bool) error {
	var err error
	if ok && w.held != nil {
		err = w.x.Write(w.held)
	}
	if ok && w.parts != nil {
		err = w.x.Take(w.parts)
	}
	w.held = nil
	if w.side == nil {
		return err
	}
	return errors.Join(err, w.side.Close(), os.Remove(w.path))
}
