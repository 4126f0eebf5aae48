package gitstore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// packed-refs holds refs that have no file of their own: a header, then lines `<id> SP <name>`, each of
// a tag possibly followed by `^<id>`, the commit that it names. If git says in the header that the
// lines are sorted, a ref is found by bisection. The file only ever changes by rename, so an open one
// is a snapshot.

func (r *Repo) packedPath() string { return filepath.Join(r.gitDir, "packed-refs") }

type packedFile struct {
	f      *os.File
	size   int64
	start  int64 // of the first line after the header
	sorted bool
	peeled peeled
}

// packedLine is one ref of packed-refs, and for a tag its peeled line.
type packedLine struct {
	name   string
	h      Hash
	peeled string // a line "^<id>\n", or ""
}

type packedContent struct {
	lines  []packedLine // sorted by name
	peeled peeled
}

// peeled says which tags have peeled lines: those under refs/tags, or all. For others git reads the
// object.
type peeled struct{ tags, all bool }

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
		hasTrait := func(trait string) bool { return strings.Contains(traits+" ", trait) }
		p.sorted, p.peeled = hasTrait(" sorted "), peeled{hasTrait(" peeled "), hasTrait(" fully-peeled ")}
	}
	return p, nil
}

// packedRef returns the value of a ref. A damaged line counts only if the ref is not found: it may have been that one.
func (r *Repo) packedRef(name string) (h Hash, err error) {
	missing := ErrNotFound
	err = r.eachPacked(name, func(_ string, err error) { missing = err }, func(p *packedFile, n string, v Hash, _ []byte) bool {
		if n == name {
			h = v
		}
		return h.IsZero() && (!p.sorted || n < name)
	})
	if err == nil && h.IsZero() {
		err = missing
	}
	return h, err
}

func (r *Repo) packedRefs(prefix string, damaged func(name string, err error), fn func(name string, h Hash)) error {
	return r.eachPacked(prefix, damaged, func(p *packedFile, name string, h Hash, _ []byte) bool {
		if strings.HasPrefix(name, prefix) {
			fn(name, h)
			return true
		}
		return !p.sorted || name < prefix
	})
}

// readPacked reads all of packed-refs. Its lock must be held.
func (r *Repo) readPacked(damaged func(name string, err error)) (packedContent, error) {
	out := packedContent{peeled: peeled{true, true}}
	err := r.eachPacked("", damaged, func(p *packedFile, name string, h Hash, peeled []byte) bool {
		out.peeled = p.peeled
		if peeled == nil {
			out.lines = append(out.lines, packedLine{name: name, h: h})
		} else if n := len(out.lines); n > 0 {
			out.lines[n-1].peeled = string(bytes.TrimRight(peeled, "\r\n")) + "\n"
		}
		return true
	})
	slices.SortStableFunc(out.lines, func(a, b packedLine) int { return strings.Compare(a.name, b.name) })
	return out, err
}

// eachPacked calls fn for each ref until it returns false. If the file is sorted it starts at key, or
// some refs before. The peeled line of a tag follows its ref, with an empty name.
func (r *Repo) eachPacked(key string, damaged func(name string, err error), fn func(p *packedFile, name string, h Hash, peeled []byte) bool) error {
	p, err := r.openPacked()
	if err != nil || p == nil {
		return err
	}
	defer p.f.Close()
	from := p.start
	if p.sorted {
		if from, err = p.seek(key); err != nil {
			return err
		}
	}
	in := bufio.NewReaderSize(io.NewSectionReader(p.f, from, p.size-from), seekStop+512)
	for more := true; more; {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = fmt.Errorf("%w: a line of %s is too long", ErrDamagedRef, p.f.Name())
			if damaged != nil {
				damaged("", err)
				return nil
			}
			return err
		}
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		name, h, ok := parsePacked(line)
		switch {
		case line[0] == '#':
		case line[0] == '^':
			more = fn(p, "", h, line)
		case !ok:
			err := fmt.Errorf("%w: a line of %s is %.80q", ErrDamagedRef, p.f.Name(), line)
			if damaged == nil {
				return err
			}
			damaged("", err)
		default:
			more = fn(p, name, h, nil)
		}
	}
	return nil
}

// CheckPacked returns an error if tape can read packed-refs, and git cannot, or finds only some of the refs.
func (r *Repo) CheckPacked() error {
	raw, err := os.ReadFile(r.packedPath())
	if err != nil {
		return nil //nolint:nilerr // there is none, or whoever reads a ref says so
	}
	bad := func(format string, line []byte) error {
		return fmt.Errorf("%w: %s is not as git writes it: "+format, ErrDamagedRef, r.packedPath(), line)
	}
	header, rest, _ := bytes.Cut(raw, []byte("\n"))
	if !bytes.HasPrefix(header, []byte("# pack-refs with:")) {
		header, rest = nil, raw
	}
	sorted := bytes.Contains(header, []byte(" sorted "))
	before, peels := "", false // the last ref, and whether it is in the line before
	for line := range bytes.Lines(rest) {
		name, _, ok := parsePacked(line)
		switch {
		case !bytes.HasSuffix(line, []byte("\n")):
			return bad("its last line has no end: %.80q", line)
		case bytes.HasSuffix(line, []byte("\r\n")):
			return bad("its lines end as on Windows: %.80q", line)
		case line[0] == '#':
			return bad("the line %.80q is a comment", line)
		case line[0] == '^' && !peels:
			return bad("the line %.80q does not follow a ref", line)
		case ok && CheckRefName(name) != nil:
			return bad("the line %.80q names no ref", line)
		case ok && sorted && name < before:
			return bad("the line %.80q is not in its place", line)
		}
		if peels = ok; ok {
			before = name
		}
	}
	return nil
}

// MendPacked writes packed-refs anew, without its damaged lines, so that git can read it. Before that, keep puts the old file
// aside. It returns how many lines were lost.
func (r *Repo) MendPacked(ctx context.Context, keep func(path string) error) (lost int, err error) {
	err = r.locks.Guarded(ctx, r.refGuard(), func() (err error) {
		l, err := r.locks.Lock(r.packedPath())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.Release()) }()
		lost = 0
		all, err := r.readPacked(func(string, error) { lost++ })
		if err != nil || lost == 0 && r.CheckPacked() == nil {
			return err
		}
		if err := keep(r.packedPath()); err != nil {
			return err
		}
		n := len(all.lines)
		all.lines = slices.DeleteFunc(all.lines, func(l packedLine) bool { return CheckRefName(l.name) != nil })
		lost += n - len(all.lines)
		all.peeled = peeled{} // a peeled line may be that of a ref that was lost; git reads the objects
		for i := range all.lines {
			all.lines[i].peeled = ""
		}
		if err := l.Write(all.encode()); err != nil {
			return err
		}
		return errors.Join(l.Publish(), r.fs.SyncDir(r.gitDir))
	})
	return lost, Wrap(err, "mend packed-refs")
}

// seekStop is the number of bytes at which bisection ends and reading begins.
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
			break // a very long line: reading on from lo is correct, only slower
		}
		if name < key {
			lo = mid + int64(at)
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// nextPacked returns the first complete ref line after the first newline; at is -1 without one.
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

// removePacked removes one ref from packed-refs. Its lock must be held; the new content goes through
// another file, because the lock is still needed afterwards.
func (r *Repo) removePacked(name string) error {
	if _, err := r.packedRef(name); err != nil {
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	}
	all, err := r.readPacked(nil)
	if err != nil {
		return err
	}
	all.lines = slices.DeleteFunc(all.lines, func(l packedLine) bool { return l.name == name })
	return r.fs.WriteFile(r.packedPath(), all.encode())
}

func (c packedContent) encode() []byte {
	out := make([]byte, 0, len(c.lines)*160)
	out = append(out, "# pack-refs with: "...)
	if c.peeled.tags {
		out = append(out, "peeled "...)
	}
	if c.peeled.all {
		out = append(out, "fully-peeled "...)
	}
	out = append(out, "sorted \n"...)
	for _, l := range c.lines {
		out = append(out, l.h.String()...)
		out = append(append(append(out, ' '), l.name...), '\n')
		out = append(out, l.peeled...)
	}
	return out
}
