package snapshot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Snapshot is a tape at one moment: a commit, or the working tree as it was.
type Snapshot struct {
	Git    *gitstore.Repo
	List   []layout.Phase // all phases, in order
	Commit gitstore.Hash  // for a working tree, the branch's commit at that moment
	// RootTree is the commit's tree, and Root its entries.
	RootTree gitstore.Hash
	Root     []gitstore.TreeEntry
	format   int // from the commit's trailer; 0: not given

	// The last trees that were read, because a phase's files are read one after another.
	mu         sync.Mutex
	lastTree   gitstore.Hash
	entries    []gitstore.TreeEntry
	lastFolder gitstore.Hash // the folder of artifacts
	artifacts  []gitstore.TreeEntry

	Dir string // the working tree; "" for a commit
	// Last has the files of the last phase, with the sizes that they had.
	Last [layout.ClassCount][]layout.Segment
	// Under is the commit, if a fork's sparse working tree leaves files in git; otherwise nil.
	Under       *Snapshot
	closedInGit bool // read closed phases from Under

	tape    *workspace.Tape           // whose working tree it is
	head    func() (*Snapshot, error) // the branch's commit, read on first use
	rec     journal.Record            // the last writer's, if it is for the same commit
	recPath string                    // of the file with the journal
	Sealed  func() map[string]string  // see Seals
}

func (v *Snapshot) open(p layout.Phase) bool { return v.Dir != "" && p.Seq == len(v.List) }

// LastPhase returns the last phase: in a working tree, the open one.
func (v *Snapshot) LastPhase() layout.Phase { return v.List[len(v.List)-1] }

// Phase returns the phase with a number and folder.
func (v *Snapshot) Phase(seq int, folder string) (layout.Phase, bool) {
	if seq < 1 || seq > len(v.List) || v.List[seq-1].Folder != folder {
		return layout.Phase{}, false
	}
	return v.List[seq-1], true
}

// Path returns the path of a phase's file in the working tree.
func (v *Snapshot) Path(p layout.Phase, file string) string {
	return filepath.Join(v.Dir, layout.AnchorsDir, p.Folder, file)
}

// Where returns the name of a phase's file for messages.
func (v *Snapshot) Where(p layout.Phase, file string) string {
	if v.Dir != "" {
		return v.Path(p, file)
	}
	return v.file(filepath.ToSlash(filepath.Join(layout.AnchorsDir, p.Folder, file)))
}

func (v *Snapshot) file(path string) string {
	return v.Commit.String()[:12] + ":" + path
}

// Segments returns the files of a phase, each class in order.
func (v *Snapshot) Segments(p layout.Phase) ([layout.ClassCount][]layout.Segment, error) {
	switch {
	case v.Dir == "":
		return v.committed(p)
	case v.open(p):
		return v.Last, nil
	case v.closedInGit:
		return v.Under.committed(p)
	}
	return v.list(p)
}

// AnchorLine returns the content of the phase's anchor.json.
func (v *Snapshot) AnchorLine(p layout.Phase) ([]byte, error) {
	return v.Content(p, layout.AnchorSegment)
}

// Content returns a file's bytes, only the first s.Size unless that is negative. Callers must not change them.
// Errors: ErrCorrupt.
func (v *Snapshot) Content(p layout.Phase, s layout.Segment) ([]byte, error) {
	f, raw, err := v.get(p, s)
	if f != nil {
		raw, err = readInto(f, s, nil)
	}
	if err == nil && int64(len(raw)) < s.Size {
		return nil, &layout.CorruptError{File: v.Where(p, s.Name()), Msg: "the file was cut short while it was read"}
	}
	return raw, err
}

// Read is Content with a buffer, which is used if it is large enough. If the file was cut short meanwhile, it
// returns what is left.
func (v *Snapshot) Read(p layout.Phase, s layout.Segment, buf []byte) ([]byte, error) {
	f, raw, err := v.get(p, s)
	if f != nil {
		return readInto(f, s, buf)
	}
	return append(buf[:0], raw...), err
}

func readInto(f *os.File, s layout.Segment, buf []byte) ([]byte, error) {
	defer f.Close()
	size := s.Size
	if size < 0 {
		st, err := f.Stat()
		if err != nil {
			return nil, err
		}
		size = st.Size()
	}
	if int64(cap(buf)) < size {
		buf = make([]byte, size)
	}
	n, err := io.ReadFull(f, buf[:size])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return buf[:n], err
}

// beginning returns the first n bytes of a file, or more.
func (v *Snapshot) beginning(p layout.Phase, s layout.Segment, n int) ([]byte, error) {
	f, blob, err := v.get(p, s)
	if f == nil {
		return blob, err
	}
	defer f.Close()
	buf := make([]byte, n)
	n, err = f.ReadAt(buf, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:n], err
}

func (v *Snapshot) get(p layout.Phase, s layout.Segment) (f *os.File, blob []byte, err error) {
	if v.Dir == "" || !s.Hash.IsZero() {
		blob, err = v.Blob(p, s)
		return nil, blob, err
	}
	if v.closedInGit && s.Class < 0 {
		blob, err = v.Under.Blob(p, s)
		return nil, blob, err
	}
	if f, err = os.Open(v.Path(p, s.Name())); err == nil {
		return f, nil, nil
	}
	if blob, ok := v.fromCommit(p, s, err); ok {
		return nil, blob, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = &layout.CorruptError{File: v.Path(p, s.Name()), Msg: "the file is missing"}
	}
	return nil, nil, err
}

// Blob returns the content of a file in git.
func (v *Snapshot) Blob(p layout.Phase, s layout.Segment) ([]byte, error) {
	h := s.Hash
	if h.IsZero() {
		entries, err := v.Tree(p)
		if err != nil {
			return nil, err
		}
		e, ok := layout.FindEntry(entries, s.Name())
		if !ok {
			return nil, &layout.CorruptError{File: v.Where(p, s.Name()), Msg: "the file is missing"}
		}
		h = e.Hash
	}
	raw, err := v.Git.Blob(h)
	if err != nil {
		return nil, layout.CorruptObject(v.Commit, err)
	}
	return raw, nil
}

func (v *Snapshot) size(p layout.Phase, s layout.Segment) (int64, error) {
	switch {
	case s.Size >= 0:
		return s.Size, nil
	case !s.Hash.IsZero():
		size, err := v.Git.BlobSize(s.Hash)
		if err != nil {
			err = layout.CorruptObject(v.Commit, err)
		}
		return size, err
	case v.Dir == "":
		raw, err := v.Blob(p, s)
		return int64(len(raw)), err
	}
	size, err := SizeOf(v.Path(p, s.Name()))
	if raw, ok := v.fromCommit(p, s, err); ok {
		return int64(len(raw)), nil
	}
	return size, err
}

// TotalSize returns the size of all entry files, on disk and in git.
func (v *Snapshot) TotalSize() (int64, error) {
	var total int64
	for _, p := range v.List {
		files, err := v.Segments(p)
		if err != nil {
			return 0, err
		}
		for _, s := range append(slices.Concat(files[:]...), layout.AnchorSegment) {
			size, err := v.size(p, s)
			if err != nil {
				return 0, err
			}
			total += size
		}
	}
	return total, nil
}

// CheckPhases refuses a tape whose phases are not numbered from 1 without gaps.
func (v *Snapshot) CheckPhases() error {
	if len(v.List) == 0 {
		none := &layout.CorruptError{File: v.Where(layout.Phase{}, ""), Msg: "the tape has no phase"}
		if _, err := os.Stat(filepath.Join(v.Git.GitDir(), "info", "sparse-checkout")); err == nil && v.Dir != "" {
			none.Msg, none.Fix = "git has not checked out the phases of the tape", "git -C "+layout.ShellWord(v.Dir)+" sparse-checkout disable"
		}
		return none
	}
	for i, p := range v.List {
		if p.Seq != i+1 {
			return &layout.CorruptError{File: v.Where(p, ""), Msg: fmt.Sprintf("phase %03d is missing", i+1)}
		}
	}
	return nil
}
