package query

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Reader reads entries back by their positions.
type Reader struct {
	tape   *workspace.Tape
	dir    string // the working tree; "" to read everything from the commit
	commit *snapshot.Snapshot
	open   map[string]content
}

// content is the content of a file on disk, or of a blob in git.
type content struct {
	size int64
	file *os.File // nil if it is in git
	blob []byte
}

// maxOpen limits the files and blobs that a Reader keeps open.
const maxOpen = 64

// NewReader returns a reader for entries of the tape.
func NewReader(ctx context.Context, t *workspace.Tape) (*Reader, error) {
	head, err := t.Head()
	if err != nil {
		return nil, err
	}
	rec, err := journal.PeekOf(t)
	if err != nil {
		return nil, err
	}
	wt, found, now, err := snapshot.Now(t, rec, head)
	if err != nil {
		return nil, layout.Classify(err)
	}
	r := &Reader{tape: t, open: map[string]content{}}
	switch {
	case now.Content == journal.InCommit:
	case found.Tree == journal.Merging: // Take finds out which of the files count
		v, err := snapshot.Take(ctx, t)
		if err != nil {
			return nil, err
		}
		r.dir = v.Dir
	default:
		r.dir = wt.Dir
	}
	return r, nil
}

// ReaderAt returns a reader for entries that are in a commit of the tape.
func ReaderAt(t *workspace.Tape, commit gitstore.Hash) (*Reader, error) {
	v, err := snapshot.AtCommit(t.Store(), commit)
	return &Reader{tape: t, commit: v, open: map[string]content{}}, err
}

// Attach reads the text of the artifacts that an entry refers to.
func (r *Reader) Attach(e layout.Entry) layout.Entry {
	if !bytes.Contains(e.Payload, []byte(layout.ArtifactKey)) || r.head() != nil {
		return e
	}
	v := r.commit
	if r.dir != "" {
		v = v.InTree(r.dir)
	}
	e.Attached = v.AttachedText(e)
	return e
}

// head opens the tape's last commit, unless the reader has a commit.
func (r *Reader) head() error {
	if r.commit != nil {
		return nil
	}
	head, err := r.tape.Head()
	if err == nil {
		r.commit, err = snapshot.AtCommit(r.tape.Store(), head)
	}
	return err
}

// Entry reads the entry at a position. anchor and seq are the name and number of its phase. After a
// reset, another entry may be there. ErrCorrupt if there is none.
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
	c, err := r.content(at)
	if err != nil {
		return nil, err
	}
	missing := &layout.CorruptError{File: at.Folder + "/" + at.File, Line: at.Line + 1, Msg: "the line is missing"}
	// Positions come from outside and may be anything.
	if at.Offset < 0 || at.Length < 0 || at.Offset > c.size || int64(at.Length) > c.size-at.Offset {
		return nil, missing
	}
	if c.file == nil {
		line := slices.Clip(c.blob[at.Offset:][:at.Length])
		if len(line) < len(c.blob)/4 { // whoever keeps a line must not keep all of its file
			line = bytes.Clone(line)
		}
		return line, nil
	}
	line := make([]byte, at.Length)
	if n, _ := c.file.ReadAt(line, at.Offset); n < len(line) {
		return nil, missing
	}
	return line, nil
}

// content returns the file of a position, from the working tree or the commit.
func (r *Reader) content(at layout.Position) (c content, err error) {
	seq, _, isPhase := layout.ParseFolder(at.Folder)
	s := layout.AnchorSegment
	if at.File != layout.AnchorFile {
		var isSegment bool
		s.Class, s.N, isSegment = layout.ParseSegment(at.File)
		isPhase = isPhase && isSegment
	}
	name := at.Folder + "/" + at.File
	if !isPhase {
		return c, &layout.CorruptError{File: name, Msg: "not a file of a phase"}
	}
	c, ok := r.open[name]
	if ok {
		return c, nil
	}
	err = os.ErrNotExist
	if r.dir != "" {
		c, err = onDisk(filepath.Join(r.dir, layout.AnchorsDir, at.Folder, at.File))
	}
	if errors.Is(err, os.ErrNotExist) {
		c, err = r.committed(layout.Phase{Seq: seq, Folder: at.Folder}, s)
	}
	if err != nil {
		return c, layout.Classify(err)
	}
	if len(r.open) >= maxOpen {
		_ = r.Close()
	}
	r.open[name] = c
	return c, nil
}

func onDisk(path string) (content, error) {
	f, err := os.Open(path)
	if err != nil {
		return content{}, err
	}
	st, err := f.Stat()
	if err != nil {
		return content{}, errors.Join(err, f.Close())
	}
	return content{size: st.Size(), file: f}, nil
}

// committed returns a file as it is in the reader's commit.
func (r *Reader) committed(p layout.Phase, s layout.Segment) (content, error) {
	if err := r.head(); err != nil {
		return content{}, err
	}
	found, ok := r.commit.Phase(p.Seq, p.Folder)
	if !ok {
		return content{}, &layout.CorruptError{File: p.Folder + "/" + s.Name(), Msg: "the file is missing"}
	}
	data, err := r.commit.Blob(found, s)
	return content{size: int64(len(data)), blob: data}, err
}

// Close closes the files. The reader can still be used.
func (r *Reader) Close() error {
	var errs []error
	for _, c := range r.open {
		if c.file != nil {
			errs = append(errs, c.file.Close())
		}
	}
	clear(r.open)
	return errors.Join(errs...)
}
