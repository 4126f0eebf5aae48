package gitindex

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"tape/internal/git/gitstore"
	"time"
)

// The index format is gitformat-index(5): a header of 12 bytes, entries sorted by path
// and stage, extensions, and a SHA-1 over it all. Entries are found by their offsets and
// copied as bytes, never decoded, so that unchanged ones stay as they are.
const (
	indexHeader   = 12
	entryFixed    = 62 // up to the path; two bytes more with extended flags
	entryFlags    = 60
	flagValid     = 0x8000
	flagExtended  = 0x4000
	flagStage     = 0x3000
	flagNameLen   = 0x0fff
	extSkip       = 0x4000
	extIntent     = 0x2000
	trailerLength = sha1.Size
)

type indexFile struct {
	version uint32
	raw     []byte
	at      []uint32  // offsets of the entries, and of what follows the last
	written time.Time // the file's mtime; zero if there is no file
}

type indexStat struct {
	ctimeSec, ctimeNano, mtimeSec, mtimeNano, dev, ino, uid, gid, size uint32
}

func parseIndex(raw []byte) (*indexFile, error) {
	if len(raw) < indexHeader+trailerLength || string(raw[:4]) != "DIRC" {
		return nil, errors.New("it is not a git index")
	}
	body, trailer := raw[:len(raw)-trailerLength], raw[len(raw)-trailerLength:]
	var none [trailerLength]byte // index.skipHash
	if sum := sha1.Sum(body); !bytes.Equal(trailer, sum[:]) && !bytes.Equal(trailer, none[:]) {
		return nil, errors.New("its checksum is wrong")
	}
	x := &indexFile{version: binary.BigEndian.Uint32(raw[4:]), raw: body}
	if x.version != 2 && x.version != 3 {
		return nil, fmt.Errorf("its version is %d, not 2 or 3", x.version)
	}
	n := int(binary.BigEndian.Uint32(raw[8:]))
	if n > len(body)/entryFixed {
		return nil, errors.New("it is cut short")
	}
	x.at = make([]uint32, 1, n+1)
	x.at[0] = indexHeader
	for i := range n {
		end, err := x.entryEnd(int(x.at[i]))
		if err != nil {
			return nil, err
		}
		x.at = append(x.at, uint32(end))
		if i > 0 && x.compare(i-1, i) >= 0 {
			return nil, errors.New("its entries are out of order")
		}
	}
	return x, x.checkExtensions()
}

// entryEnd returns where the entry at off ends, its padding included.
func (x *indexFile) entryEnd(off int) (int, error) {
	short := errors.New("it is cut short")
	if off+entryFixed+2 > len(x.raw) {
		return 0, short
	}
	if x.version < 3 && binary.BigEndian.Uint16(x.raw[off+entryFlags:])&flagExtended != 0 {
		return 0, errors.New("an entry has flags that its version does not know")
	}
	path := off + x.pathOffset(off)
	n := bytes.IndexByte(x.raw[path:], 0)
	flags := int(binary.BigEndian.Uint16(x.raw[off+entryFlags:]) & flagNameLen)
	if n <= 0 || n != flags && (flags != flagNameLen || n < flagNameLen) {
		return 0, errors.New("an entry is damaged")
	}
	end := off + (path-off+n+8)&^7
	if end > len(x.raw) {
		return 0, short
	}
	return end, nil
}

func (x *indexFile) pathOffset(off int) int {
	if x.version >= 3 && binary.BigEndian.Uint16(x.raw[off+entryFlags:])&flagExtended != 0 {
		return entryFixed + 2
	}
	return entryFixed
}

// checkExtensions refuses extensions that a reader must understand. The optional ones, whose
// names begin with a capital, are caches, which a change of the index would make wrong; splice
// drops them.
func (x *indexFile) checkExtensions() error {
	rest := x.raw[x.at[x.len()]:]
	for len(rest) > 0 {
		if len(rest) < 8 {
			return errors.New("it is cut short")
		}
		size := uint64(binary.BigEndian.Uint32(rest[4:]))
		if size > uint64(len(rest)-8) {
			return errors.New("it is cut short")
		}
		if rest[0] < 'A' || rest[0] > 'Z' {
			return fmt.Errorf("it uses the extension %.4q", rest[:4])
		}
		rest = rest[8+size:]
	}
	return nil
}

func (x *indexFile) len() int { return max(0, len(x.at)-1) }

func (x *indexFile) bytes(i int) []byte { return x.raw[x.at[i]:x.at[i+1]] }

func (x *indexFile) path(i int) []byte {
	off := int(x.at[i])
	p := x.raw[off+x.pathOffset(off) : x.at[i+1]]
	if n := int(binary.BigEndian.Uint16(x.raw[off+entryFlags:]) & flagNameLen); n < flagNameLen {
		return p[:n]
	}
	return p[:bytes.IndexByte(p, 0)]
}

func (x *indexFile) flags(i int) uint16 {
	return binary.BigEndian.Uint16(x.bytes(i)[entryFlags:])
}

// extended returns the second flag word, 0 if the entry has none.
func (x *indexFile) extended(i int) uint16 {
	if x.pathOffset(int(x.at[i])) == entryFixed {
		return 0
	}
	return binary.BigEndian.Uint16(x.bytes(i)[entryFixed:])
}

func (x *indexFile) hash(i int) gitstore.Hash { return gitstore.Hash(x.bytes(i)[40:60]) }

func (x *indexFile) stage(i int) int { return int(x.flags(i)&flagStage) >> 12 }

// skipped reports whether git ignores the stat data of an entry: it does not look at the file,
// or shows it as changed anyway.
func (x *indexFile) skipped(i int) bool {
	return x.flags(i)&(flagValid|flagStage) != 0 || x.extended(i)&(extSkip|extIntent) != 0
}

func (x *indexFile) compare(i, j int) int {
	return cmp.Or(bytes.Compare(x.path(i), x.path(j)), x.stage(i)-x.stage(j))
}

func (x *indexFile) lowerBound(path []byte) int {
	return sort.Search(x.len(), func(i int) bool { return bytes.Compare(x.path(i), path) >= 0 })
}

// find returns the range of entries for a path: none, one, or the stages of a conflict.
func (x *indexFile) find(path string) (from, to int) {
	p := []byte(path)
	from = x.lowerBound(p)
	for to = from; to < x.len() && bytes.Equal(x.path(to), p); {
		to++
	}
	return from, to
}

func (x *indexFile) stat(i int) indexStat {
	b, u := x.bytes(i), binary.BigEndian.Uint32
	return indexStat{u(b), u(b[4:]), u(b[8:]), u(b[12:]), u(b[16:]), u(b[20:]), u(b[28:]), u(b[32:]), u(b[36:])}
}

// smudged returns entry i with the size 0.
func (x *indexFile) smudged(i int) []byte {
	b := slices.Clone(x.bytes(i))
	clear(b[36:40])
	return b
}

func (x *indexFile) entry(i int) Entry {
	return Entry{Path: string(x.path(i)), Hash: x.hash(i), Mode: binary.BigEndian.Uint32(x.bytes(i)[24:]),
		Stage: x.stage(i), SkipWorktree: x.extended(i)&extSkip != 0}
}

// encodeIndexEntry encodes an entry without a conflict. Its only flag is skip-worktree.
func encodeIndexEntry(c Change, s indexStat) []byte {
	fixed, flags := entryFixed, uint16(min(len(c.Path), flagNameLen))
	if c.Skip {
		fixed, flags = fixed+2, flags|flagExtended
	}
	size := (fixed + len(c.Path) + 8) &^ 7
	b := make([]byte, 0, size)
	for _, v := range []uint32{
		s.ctimeSec, s.ctimeNano, s.mtimeSec, s.mtimeNano, s.dev, s.ino, c.Mode, s.uid, s.gid, s.size,
	} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	b = append(b, c.Hash[:]...)
	b = binary.BigEndian.AppendUint16(b, flags)
	if c.Skip {
		b = binary.BigEndian.AppendUint16(b, extSkip)
	}
	b = append(b, c.Path...)
	return b[:size] // the rest is zero
}

// splice returns the content of the index file after edits, which must not overlap.
func (x *indexFile) splice(edits []indexEdit) []byte {
	sortEdits(edits)
	size, n := len(x.raw)+indexHeader+trailerLength, x.len()
	for _, e := range edits {
		size += len(e.data)
		n += e.add - (e.to - e.from)
	}
	out := make([]byte, 0, size)
	out = append(out, "DIRC"...)
	out = binary.BigEndian.AppendUint32(out, x.versionFor(edits))
	out = binary.BigEndian.AppendUint32(out, uint32(n))
	done := 0
	for _, e := range edits {
		out = x.appendEntries(out, done, e.from)
		out = append(out, e.data...)
		done = e.to
	}
	out = x.appendEntries(out, done, x.len())
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

// versionFor returns the version of an index after edits: 2, which every git reads,
// unless an entry has extended flags.
func (x *indexFile) versionFor(edits []indexEdit) uint32 {
	for _, e := range edits {
		if e.add > 0 && binary.BigEndian.Uint16(e.data[entryFlags:])&flagExtended != 0 {
			return 3
		}
	}
	if x.version < 3 {
		return 2
	}
	for i := range x.kept(edits) {
		if x.flags(i)&flagExtended != 0 {
			return 3
		}
	}
	return 2
}

// kept yields the entries that edits leave unchanged, in order.
func (x *indexFile) kept(edits []indexEdit) iter.Seq[int] {
	return func(yield func(int) bool) {
		next := 0
		for i := range x.len() {
			for next < len(edits) && edits[next].to <= i {
				next++
			}
			if (next == len(edits) || edits[next].from > i) && !yield(i) {
				return
			}
		}
	}
}

func (x *indexFile) appendEntries(out []byte, from, to int) []byte {
	if from >= to {
		return out
	}
	return append(out, x.raw[x.at[from]:x.at[to]]...)
}
