package gitstore

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/klauspost/compress/zlib"

	"tape/internal/git/disk"
	"tape/internal/git/gitobject"
)

var compressors = sync.Pool{New: func() any {
	// What git uses for loose objects; git gc compresses them harder in packs.
	w, err := zlib.NewWriterLevel(nil, zlib.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// deflate writes parts, one after the other, compressed as git compresses an object.
func deflate(w io.Writer, parts ...[]byte) error {
	z := compressors.Get().(*zlib.Writer)
	defer compressors.Put(z)
	z.Reset(w)
	for _, part := range parts {
		if _, err := z.Write(part); err != nil {
			return err
		}
	}
	return z.Close()
}

// packFile writes objects into a pack file that does not have its final name yet. Several goroutines may add to it.
type packFile struct {
	File *disk.File

	mu    sync.Mutex
	out   *bufio.Writer
	size  int64
	count uint32
	index idxfile.Writer
}

// packHeader is the length of a pack's header: "PACK", a version, the number of objects.
const packHeader = 12

// newPackFile begins a pack in an empty file.
func newPackFile(file *disk.File) *packFile {
	p := &packFile{File: file, out: bufio.NewWriterSize(file, 256<<10), size: packHeader}
	_, _ = p.out.Write(make([]byte, packHeader)) // Finish fills in the count
	return p
}

// Add appends a whole object. Only the write is serialized, not the compression.
func (p *packFile) Add(h gitobject.Hash, kind gitobject.Kind, data []byte) error {
	return p.add(h, gitobject.PackedHead(kind, len(data)), data)
}

// AddPrefix appends an object that is the beginning of another one, which is added to the same pack, before or after.
func (p *packFile) AddPrefix(h, of gitobject.Hash, whole, size int) error {
	head, delta := gitobject.PackedPrefix(of, whole, size)
	return p.add(h, head, delta)
}

func (p *packFile) add(h gitobject.Hash, head, data []byte) error {
	buf := bytes.NewBuffer(make([]byte, 0, len(data)/3+64))
	buf.Write(head)
	if err := deflate(buf, data); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.index.Add(plumbing.Hash(h), uint64(p.size), crc32.ChecksumIEEE(buf.Bytes()))
	p.count++
	n, err := p.out.Write(buf.Bytes())
	p.size += int64(n)
	return err
}

// Finish completes the pack and syncs it. It returns the pack's name ("pack-<hash>") and the bytes of its index.
func (p *packFile) Finish() (name string, index []byte, err error) {
	if err := p.out.Flush(); err != nil {
		return "", nil, err
	}
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), p.count)
	if _, err := p.File.WriteAt(head, 0); err != nil {
		return "", nil, err
	}
	sum := sha1.New()
	if _, err := io.Copy(sum, io.NewSectionReader(p.File, 0, p.size)); err != nil {
		return "", nil, err
	}
	total := plumbing.Hash(sum.Sum(nil))
	if _, err := p.File.WriteAt(total[:], p.size); err != nil {
		return "", nil, err
	}
	if err := errors.Join(p.File.Chmod(0o400), p.File.Sync()); err != nil {
		return "", nil, err
	}
	if err := p.index.OnFooter(total); err != nil {
		return "", nil, err
	}
	all, err := p.index.Index()
	if err != nil {
		return "", nil, err
	}
	var out bytes.Buffer
	_, err = idxfile.NewEncoder(&out).Encode(all)
	return "pack-" + total.String(), out.Bytes(), err
}
