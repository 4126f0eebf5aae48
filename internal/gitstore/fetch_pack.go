package gitstore

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zlib"

	"tape/internal/disk"
)

// A pack that another side has sent (gitformat-pack(5)): read as a stranger's. Nothing is
// inflated beyond the size that it claims, nothing may claim more than MaxObject, and the
// contents held at one time are bounded.

// Kinds of entries in a pack.
const (
	packCommit   = 1
	packTree     = 2
	packBlob     = 3
	packTag      = 4
	packOfsDelta = 6
	packRefDelta = 7
)

var packKinds = map[byte]Kind{packCommit: KindCommit, packTree: KindTree, packBlob: KindBlob, packTag: KindTag}

// packEntry is one object of a pack.
type packEntry struct {
	offset, data int64 // where it begins, and its deflated content
	size         int64 // of what is deflated: content, or delta
	kind         byte
	base         int64 // of an offset delta
	baseHash     Hash  // of a delta on a name
	crc          uint32
	done         bool // h and real are known
	h            Hash
	real         Kind
}

// packReader reads a pack from its beginning and knows where it is.
type packReader struct {
	ctx     context.Context
	in      io.Reader
	buf     []byte
	at, end int   // what of buf is not read yet
	base    int64 // offset of buf
	crc     uint32
	crcFrom int
	sum     hash.Hash
	sumFrom int
	failed  error
}

func newPackReader(ctx context.Context, in io.Reader) *packReader {
	return &packReader{ctx: ctx, in: in, buf: make([]byte, 64<<10), sum: sha1.New()}
}

func (p *packReader) offset() int64 { return p.base + int64(p.at) }

// settle brings the sums up to where it is.
func (p *packReader) settle() {
	p.crc = crc32.Update(p.crc, crc32.IEEETable, p.buf[p.crcFrom:p.at])
	p.sum.Write(p.buf[p.sumFrom:p.at])
	p.crcFrom, p.sumFrom = p.at, p.at
}

func (p *packReader) fill() error {
	if p.failed != nil {
		return p.failed
	}
	if err := p.ctx.Err(); err != nil {
		return err
	}
	p.settle()
	p.base += int64(p.at)
	n, err := p.in.Read(p.buf)
	p.at, p.end, p.crcFrom, p.sumFrom = 0, n, 0, 0
	p.failed = err
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

func (p *packReader) Read(b []byte) (int, error) {
	if p.at == p.end {
		if err := p.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.buf[p.at:p.end])
	p.at += n
	return n, nil
}

// ReadByte makes the inflater take no byte more than it needs.
func (p *packReader) ReadByte() (byte, error) {
	if p.at == p.end {
		if err := p.fill(); err != nil {
			return 0, err
		}
	}
	p.at++
	return p.buf[p.at-1], nil
}

// packIndexer finds the names of the objects of a pack.
type packIndexer struct {
	ctx      context.Context
	r        *Repo // has the bases that a thin pack lacks
	f        *disk.File
	size     int64
	entries  []packEntry
	byOffset map[int64]int
	byHash   map[Hash]int
	sum      [20]byte
	missing  []Hash // bases that the pack lacks, and r has
	cache    contentCache
}

func hostile(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrHostile, fmt.Errorf(format, args...))
}

// scan reads the pack once: where each entry is, and the names of those that are no deltas.
func (x *packIndexer) scan() error {
	if _, err := x.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	st, err := x.f.Stat()
	if err != nil {
		return err
	}
	x.size = st.Size()
	p := newPackReader(x.ctx, x.f)
	var head [12]byte
	if _, err := io.ReadFull(p, head[:]); err != nil || string(head[:4]) != "PACK" {
		return hostile("it is no pack")
	}
	version, count := binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint32(head[8:])
	const smallest = 9 // bytes of an entry
	if version != 2 && version != 3 || int64(count) > x.size/smallest {
		return hostile("a pack of version %d with %d objects in %d bytes", version, count, x.size)
	}
	x.byOffset, x.byHash = make(map[int64]int, count), make(map[Hash]int, count)
	z := &inflater{}
	for i := range int(count) {
		e, err := x.scanEntry(p, z)
		if err != nil {
			if ctxErr := x.ctx.Err(); ctxErr != nil {
				return ctxErr
			}
			return hostile("pack entry %d of %d: %w", i+1, count, err)
		}
		x.byOffset[e.offset] = i
		if e.done {
			x.byHash[e.h] = i
		}
		x.entries = append(x.entries, e)
	}
	p.settle()
	p.sum.Sum(x.sum[:0])
	var trailer [20]byte
	if _, err := io.ReadFull(p, trailer[:]); err != nil || trailer != x.sum || p.offset() != x.size {
		return hostile("the pack does not end with its checksum")
	}
	return nil
}

func (x *packIndexer) scanEntry(p *packReader, z *inflater) (e packEntry, err error) {
	p.settle()
	p.crc = 0
	e.offset = p.offset()
	if err := e.readHeader(p); err != nil {
		return e, err
	}
	e.data = p.offset()
	if e.size > MaxObject {
		return e, errTooLarge(e.size)
	}
	kind, plain := packKinds[e.kind]
	switch {
	case plain && kind == KindBlob:
		h := sha1.New()
		fmt.Fprintf(h, "%s %d\x00", kind, e.size)
		if err := z.copy(h, p, e.size); err != nil {
			return e, err
		}
		e.h, e.real, e.done = Hash(h.Sum(nil)), kind, true
	case plain:
		var content bytes.Buffer
		if err := z.copy(&content, p, e.size); err != nil {
			return e, err
		}
		e.h, e.real, e.done = HashObject(kind, content.Bytes()), kind, true
		if err := checkObject(kind, content.Bytes()); err != nil {
			return e, fmt.Errorf("%s %s: %w", kind, e.h, err)
		}
	default:
		if err := z.copy(io.Discard, p, e.size); err != nil {
			return e, err
		}
	}
	p.settle()
	e.crc = p.crc
	return e, nil
}

// readHeader reads kind, size, and what a delta stands on.
func (e *packEntry) readHeader(p *packReader) error {
	c, err := p.ReadByte()
	if err != nil {
		return err
	}
	e.kind, e.size = c>>4&7, int64(c&15)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if c, err = p.ReadByte(); err != nil {
			return err
		}
		if shift > 50 {
			return errors.New("its size is no number")
		}
		e.size |= int64(c&0x7f) << shift
	}
	switch e.kind {
	case packCommit, packTree, packBlob, packTag:
	case packRefDelta:
		_, err = io.ReadFull(p, e.baseHash[:])
	case packOfsDelta:
		back := int64(0)
		for more := true; more; {
			if c, err = p.ReadByte(); err != nil {
				return err
			}
			if back > 1<<50 {
				return errors.New("its base is no number")
			}
			more = c&0x80 != 0
			back = back<<7 | int64(c&0x7f)
			if more {
				back++
			}
		}
		if e.base = e.offset - back; back <= 0 || e.base <= 0 {
			return errors.New("its base is outside of the pack")
		}
	default:
		return fmt.Errorf("there is no kind %d", e.kind)
	}
	return err
}

// inflater is a zlib reader that is used again.
type inflater struct{ z io.ReadCloser }

// copy inflates exactly size bytes.
func (z *inflater) copy(to io.Writer, from io.Reader, size int64) error {
	if err := z.begin(from); err != nil {
		return err
	}
	n, err := io.CopyN(to, z.z, size)
	return z.end(n, size, err)
}

// fill inflates exactly as many bytes as data has.
func (z *inflater) fill(data []byte, from io.Reader) error {
	if err := z.begin(from); err != nil {
		return err
	}
	n, err := io.ReadFull(z.z, data)
	return z.end(int64(n), int64(len(data)), err)
}

func (z *inflater) begin(from io.Reader) (err error) {
	if z.z == nil {
		z.z, err = zlib.NewReader(from)
		return err
	}
	return z.z.(zlib.Resetter).Reset(from, nil)
}

func (z *inflater) end(n, size int64, err error) error {
	if err != nil {
		return fmt.Errorf("it has %d bytes and claims %d: %w", n, size, err)
	}
	var one [1]byte
	if n, err := io.ReadFull(z.z, one[:]); n != 0 || !errors.Is(err, io.EOF) {
		return fmt.Errorf("it is damaged, or longer than the %d bytes that it claims", size)
	}
	return nil
}

// checkObject refuses commits, trees and tags that are not well-formed.
func checkObject(kind Kind, content []byte) error {
	var err error
	switch kind {
	case KindCommit:
		_, err = DecodeCommit(content)
	case KindTree:
		err = checkTree(content)
	case KindTag:
		line, _, _ := bytes.Cut(content, []byte("\n"))
		_, err = ParseHash(string(bytes.TrimPrefix(line, []byte("object "))))
	}
	return err
}
