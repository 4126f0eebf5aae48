package query

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/snapshot"
	"tape/internal/workspace"
)

// Reader reads entries back by their positions.
type Reader struct {
	tape   *workspace.Tape
	dir    string // the working tree; "" if there is none
	commit *snapshot.Snapshot
	files  map[string]*os.File
	blobs  map[string][]byte
}

// maxOpen bounds the files, and the contents from git, that a Reader keeps at hand.
const maxOpen = 64

// NewReader returns a reader for entries of the tape.
func NewReader(t *workspace.Tape) (*Reader, error) {
	r := &Reader{tape: t, files: map[string]*os.File{}, blobs: map[string][]byte{}}
	wt, _, err := t.Worktree()
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return nil, layout.Classify(err)
	}
	r.dir = wt.Dir
	return r, nil
}

// Entry reads the entry at a position; anchor and seq are those of its phase. What is
// there may be another entry by now: the tape may have been reset. ErrCorrupt if there
// is no entry.
func (r *Reader) Entry(at layout.Position, anchor string, seq int) (layout.Entry, error) {
	line, err := r.read(at)
	if err != nil {
		return layout.Entry{}, err
	}
	e, err := snapshot.ParseEntry(line, r.tape.Name(), anchor, seq)
	if err != nil {
		return layout.Entry{}, &layout.CorruptError{File: filepath.Join(layout.AnchorsDir, at.Folder, at.File), Line: at.Line + 1, Msg: err.Error()}
	}
	e.At = at
	return e, nil
}

func (r *Reader) read(at layout.Position) ([]byte, error) {
	_, _, isPhase := layout.ParseFolder(at.Folder)
	_, _, isSegment := layout.ParseSegment(at.File)
	if !isPhase || !isSegment && at.File != layout.AnchorFile {
		return nil, &layout.CorruptError{File: at.Folder + "/" + at.File, Msg: "not a file of a phase"}
	}
	name := at.Folder + "/" + at.File
	missing := &layout.CorruptError{File: name, Line: at.Line + 1, Msg: "the line is missing"}
	f, err := r.file(name)
	if errors.Is(err, os.ErrNotExist) {
		data, err := r.blob(at)
		if err != nil {
			return nil, err
		}
		if !within(at, int64(len(data))) {
			return nil, missing
		}
		return bytes.Clone(data[at.Offset:][:at.Length]), nil
	}
	if err != nil {
		return nil, layout.Classify(err)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, layout.Classify(err)
	}
	if !within(at, st.Size()) {
		return nil, missing
	}
	line := make([]byte, at.Length)
	if _, err := f.ReadAt(line, at.Offset); err != nil {
		return nil, missing
	}
	return line, nil
}

// within reports whether a file of a size has the line. Positions come from outside, and
// may say anything.
func within(at layout.Position, size int64) bool {
	return at.Offset >= 0 && at.Length >= 0 && at.Offset <= size && int64(at.Length) <= size-at.Offset
}

func (r *Reader) file(name string) (*os.File, error) {
	if f := r.files[name]; f != nil {
		return f, nil
	}
	if r.dir == "" {
		return nil, os.ErrNotExist
	}
	f, err := os.Open(filepath.Join(r.dir, layout.AnchorsDir, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	if len(r.files) >= maxOpen {
		_ = r.Close()
	}
	r.files[name] = f
	return f, nil
}

// blob returns the committed content of a file.
func (r *Reader) blob(at layout.Position) ([]byte, error) {
	name := at.Folder + "/" + at.File
	if data, ok := r.blobs[name]; ok {
		return data, nil
	}
	if r.commit == nil {
		head, err := r.tape.Head()
		if err != nil {
			return nil, err
		}
		if r.commit, err = snapshot.AtCommit(r.tape.Store(), head); err != nil {
			return nil, err
		}
	}
	seq, _, _ := layout.ParseFolder(at.Folder)
	p, ok := r.commit.Phase(seq, at.Folder)
	if !ok {
		return nil, &layout.CorruptError{File: name, Msg: "the file is missing"}
	}
	s := layout.AnchorSegment
	if at.File != layout.AnchorFile {
		s.Class, s.N, _ = layout.ParseSegment(at.File)
	}
	data, err := r.commit.Blob(p, s)
	if err != nil {
		return nil, err
	}
	if len(r.blobs) >= maxOpen {
		clear(r.blobs)
	}
	r.blobs[name] = data
	return data, nil
}

// Close lets go of the files.
func (r *Reader) Close() error {
	var errs []error
	for _, f := range r.files {
		errs = append(errs, f.Close())
	}
	clear(r.files)
	return errors.Join(errs...)
}
