package index

import (
	"errors"
	"os"

	"tape/index/internal/fts5"
)

// wordWriter puts the words of one tape into the index.
//
// Words come in as many parts as memory requires. In an index that is being built they
// wait in a file of their own until all are there, and are then written as one part: a
// part that is joined with others leaves a hole, and a new index should have none.
type wordWriter struct {
	x   *fts5.Index
	dir string // for that file; "": each part goes into the index at once

	held  *fts5.Builder // the first part, which is mostly all there is
	side  *db
	parts *fts5.Index // in side
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
	if w.side, err = openDB(f.Name(), writing, buildPragmas()...); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	w.side.path = f.Name()
	if _, err = w.side.conn.ExecContext(w.side.in, wordsTable); err != nil {
		return err
	}
	if _, err = w.side.conn.ExecContext(w.side.in, "BEGIN"); err != nil {
		return err
	}
	w.parts, err = fts5.Open(pages{w.side})
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
	return errors.Join(err, w.side.close(), os.Remove(w.side.path))
}
