package gitstore

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/klauspost/compress/zlib"

	"tape/internal/disk"
	"tape/internal/gitstore/gitobject"
)

// packWriter writes objects, none as a delta, into the file of a pack that has no name yet.
type packWriter struct {
	mu    sync.Mutex
	file  *disk.File
	out   *bufio.Writer
	size  int64
	count uint32
	index idxfile.Writer
}

// packHeader is the length of what a pack begins with: "PACK", a version, the number of objects.
const packHeader = 12

func newPackWriter(file *disk.File) *packWriter {
	p := &packWriter{file: file, out: bufio.NewWriterSize(file, 256<<10), size: packHeader}
	_, _ = p.out.Write(make([]byte, packHeader)) // the count is known in the end
	return p
}

// add deflates an object beside other callers, and appends it.
func (p *packWriter) add(h Hash, kind Kind, data []byte) error {
	buf := bytes.NewBuffer(make([]byte, 0, len(data)/3+64))
	buf.Write(gitobject.PackedHead(kind, len(data)))
	z := compressors.Get().(*zlib.Writer)
	defer compressors.Put(z)
	z.Reset(buf)
	if _, err := z.Write(data); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
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

// finish completes the pack, makes it durable, and returns its name and its index.
func (p *packWriter) finish() (name string, index []byte, err error) {
	if err := p.out.Flush(); err != nil {
		return "", nil, err
	}
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), p.count)
	if _, err := p.file.WriteAt(head, 0); err != nil {
		return "", nil, err
	}
	sum := sha1.New()
	if _, err := io.Copy(sum, io.NewSectionReader(p.file, 0, p.size)); err != nil {
		return "", nil, err
	}
	total := plumbing.Hash(sum.Sum(nil))
	if _, err := p.file.WriteAt(total[:], p.size); err != nil {
		return "", nil, err
	}
	if err := errors.Join(p.file.Chmod(0o400), p.file.Sync()); err != nil {
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

// NewPack starts a batch whose objects become one pack: for many of them, that is one file to
// sync in place of one for each.
func (r *Repo) NewPack() *Batch {
	b := r.NewBatch()
	b.packed = true
	return b
}

// pack is where the batch's objects go, begun with the first.
func (b *Batch) packWriter() (*packWriter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pack == nil {
		file, err := b.create()
		if err != nil {
			return nil, err
		}
		b.pack = newPackWriter(file)
	}
	return b.pack, nil
}

func (b *Batch) addPacked(h Hash, kind Kind, data []byte) error {
	p, err := b.packWriter()
	if err == nil {
		err = p.add(h, kind, data)
	}
	if err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	return nil
}

// closePack completes the pack. Its index, without which git does not look at it, comes last.
func (b *Batch) closePack() error {
	p := b.pack
	if p == nil {
		return nil
	}
	name, index, err := p.finish()
	if err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	path := filepath.Join(b.r.gitDir, "objects", "pack", name)
	b.keep(looseFile{p.file.Name(), path + ".pack"})
	b.pack = nil
	if err := p.file.Close(); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	tmp, err := b.create()
	if err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	b.keep(looseFile{tmp.Name(), path + ".idx"})
	_, err = tmp.Write(index)
	if err == nil {
		err = errors.Join(tmp.Chmod(0o400), tmp.Sync())
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	return nil
}

// dropPack removes a pack that is not complete.
func (b *Batch) dropPack() {
	if b.pack != nil {
		_ = b.pack.file.Close()
		_ = b.r.fs.Remove(b.pack.file.Name())
		b.pack = nil
	}
}
