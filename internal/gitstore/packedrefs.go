package gitstore

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// packed-refs holds refs that are not files of their own: a header, then lines
// `<id> SP <name>`, each perhaps followed by `^<id>`, what a tag peels to. Git says in
// the header whether the lines are sorted; then a ref is found by bisection. The file
// only ever changes by rename, so an open one is a snapshot.

func (r *Repo) packedPath() string { return filepath.Join(r.gitDir, "packed-refs") }

// packedFile is an open packed-refs.
type packedFile struct {
	f      *os.File
	size   int64
	start  int64 // of the first line after the header
	sorted bool
}

// openPacked opens packed-refs; without one it returns nil.
func (r *Repo) openPacked() (*packedFile, error) {
	f, err := os.Open(r.packedPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := &packedFile{f: f}
	var head [256]byte
	n, err := f.ReadAt(head[:], 0)
	if err == nil || errors.Is(err, io.EOF) {
		var st os.FileInfo
		if st, err = f.Stat(); err == nil {
			p.size = st.Size()
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	if end := bytes.IndexByte(head[:n], '\n'); end >= 0 && head[0] == '#' {
		p.start = int64(end) + 1
		_, traits, _ := strings.Cut(string(head[:end]), "pack-refs with:")
		p.sorted = strings.Contains(traits+" ", " sorted ")
	}
	return p, nil
}

// packedRef looks one ref up.
func (r *Repo) packedRef(name string) (h Hash, err error) {
	p, err := r.openPacked()
	if err != nil || p == nil {
		return h, errors.Join(err, absentIf(p == nil && err == nil))
	}
	defer p.f.Close()
	found := false
	err = p.each(name, func(n string, v Hash) bool {
		if n == name {
			h, found = v, true
		}
		return !found && (!p.sorted || n < name)
	})
	return h, errors.Join(err, absentIf(!found && err == nil))
}

func absentIf(absent bool) error {
	if absent {
		return ErrNotFound
	}
	return nil
}

// packedRefs calls fn for each packed ref under prefix.
func (r *Repo) packedRefs(prefix string, fn func(name string, h Hash)) error {
	p, err := r.openPacked()
	if err != nil || p == nil {
		return err
	}
	defer p.f.Close()
	return p.each(prefix, func(name string, h Hash) bool {
		if strings.HasPrefix(name, prefix) {
			fn(name, h)
			return true
		}
		return !p.sorted || name < prefix
	})
}

// each calls fn, until it returns false, for the refs from key on when the file is
// sorted (and perhaps some before it), else for all of them.
func (p *packedFile) each(key string, fn func(name string, h Hash) bool) error {
	from := p.start
	if p.sorted {
		var err error
		if from, err = p.seek(key); err != nil {
			return err
		}
	}
	in := bufio.NewReaderSize(io.NewSectionReader(p.f, from, p.size-from), seekStop+512)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("%s: a line is too long", p.f.Name())
		}
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if line[0] == '^' || line[0] == '#' {
			continue
		}
		name, h, ok := parsePacked(line)
		if !ok {
			return fmt.Errorf("%s: damaged line %.80q", p.f.Name(), line)
		}
		if !fn(name, h) {
			return nil
		}
	}
}

// seekStop is the size of the stretch at which bisection ends and reading begins.
const seekStop = 4096

// seek returns the start of a line before which every name is less than key.
func (p *packedFile) seek(key string) (int64, error) {
	lo, hi := p.start, p.size
	var window [seekStop]byte
	for hi-lo > seekStop {
		mid := lo + (hi-lo)/2
		n, err := p.f.ReadAt(window[:min(seekStop, hi-mid)], mid)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		at, name := nextPacked(window[:n])
		if at < 0 {
			break // one very long line: reading on from lo is right, only slower
		}
		if name < key {
			lo = mid + int64(at)
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// nextPacked finds the first whole ref line that starts after the first newline.
func nextPacked(window []byte) (at int, name string) {
	for {
		end := bytes.IndexByte(window[at:], '\n')
		if end < 0 {
			return -1, ""
		}
		at += end + 1
		stop := bytes.IndexByte(window[at:], '\n')
		if stop < 0 {
			return -1, ""
		}
		if name, _, ok := parsePacked(window[at : at+stop]); ok {
			return at, name
		}
	}
}

func parsePacked(line []byte) (name string, h Hash, ok bool) {
	line = bytes.TrimRight(line, "\r\n")
	const digits = 2 * len(h)
	if len(line) < digits+2 || line[digits] != ' ' {
		return "", h, false
	}
	h, ok = parseLoose(string(line[:digits]))
	return string(line[digits+1:]), h, ok
}

// removePacked takes one ref out of packed-refs, whose lock is held; everything else
// stays byte for byte. The new content goes through a file of its own, not through the
// lock, which is still needed afterwards.
func (r *Repo) removePacked(name string) error {
	if _, err := r.packedRef(name); err != nil {
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	}
	raw, err := os.ReadFile(r.packedPath())
	if err != nil {
		return err
	}
	out := make([]byte, 0, len(raw))
	dropping := false
	for line := range bytes.Lines(raw) {
		if line[0] != '^' {
			n, _, ok := parsePacked(line)
			dropping = ok && n == name
		}
		if !dropping {
			out = append(out, line...)
		}
	}
	return r.fs.WriteFile(r.packedPath(), out)
}
