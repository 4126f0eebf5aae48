package gitobject

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// DB reads objects, loose and in packs. The list of packs and their indexes are read when they are
// first needed. It does not use go-git, whose storage would add a third of a millisecond to every start of the
// program, and which reads indexes as a whole.
type DB struct {
	mu     sync.Mutex
	dirs   []string // object folders: the repository's, then its alternates
	listed bool
	gone   bool // a pack was removed after it was listed
	packs  []*pack
	bases  generations // objects that deltas are based on
}

// NewDB returns the objects of a git folder, its alternates, and the object folders extra.
func NewDB(gitDir string, extra []string) *DB {
	o := &DB{}
	o.add(filepath.Join(gitDir, "objects"), 0)
	for _, dir := range extra {
		o.add(dir, 0)
	}
	return o
}

// add adds an object folder and its alternates, five levels deep as git does.
func (o *DB) add(dir string, depth int) {
	if slices.Contains(o.dirs, dir) {
		return
	}
	o.dirs = append(o.dirs, dir)
	if depth == 5 {
		return
	}
	for _, alternate := range alternates(dir) {
		o.add(alternate, depth+1)
	}
}

// alternates returns the object folders that info/alternates of an object folder names.
func alternates(dir string) (named []string) {
	raw, _ := os.ReadFile(filepath.Join(dir, "info", "alternates")) // usually missing
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(dir, line)
		}
		named = append(named, filepath.Clean(line))
	}
	return named
}

// Get returns an object's kind, its size in bytes and, if wanted, its content. Without content, the kind
// of an object that is stored as a delta is "". An object over [MaxObject] is an error. Errors: ErrNotFound.
func (o *DB) Get(h Hash, content bool) (Kind, int64, []byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	// Open packs first: that needs no access to the disk.
	if kind, size, data, err := o.packed(h, content, true); !errors.Is(err, ErrNotFound) {
		return kind, size, data, err
	}
	for _, dir := range o.dirs {
		name := h.String()
		f, err := os.Open(filepath.Join(dir, name[:2], name[2:]))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", 0, nil, err
		}
		kind, size, data, err := readLooseObject(f, content)
		return kind, size, data, errors.Join(err, f.Close())
	}
	o.list()
	return o.packed(h, content, false)
}

// packed looks for an object in the open packs if isOpen, else in the others, which it opens.
func (o *DB) packed(h Hash, content, isOpen bool) (Kind, int64, []byte, error) {
	for _, p := range o.packs {
		if (p.index != nil) != isOpen {
			continue
		}
		if err := p.open(&o.bases); errors.Is(err, fs.ErrNotExist) {
			o.gone = true
			continue // git has repacked since; see Current
		} else if err != nil {
			return "", 0, nil, err
		}
		offset, err := p.index.offset(h)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return "", 0, nil, fmt.Errorf("%s: %w", p.path, err)
		}
		return p.read(h, offset, content)
	}
	return "", 0, nil, ErrNotFound
}

// looseReader inflates the files of loose objects. Its buffers, larger than most objects, are reused.
type looseReader struct {
	file *bufio.Reader
	z    io.ReadCloser
	in   *bufio.Reader
}

var looseReaders = sync.Pool{New: func() any {
	return &looseReader{file: bufio.NewReaderSize(nil, 32<<10), in: bufio.NewReaderSize(nil, 512)}
}}

// readLooseObject reads "kind size", a zero byte, and the content. It does not check the hash; git fsck does.
func readLooseObject(f *os.File, content bool) (Kind, int64, []byte, error) {
	l := looseReaders.Get().(*looseReader)
	defer looseReaders.Put(l)
	l.file.Reset(f)
	z, err := inflate(l.z, l.file)
	if err != nil {
		return "", 0, nil, err
	}
	l.z = z
	in := l.in
	in.Reset(z)
	const longestHeader = 32
	head, err := in.Peek(longestHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", 0, nil, err
	}
	head, _, found := bytes.Cut(head, []byte{0})
	kind, digits, ok := strings.Cut(string(head), " ")
	size, err := strconv.ParseInt(digits, 10, 64)
	if !found || !ok || err != nil || size < 0 {
		return "", 0, nil, fmt.Errorf("this is not an object: it begins with %.40q", head)
	}
	if size > MaxObject {
		return "", size, nil, errTooLarge(size)
	}
	if !content {
		return Kind(kind), size, nil, nil
	}
	if _, err := in.Discard(len(head) + 1); err != nil {
		return "", size, nil, err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(in, data); err != nil {
		return "", size, nil, err
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return "", size, nil, errLonger(size)
	}
	return Kind(kind), size, data, nil
}

func errTooLarge(size int64) error {
	return fmt.Errorf("it has %d bytes, more than the limit of %d", size, MaxObject)
}

// list lists the packs, once.
func (o *DB) list() {
	if o.listed {
		return
	}
	for _, path := range o.packFiles() {
		o.packs = append(o.packs, &pack{path: path})
	}
	o.listed = true
}

// packFiles returns the paths of the packs that exist now.
func (o *DB) packFiles() (packs []string) {
	for _, dir := range o.dirs {
		found, _ := os.ReadDir(filepath.Join(dir, "pack")) // may be missing
		for _, e := range found {
			if name, ok := strings.CutSuffix(e.Name(), ".idx"); ok && strings.HasPrefix(name, "pack-") {
				packs = append(packs, filepath.Join(dir, "pack", name+".pack"))
			}
		}
	}
	return packs
}

// Current reports whether the packs are still those that were listed. If not, packs were added or
// removed, and an object that was not found may be in a new one.
func (o *DB) Current() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.gone && slices.EqualFunc(o.packs, o.packFiles(), func(p *pack, path string) bool { return p.path == path })
}

// WithPrefix returns the ids of all objects that begin with prefix, in no order. prefix must have at least two
// characters, with hex digits in lower case.
func (o *DB) WithPrefix(prefix string) ([]Hash, error) {
	first, err := hex.DecodeString(prefix[:2])
	if err != nil {
		return nil, nil //nolint:nilerr // no object begins so
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	found := map[Hash]bool{}
	for _, dir := range o.dirs {
		names, _ := os.ReadDir(filepath.Join(dir, prefix[:2])) // may be missing
		for _, e := range names {
			if h, err := ParseHash(prefix[:2] + e.Name()); err == nil && strings.HasPrefix(h.String(), prefix) {
				found[h] = true
			}
		}
	}
	o.list()
	for _, p := range o.packs {
		if err := p.open(&o.bases); errors.Is(err, fs.ErrNotExist) {
			o.gone = true
			continue
		} else if err != nil {
			return nil, err
		}
		names, err := p.index.names(first[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.path, err)
		}
		for _, h := range names {
			if strings.HasPrefix(h.String(), prefix) {
				found[h] = true
			}
		}
	}
	return slices.Collect(maps.Keys(found)), nil
}

// Close closes the packs. A later read opens them again.
func (o *DB) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.packs {
		p.close()
	}
	o.packs, o.listed = nil, false
}
