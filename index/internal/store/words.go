package store

import (
	"errors"
	"os"

	"tape/index/internal/fts5"
)

// wordWriter writes words to the index.
//
// Words come in as many segments as memory requires. In a build they are collected in a file of their own, and
// then written as one segment: merging segments in the index would leave holes in its file.
type wordWriter struct {
	x   *fts5.Index
	dir string // folder for the file; "" to write each segment to the index at once

	held  *fts5.Builder // the first segment, which usually is the only one
	path  string        // of the file
	side  *DB           // the database in the file
	parts *fts5.Index   // the words in side
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

// close writes what is left to the index if ok is true, and removes the file.
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
