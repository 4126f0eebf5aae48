package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zlib"
	"golang.org/x/sync/errgroup"

	"tape/internal/disk"
	"tape/internal/gitstore/gitlock"
)

// inFlight bounds the objects that are compressed and synced at one time. Syncs that
// run together share the file system's journal commits.
const inFlight = 6

// Batch writes objects so that they survive a power cut. Flush makes them visible to
// git, and durable; without it, Discard removes them.
type Batch struct {
	r     *Repo
	group errgroup.Group

	ahead atomic.Bool // an object of TryPut is being written

	mu    sync.Mutex
	files []looseFile
	dirs  map[string]bool // folders whose names have to be durable
	seen  map[Hash]bool
}

type looseFile struct{ tmp, path string }

// NewBatch starts a batch.
func (r *Repo) NewBatch() *Batch {
	b := &Batch{r: r, seen: map[Hash]bool{}, dirs: map[string]bool{}}
	b.group.SetLimit(inFlight)
	return b
}

// Put adds an object and returns its name. The batch owns data from then on. Errors
// of the writing itself come from Flush.
func (b *Batch) Put(kind Kind, data []byte) Hash {
	h := HashObject(kind, data)
	b.mu.Lock()
	known := b.seen[h]
	b.seen[h] = true
	b.mu.Unlock()
	if known {
		return h
	}
	path := b.r.LoosePath(h)
	if st, err := os.Stat(path); err == nil && st.Size() > 0 {
		// As git does: a fresh time keeps a running gc from pruning it as old. If it
		// went away in this very moment it is written again.
		now := time.Now()
		if os.Chtimes(path, now, now) == nil {
			// Whoever wrote it may not have come to make its name durable.
			b.mu.Lock()
			b.dirs[filepath.Dir(path)] = true
			b.mu.Unlock()
			return h
		}
	}
	b.group.Go(func() error { return b.write(h, kind, data) })
	return h
}

// TryPut adds an object if that can be done beside the caller's work without slowing
// it down: one at a time. Otherwise it returns false, and data stays the caller's.
func (b *Batch) TryPut(kind Kind, data []byte) (Hash, bool) {
	if !b.ahead.CompareAndSwap(false, true) {
		return ZeroHash, false
	}
	h := HashObject(kind, data)
	started := b.group.TryGo(func() error {
		defer b.ahead.Store(false)
		return b.write(h, kind, data)
	})
	if !started {
		b.ahead.Store(false)
		return ZeroHash, false
	}
	b.mu.Lock()
	b.seen[h] = true
	b.mu.Unlock()
	return h, true
}

var compressors = sync.Pool{New: func() any {
	// Git's own default for loose objects; git gc compresses them harder in packs.
	w, err := zlib.NewWriterLevel(nil, zlib.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

func (b *Batch) write(h Hash, kind Kind, data []byte) (err error) {
	path := b.r.LoosePath(h)
	tmp, err := b.create()
	if err != nil {
		return fmt.Errorf("write object %s: %w", h, err)
	}
	defer func() {
		err = errors.Join(err, tmp.Close())
		if err != nil {
			_ = b.r.fs.Remove(tmp.Name())
			err = fmt.Errorf("write object %s: %w", h, err)
		}
	}()
	z := compressors.Get().(*zlib.Writer)
	defer compressors.Put(z)
	z.Reset(tmp)
	if _, err := fmt.Fprintf(z, "%s %d\x00", kind, len(data)); err != nil {
		return err
	}
	if _, err := z.Write(data); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := tmp.Chmod(0o400); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	b.mu.Lock()
	b.files = append(b.files, looseFile{tmp.Name(), path})
	b.mu.Unlock()
	return nil
}

// create opens a temporary file, in a folder of ours: in the fan-out folders git prune
// takes what it does not know.
func (b *Batch) create() (*disk.File, error) {
	dir := filepath.Join(b.r.gitDir, gitlock.OwnDir, "tmp")
	f, err := b.r.fs.CreateTemp(dir, "object-*")
	if errors.Is(err, os.ErrNotExist) {
		if err := b.r.fs.MkdirAll(dir); err != nil {
			return nil, err
		}
		f, err = b.r.fs.CreateTemp(dir, "object-*")
	}
	return f, err
}

// SweepTemp removes what killed processes left: objects without a name of a day ago, and
// folders of transfers, which may take days, of a week ago.
func (r *Repo) SweepTemp(now time.Time) {
	dir := filepath.Join(r.gitDir, gitlock.OwnDir, "tmp")
	names, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range names {
		age := 24 * time.Hour
		if e.IsDir() {
			age *= 7
		}
		if st, err := e.Info(); err == nil && now.Sub(st.ModTime()) > age {
			_ = r.fs.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// publish gives an object its name. Git may just be removing an empty fan-out folder.
func (b *Batch) publish(f looseFile) error {
	const tries = 50
	for try := 0; ; try++ {
		err := b.r.fs.Rename(f.tmp, f.path)
		if !errors.Is(err, os.ErrNotExist) || try == tries {
			return err
		}
		if err := b.r.fs.Mkdir(filepath.Dir(f.path)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
}

// Flush waits until every object is on disk and gives them their names. After an
// error no ref may be made to name any of them.
func (b *Batch) Flush(ctx context.Context) error {
	err := b.group.Wait()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		b.Discard()
		return err
	}
	for _, f := range b.files {
		if err := b.publish(f); err != nil {
			b.Discard()
			return fmt.Errorf("write object: %w", err)
		}
		b.dirs[filepath.Dir(f.path)] = true
	}
	var group errgroup.Group
	group.SetLimit(inFlight)
	if len(b.dirs) > 0 {
		b.dirs[filepath.Join(b.r.gitDir, "objects")] = true
	}
	for dir := range b.dirs {
		group.Go(func() error {
			err := b.r.fs.SyncDir(dir)
			if errors.Is(err, os.ErrNotExist) {
				return nil // packed since, and the empty folder removed
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("write objects: %w", err)
	}
	b.files = nil
	return nil
}

// Discard waits for writes under way and removes what has no name yet.
func (b *Batch) Discard() {
	_ = b.group.Wait()
	for _, f := range b.files {
		_ = b.r.fs.Remove(f.tmp)
	}
	b.files = nil
}
