package gitstore

import (
	"errors"
	"fmt"
	"path/filepath"

	"tape/internal/git/gitpack"
)

// NewPack starts a batch that writes its objects into one pack: for many objects, one file to sync
// instead of one for each.
func (r *Repo) NewPack() *Batch {
	b := r.NewBatch()
	b.packed = true
	return b
}

func (b *Batch) packWriter() (*gitpack.Writer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pack == nil {
		file, err := b.create()
		if err != nil {
			return nil, err
		}
		b.pack = gitpack.New(file)
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
