package gitobject

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/zlib"
)

// pack is a pack and its index; open opens them.
type pack struct {
	path  string // of the .pack file
	index *packIndex
	bases *generations
	file  *os.File

	in *bufio.Reader // of compressed bytes
	z  inflater
}

func (p *pack) read(h Hash, offset int64, content bool) (kind Kind, size int64, data []byte, err error) {
	if content {
		kind, data, err = p.content(offset)
		size = int64(len(data))
	} else {
		kind, size, err = p.size(offset)
	}
	if err != nil {
		return "", 0, nil, fmt.Errorf("%s: object %s: %w", p.path, h, err)
	}
	return kind, size, data, nil
}

// longestChain is the greatest depth of deltas that git writes.
const longestChain = 4095

// content reads an object, and applies the deltas that it consists of. It reads all headers first, and
// refuses a base or delta over MaxObject before it inflates anything.
func (p *pack) content(offset int64) (kind Kind, data []byte, err error) {
	var chain []packedHead
	for at := offset; ; {
		if o, ok := p.bases.get(place{pack: p, offset: at}); ok {
			kind, data = o.Kind, o.Data
			break
		}
		head, err := p.head(at)
		if err != nil {
			return "", nil, err
		}
		if head.base == 0 {
			kind = packedKinds[head.kind]
			if data, err = p.inflate(head); err != nil {
				return "", nil, err
			}
			if len(chain) > 0 {
				p.bases.put(place{pack: p, offset: at}, Cached{kind, data})
			}
			break
		}
		if chain = append(chain, head); len(chain) > longestChain {
			return "", nil, fmt.Errorf("a chain of more than %d deltas", longestChain)
		}
		at = head.base
	}
	for _, delta := range slices.Backward(chain) {
		raw, err := p.inflate(delta)
		if err != nil {
			return "", nil, err
		}
		if data, err = applyDelta(data, raw); err != nil {
			return "", nil, err
		}
		p.bases.put(place{pack: p, offset: delta.at}, Cached{kind, data})
	}
	return kind, data, nil
}

// size returns an object's kind and size. The kind of a delta is "": only the end of its chain has it.
func (p *pack) size(offset int64) (Kind, int64, error) {
	head, err := p.head(offset)
	if err != nil || head.base == 0 {
		return packedKinds[head.kind], head.size, err
	}
	z, err := zlib.NewReader(io.NewSectionReader(p.file, head.data, math.MaxInt64-head.data))
	if err != nil {
		return "", 0, err
	}
	defer z.Close()
	sizes := make([]byte, min(head.size, 2*binary.MaxVarintLen64))
	if _, err := io.ReadFull(z, sizes); err != nil {
		return "", 0, err
	}
	_, size, _, err := deltaSizes(sizes)
	return "", size, err
}

// packedHead is the header of an object in a pack.
type packedHead struct {
	at   int64
	kind byte
	size int64 // of the object, or of the delta
	base int64 // the offset of the base of a delta; 0: no delta
	data int64 // the offset of the compressed bytes
}

// packedKinds are the types of whole objects in a pack, see gitformat-pack(5).
var packedKinds = map[byte]Kind{1: KindCommit, 2: KindTree, 3: KindBlob, 4: KindTag}

// PackedHead returns the header of an object that is not a delta.
func PackedHead(kind Kind, size int) []byte {
	for number, k := range packedKinds {
		if k == kind {
			return packedHeader(number, size)
		}
	}
	return packedHeader(0, size)
}

// PackedPrefix returns the header of a delta, and the delta itself: the first size bytes of an object of baseSize
// bytes, see gitformat-pack(5).
func PackedPrefix(base Hash, baseSize, size int) (head, delta []byte) {
	delta = binary.AppendUvarint(binary.AppendUvarint(nil, uint64(baseSize)), uint64(size))
	const most = 0xffff // git's own deltas copy no more at once
	for at := 0; at < size; at += most {
		n := min(most, size-at)
		op := len(delta)
		delta = append(delta, 0x80)
		for bit, b := range [...]int{at, at >> 8, at >> 16, at >> 24, n, n >> 8} {
			if byte(b) != 0 {
				delta[op] |= 1 << bit
				delta = append(delta, byte(b))
			}
		}
	}
	return append(packedHeader(packedRefDelta, len(delta)), base[:]...), delta
}

func packedHeader(number byte, size int) []byte {
	out := []byte{number<<4 | byte(size&0x0f)}
	for size >>= 4; size > 0; size >>= 7 {
		out[len(out)-1] |= 0x80
		out = append(out, byte(size&0x7f))
	}
	return out
}

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
	h.at = offset
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
		var base Hash
		if _, err := io.ReadFull(in, base[:]); err != nil {
			return h, err
		}
		if h.base, err = p.index.offset(base); err != nil {
			return h, errors.New("the base of the delta: " + err.Error()) // not wrapped: the object itself exists
		}
	default:
		if packedKinds[h.kind] == "" {
			return h, fmt.Errorf("unknown type %d", h.kind)
		}
	}
	h.data = offset + int64(n) - int64(in.Len())
	return h, nil
}

// inflate reads the content of an object that is not a delta, or a delta itself.
func (p *pack) inflate(h packedHead) ([]byte, error) {
	if p.in == nil {
		p.in = bufio.NewReaderSize(nil, 8<<10)
	}
	p.in.Reset(io.NewSectionReader(p.file, h.data, math.MaxInt64-h.data))
	data := make([]byte, h.size)
	return data, p.z.fill(data, p.in)
}

// readOffset reads the distance from a delta back to its base.
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

// open opens the pack and its index, once.
func (p *pack) open(bases *generations) error {
	if p.index != nil {
		return nil
	}
	index, err := openPackIndex(strings.TrimSuffix(p.path, ".pack") + ".idx")
	if err != nil {
		return err
	}
	data, err := os.Open(p.path)
	if err != nil {
		return errors.Join(err, index.file.Close())
	}
	p.index, p.bases, p.file = index, bases, data
	return nil
}

func (p *pack) close() {
	if p.file != nil {
		_, _ = p.index.file.Close(), p.file.Close()
	}
}
