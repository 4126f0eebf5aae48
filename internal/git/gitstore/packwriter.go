package gitstore

import (
	"errors"
	"fmt"
	"path/filepath"
)

// NewPack starts a batch that writes its objects into one pack: for many objects, one file to sync
// instead of one for each.
func (r *Repo) NewPack() *Batch {
	b := r.NewBatch()
	b.packed = true
	return b
}

func (b *Batch) packWriter() (*packFile, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pack == nil {
		file, err := b.create()
		if err != nil {
			return nil, err
		}
		b.pack = newPackFile(file)
	}
	return b.pack, nil
}

func (b *Batch) addPacked(h Hash, kind Kind, data []byte) error {
	p, err := b.packWriter()
	if err == nil {
		err = p.Add(h, kind, data)
	}
	if err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	return nil
}

// growing is a blob that may be followed by longer versions of the same file.
type growing struct {
	data   []byte
	before []version
}

// version is an earlier state of a file that only grows.
type version struct {
	h    Hash
	size int
}

// PutGrown adds a blob that begins with the blob before (zero: none), which PutGrown has added, and may be followed by
// a longer one. In a pack, only the last one is stored whole, once Release or Flush say that it is the last. The batch
// owns data from then on.
func (b *Batch) PutGrown(before Hash, data []byte) Hash {
	if !b.packed {
		return b.Put(KindBlob, data)
	}
	h := HashObject(KindBlob, data)
	b.mu.Lock()
	g := b.growing[before]
	delete(b.growing, before)
	isDuplicate := b.seen[h]
	b.seen[h] = true
	if !isDuplicate {
		next := &growing{data: data}
		if g != nil {
			next.before = append(g.before, version{before, len(g.data)})
		}
		if b.growing == nil {
			b.growing = map[Hash]*growing{}
		}
		b.growing[h] = next
	}
	b.mu.Unlock()
	if isDuplicate && g != nil { // another file has the same content
		b.group.Go(func() error { return b.addVersions(g.before, version{h, len(data)}, version{before, len(g.data)}) })
	}
	return h
}

// Release says that no longer version of a blob will follow.
func (b *Batch) Release(h Hash) {
	b.mu.Lock()
	g := b.growing[h]
	delete(b.growing, h)
	b.mu.Unlock()
	if g == nil {
		return
	}
	b.group.Go(func() error {
		if err := b.addPacked(h, KindBlob, g.data); err != nil {
			return err
		}
		return b.addVersions(g.before, version{h, len(g.data)})
	})
}

// addVersions adds earlier states of a file to the pack.
func (b *Batch) addVersions(list []version, whole version, more ...version) error {
	p, err := b.packWriter()
	for _, v := range append(list, more...) {
		if err == nil {
			err = p.AddPrefix(v.h, whole.h, whole.size, v.size)
		}
	}
	if err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	return nil
}

// closePack completes the pack. The index is last: without it git ignores the pack.
func (b *Batch) closePack() error {
	p := b.pack
	if p == nil {
		return nil
	}
	name, index, err := p.Finish()
	if err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	path := filepath.Join(b.r.gitDir, "objects", "pack", name)
	b.keep(batchFile{p.File.Name(), path + ".pack"})
	b.pack = nil
	if err := p.File.Close(); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	tmp, err := b.create()
	if err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	b.keep(batchFile{tmp.Name(), path + ".idx"})
	_, err = tmp.Write(index)
	if err == nil {
		err = errors.Join(tmp.Chmod(0o400), tmp.Sync())
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	return nil
}

func (b *Batch) dropPack() {
	if b.pack != nil {
		_ = b.pack.File.Close()
		_ = b.r.fs.Remove(b.pack.File.Name())
		b.pack = nil
	}
}
