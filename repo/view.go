package repo

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"tape/internal/gitstore"
)

// phase is one folder under anchors/.
type phase struct {
	seq    int
	folder string
	tree   gitstore.Hash // in a commit; zero in a working tree
}

// segment is one file of a phase.
type segment struct {
	class class
	n     int   // 1, 2, 3 …
	size  int64 // bytes that belong to the snapshot; -1: all there are
	hash  gitstore.Hash
}

// anchorSegment is the file of a phase that belongs to no class.
var anchorSegment = segment{class: -1, size: -1}

func (s segment) name() string {
	if s.class < 0 {
		return anchorFile
	}
	return segmentName(s.class, s.n)
}

// snapshot is a tape at one moment: a commit, or the working tree as it was then.
type snapshot struct {
	git    *gitstore.Repo
	list   []phase
	commit gitstore.Hash // of a working tree: the branch's when it was looked at
	// rootTree names the commit's tree, root is what it has.
	rootTree gitstore.Hash
	root     []gitstore.TreeEntry

	// The tree that was read last: a phase's files are looked at one after another.
	mu       sync.Mutex
	lastTree gitstore.Hash
	entries  []gitstore.TreeEntry

	dir string // the working tree; "" if this is a commit
	// last holds the files of the last phase, with the sizes they had.
	last [classCount][]segment
	// under is what a sparse working tree, a fork's, has left in git; else nil.
	under       *snapshot
	closedInGit bool // of closed phases, what is in git counts

	head     func() (*snapshot, error) // the branch's commit, read when needed
	note     state                     // the last writer's, if it is of the same commit
	notePath string
	sealed   func() map[string]string // what files were sealed as, see seals
}

// open reports whether the phase may still be growing.
func (v *snapshot) open(p phase) bool { return v.dir != "" && p.seq == len(v.list) }

func (v *snapshot) lastPhase() phase { return v.list[len(v.list)-1] }

// phase finds a phase by its number and folder.
func (v *snapshot) phase(seq int, folder string) (phase, bool) {
	if seq < 1 || seq > len(v.list) || v.list[seq-1].folder != folder {
		return phase{}, false
	}
	return v.list[seq-1], true
}

func (v *snapshot) path(p phase, file string) string {
	return filepath.Join(v.dir, anchorsDir, p.folder, file)
}

// where names a file of a phase in messages.
func (v *snapshot) where(p phase, file string) string {
	if v.dir != "" {
		return v.path(p, file)
	}
	return v.file(filepath.ToSlash(filepath.Join(anchorsDir, p.folder, file)))
}

// file names a file of the commit in messages.
func (v *snapshot) file(path string) string {
	return v.commit.String()[:12] + ":" + path
}

// restoreHint says how to get the files of a phase back; nothing does for a commit.
func (v *snapshot) restoreHint(p phase) string {
	if v.dir == "" {
		return ""
	}
	return "bring back what was committed with: git -C " + shellWord(v.dir) + " restore -- " + shellWord(anchorsDir+"/"+p.folder)
}

// segments returns the files of a phase, each class in order.
func (v *snapshot) segments(p phase) ([classCount][]segment, error) {
	switch {
	case v.dir == "":
		return v.committed(p)
	case v.open(p):
		return v.last, nil
	case v.closedInGit:
		return v.under.committed(p)
	}
	return v.named(p)
}

// anchorLine returns the content of the phase's anchor.json.
func (v *snapshot) anchorLine(p phase) ([]byte, error) { return v.content(p, anchorSegment) }

// content returns a file's bytes. They may be shared.
func (v *snapshot) content(p phase, s segment) ([]byte, error) {
	f, raw, err := v.get(p, s)
	if f != nil {
		raw, err = readInto(f, s, nil)
	}
	if err == nil && int64(len(raw)) < s.size {
		return nil, &CorruptError{File: v.where(p, s.name()), Msg: "the file was cut short while it was read"}
	}
	return raw, err
}

// read is content for a buffer, which is used if it is large enough. A file that was cut
// short meanwhile gives what there is.
func (v *snapshot) read(p phase, s segment, buf []byte) ([]byte, error) {
	f, raw, err := v.get(p, s)
	if f != nil {
		return readInto(f, s, buf)
	}
	return append(buf[:0], raw...), err
}

// readInto reads a file and closes it.
func readInto(f *os.File, s segment, buf []byte) ([]byte, error) {
	defer f.Close()
	size := s.size
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

// beginning returns the first bytes of a file, n or a little more if it has them.
func (v *snapshot) beginning(p phase, s segment, n int) ([]byte, error) {
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

// get opens a file of the working tree, or returns the content of one that is in git.
func (v *snapshot) get(p phase, s segment) (f *os.File, blob []byte, err error) {
	if v.dir == "" || !s.hash.IsZero() {
		blob, err = v.blob(p, s)
		return nil, blob, err
	}
	if v.closedInGit && s.class < 0 {
		blob, err = v.under.blob(p, s)
		return nil, blob, err
	}
	if f, err = os.Open(v.path(p, s.name())); err == nil {
		return f, nil, nil
	}
	if blob, ok := v.fromCommit(p, s, err); ok {
		return nil, blob, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = &CorruptError{File: v.path(p, s.name()), Msg: "the file is missing", Fix: v.restoreHint(p)}
	}
	return nil, nil, err
}

// blob returns the content of a file that is in git.
func (v *snapshot) blob(p phase, s segment) ([]byte, error) {
	h := s.hash
	if h.IsZero() {
		entries, err := v.tree(p)
		if err != nil {
			return nil, err
		}
		e, ok := findEntry(entries, s.name())
		if !ok {
			return nil, &CorruptError{File: v.where(p, s.name()), Msg: "the file is missing"}
		}
		h = e.Hash
	}
	raw, err := v.git.Blob(h)
	if err != nil {
		return nil, corruptObject(v.commit, err)
	}
	return raw, nil
}

// size is how many bytes a file has.
func (v *snapshot) size(p phase, s segment) (int64, error) {
	switch {
	case s.size >= 0:
		return s.size, nil
	case !s.hash.IsZero():
		size, err := v.git.BlobSize(s.hash)
		if err != nil {
			err = corruptObject(v.commit, err)
		}
		return size, err
	case v.dir == "":
		raw, err := v.blob(p, s)
		return int64(len(raw)), err
	}
	size, err := sizeOf(v.path(p, s.name()))
	if raw, ok := v.fromCommit(p, s, err); ok {
		return int64(len(raw)), nil
	}
	return size, err
}

// totalSize is the size of all entry files, wherever they are.
func (v *snapshot) totalSize() (int64, error) {
	var total int64
	for _, p := range v.list {
		files, err := v.segments(p)
		if err != nil {
			return 0, err
		}
		for _, s := range append(slices.Concat(files[:]...), anchorSegment) {
			size, err := v.size(p, s)
			if err != nil {
				return 0, err
			}
			total += size
		}
	}
	return total, nil
}

func (v *snapshot) checkPhases() error {
	if len(v.list) == 0 {
		return &CorruptError{File: v.where(phase{}, ""), Msg: "the tape has no phase"}
	}
	for i, p := range v.list {
		if p.seq != i+1 {
			return &CorruptError{File: v.where(p, ""), Msg: fmt.Sprintf("phase %03d is missing", i+1),
				Fix: "bring back what was committed with: git restore -- " + anchorsDir}
		}
	}
	return nil
}

func sortPhases(ps []phase) {
	slices.SortFunc(ps, func(a, b phase) int { return cmp.Compare(a.seq, b.seq) })
}

// groupSegments sorts the files of a phase by class and number, and refuses gaps.
func groupSegments(found []segment, where string) ([classCount][]segment, error) {
	var out [classCount][]segment
	slices.SortFunc(found, func(a, b segment) int { return cmp.Compare(a.n, b.n) })
	for _, s := range found {
		out[s.class] = append(out[s.class], s)
		if len(out[s.class]) != s.n {
			return out, &CorruptError{File: where, Msg: fmt.Sprintf("%s is missing", segmentName(s.class, len(out[s.class])))}
		}
	}
	return out, nil
}
