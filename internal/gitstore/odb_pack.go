package gitstore

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/klauspost/compress/zlib"
)

type pack struct {
	path  string // of the .pack file
	index *idxfile.MemoryIndex
	data  *packfile.Packfile
	file  *os.File
	sound map[int64]bool // offsets of objects that need no more memory than they may
}

// deltaCache bounds the memory for bases of deltas.
const deltaCache = 32 * cache.MiByte

func (p *pack) read(h Hash, offset int64, content bool) (Kind, int64, []byte, error) {
	head, err := p.bounded(offset)
	if err != nil {
		return "", 0, nil, fmt.Errorf("%s: %w", p.path, err)
	}
	if kind, ok := packedKinds[head.kind]; ok {
		var data []byte
		if content {
			if data, err = p.inflate(head); err != nil {
				return "", 0, nil, fmt.Errorf("%s: %w", p.path, err)
			}
		}
		return kind, head.size, data, nil
	}
	size, err := p.data.GetSizeByOffset(offset)
	if err != nil {
		return "", 0, nil, fmt.Errorf("%s: %w", p.path, err)
	}
	if size > MaxObject {
		return "", size, nil, errTooLarge(size)
	}
	if !content {
		return "", size, nil, nil
	}
	object, err := p.data.Get(plumbing.Hash(h))
	if err != nil {
		return "", size, nil, fmt.Errorf("%s: %w", p.path, err)
	}
	r, err := object.Reader()
	if err != nil {
		return "", size, nil, err
	}
	defer r.Close()
	data := make([]byte, object.Size())
	if _, err := io.ReadFull(r, data); err != nil {
		return "", size, nil, fmt.Errorf("%s: %w", p.path, err)
	}
	return Kind(object.Type().String()), size, data, nil
}

// longestChain is how many deltas git makes of each other at most.
const longestChain = 4095

// bounded returns the header of an object. It refuses one that is made of larger ones than
// may be read: an object may be a small delta of a huge one, or the delta itself be huge.
func (p *pack) bounded(offset int64) (first packedHead, err error) {
	var chain []int64
	for at := offset; ; {
		head, err := p.head(at)
		if err != nil {
			return head, err
		}
		if at == offset {
			first = head
		}
		if head.base == 0 || p.sound[at] {
			break
		}
		if chain = append(chain, at); len(chain) > longestChain {
			return head, fmt.Errorf("more than %d deltas of each other", longestChain)
		}
		at = head.base
	}
	for _, at := range chain {
		p.sound[at] = true
	}
	return first, nil
}

// packedHead is what a pack has before an object.
type packedHead struct {
	kind byte
	size int64 // of the object, or of the delta
	base int64 // the offset of what it is a delta of; 0: it is none
	data int64 // the offset of the deflated bytes
}

// Types of objects in a pack, see gitformat-pack(5).
var packedKinds = map[byte]Kind{1: KindCommit, 2: KindTree, 3: KindBlob, 4: KindTag}

const (
	packedOffsetDelta = 6
	packedRefDelta    = 7
)

func (p *pack) head(offset int64) (h packedHead, err error) {
	var buf [64]byte
	n, err := p.file.ReadAt(buf[:], offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	in := bytes.NewReader(buf[:n])
	more, err := in.ReadByte()
	h.kind, h.size = more>>4&7, int64(more&0x0f)
	for shift := 4; more&0x80 != 0 && err == nil; shift += 7 {
		more, err = in.ReadByte()
		if h.size |= int64(more&0x7f) << shift; h.size < 0 || h.size > MaxObject || shift > 56 {
			return h, errTooLarge(h.size)
		}
	}
	if err != nil {
		return h, err
	}
	switch h.kind {
	case packedOffsetDelta:
		back, err := readOffset(in)
		if err != nil || back <= 0 || back >= offset {
			return h, fmt.Errorf("damaged delta at %d", offset)
		}
		h.base = offset - back
	case packedRefDelta:
		var base plumbing.Hash
		if _, err := io.ReadFull(in, base[:]); err != nil {
			return h, err
		}
		if h.base, err = p.index.FindOffset(base); err != nil {
			return h, err
		}
	}
	h.data = offset + int64(n) - int64(in.Len())
	return h, nil
}

// inflate reads an object that is no delta. go-git would do it, and hash each for its
// cache of bases.
func (p *pack) inflate(h packedHead) ([]byte, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(p.file, h.data, math.MaxInt64-h.data), int(min(h.size+64, 64<<10)))
	z, err := zlib.NewReader(in)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	data := make([]byte, h.size)
	if _, err := io.ReadFull(z, data); err != nil {
		return nil, err
	}
	if n, err := z.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("it is damaged, or longer than the %d bytes that it claims", h.size)
	}
	return data, nil
}

// readOffset reads how far back the base of a delta is.
func readOffset(in io.ByteReader) (back int64, err error) {
	for n := 0; ; n++ {
		b, err := in.ReadByte()
		if err != nil || n > 8 {
			return 0, errors.Join(err, errors.New("damaged delta"))
		}
		back |= int64(b & 0x7f)
		if b&0x80 == 0 {
			return back, nil
		}
		back = (back + 1) << 7
	}
}

// open reads the pack's index.
func (p *pack) open(deltas cache.Object) error {
	if p.index != nil {
		return nil
	}
	raw, err := os.Open(strings.TrimSuffix(p.path, ".pack") + ".idx")
	if err != nil {
		return err
	}
	defer raw.Close()
	index := idxfile.NewMemoryIndex()
	if err := idxfile.NewDecoder(bufio.NewReaderSize(raw, 64<<10)).Decode(index); err != nil {
		return fmt.Errorf("%s: %w", raw.Name(), err)
	}
	data, err := os.Open(p.path)
	if err != nil {
		return err
	}
	p.index, p.data = index, packfile.NewPackfileWithCache(index, nil, plainFile{data}, deltas, 0)
	p.file, p.sound = data, map[int64]bool{}
	return nil
}

// plainFile gives an open file the methods that go-git asks for and never calls.
type plainFile struct{ *os.File }

func (plainFile) Lock() error { return nil }

func (plainFile) Unlock() error { return nil }

func (p *pack) withPrefix(prefix string, found map[Hash]bool) error {
	first, err := hex.DecodeString(prefix[:2])
	if err != nil {
		return nil
	}
	bucket := p.index.FanoutMapping[first[0]]
	if bucket < 0 || bucket >= len(p.index.Names) {
		return nil
	}
	for names := p.index.Names[bucket]; len(names) >= len(Hash{}); names = names[len(Hash{}):] {
		if h := Hash(names[:len(Hash{})]); strings.HasPrefix(h.String(), prefix) {
			found[h] = true
		}
	}
	return nil
}
