package gitstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tape/internal/git/disk"
	"tape/internal/git/gitlock"
	"tape/internal/git/gitpack"
)

// inFlight bounds the objects that are compressed and synced at one time. Syncs that
// run together share the file system's journal commits.
const inFlight = 6

// Batch writes objects so that they survive a power cut. Flush makes them visible to
// git, and durable; without it, Discard removes them.
//
// A git gc --prune=now drops what has no name when it looks. So objects that a ref will name,
// which have a commit or a tag among them, are not written while one runs, and keep a second
// name of ours until the ref is set: then Settle puts back those that were dropped by one that
// began in between. Where files cannot have two names, they are not put back.
type Batch struct {
	r     *Repo
	group errgroup.Group

	ahead atomic.Bool // an object of TryPut is being written
	named atomic.Bool // there is a commit or a tag

	packed bool // the objects go into one pack

	mu    sync.Mutex
	pack  *gitpack.Writer // nil before the first object of a pack, and when it is complete
	files []looseFile
	dirs  map[string]bool // folders whose names have to be durable
	seen  map[Hash]bool
}

// looseFile is the file of an object, or of a pack, with the name that only we know; "" if it
// has none.
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
	if kind == KindCommit || kind == KindTag {
		b.named.Store(true)
	}
	b.mu.Lock()
	known := b.seen[h]
	b.seen[h] = true
	b.mu.Unlock()
	if known {
		return h
	}
	if b.packed {
		b.group.Go(func() error { return b.addPacked(h, kind, data) })
		return h
	}
	if st, err := os.Stat(b.r.LoosePath(h)); err == nil && st.Size() > 0 && b.hold(h) {
		return h
	}
	b.group.Go(func() error { return b.write(h, kind, data) })
	return h
}

// hold keeps an object that is there. As with git, a fresh time keeps a running gc from pruning
// it as old. If it went away in this very moment hold returns false, and it is written again.
func (b *Batch) hold(h Hash) bool {
	path, now := b.r.LoosePath(h), time.Now()
	if os.Chtimes(path, now, now) != nil {
		return false
	}
	f := looseFile{filepath.Join(b.tmpDir(), fmt.Sprintf("object-%s-%x", h, rand.Uint64())), path}
	err := b.r.fs.Link(path, f.tmp)
	if errors.Is(err, os.ErrNotExist) && b.r.fs.MkdirAll(b.tmpDir()) == nil {
		err = b.r.fs.Link(path, f.tmp)
	}
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	if err != nil {
		f.tmp = ""
	}
	return b.keep(f) // whoever wrote it may not have come to make its name durable
}

func (b *Batch) keep(f looseFile) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files = append(b.files, f)
	return true
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
	if err := gitpack.Deflate(tmp, fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data); err != nil {
		return err
	}
	if err := tmp.Chmod(0o400); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	b.keep(looseFile{tmp.Name(), path})
	return nil
}

// create opens a temporary file, in a folder of ours: in the fan-out folders git prune
// takes what it does not know.
func (b *Batch) create() (*disk.File, error) {
	dir := b.tmpDir()
	f, err := b.r.fs.CreateTemp(dir, "object-*")
	if errors.Is(err, os.ErrNotExist) {
		if err := b.r.fs.MkdirAll(dir); err != nil {
			return nil, err
		}
		f, err = b.r.fs.CreateTemp(dir, "object-*")
	}
	return f, err
}

func (b *Batch) tmpDir() string { return filepath.Join(b.r.gitDir, gitlock.OwnDir, "tmp") }

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

// publish gives an object its name, if it does not have it, and leaves it ours besides. Git may
// just be removing an empty fan-out folder.
func (b *Batch) publish(f *looseFile) (made bool, err error) {
	const tries = 50
	for try := 0; f.tmp != ""; try++ {
		if !b.r.alone {
			err = b.r.fs.Link(f.tmp, f.path)
			if st, serr := os.Stat(f.path); errors.Is(err, os.ErrExist) && serr == nil && st.Size() > 0 {
				return false, nil // one that is empty was left by a crash
			}
		}
		if b.r.alone || err != nil && !errors.Is(err, os.ErrNotExist) { // no second names here
			if err = b.r.fs.Rename(f.tmp, f.path); err == nil {
				f.tmp = ""
			}
		}
		if !errors.Is(err, os.ErrNotExist) || try == tries {
			return err == nil, err
		}
		if err := b.r.fs.Mkdir(filepath.Dir(f.path)); err != nil && !errors.Is(err, os.ErrExist) {
			return false, err
		}
	}
	return false, nil
}

// Flush waits until every object is on disk and gives them their names. After an
// error no ref may be made to name any of them: ErrBusy when a git gc runs all the time
// that is waited for locks.
func (b *Batch) Flush(ctx context.Context) error {
	err := b.group.Wait()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = b.closePack()
	}
	if err == nil && b.named.Load() {
		err = b.r.locks.AwaitGC(ctx, b.r.gitDir)
	}
	if err != nil {
		b.Discard()
		return err
	}
	for i := range b.files {
		if _, err := b.publish(&b.files[i]); err != nil {
			b.Discard()
			return fmt.Errorf("write object: %w", err)
		}
		b.dirs[filepath.Dir(b.files[i].path)] = true
	}
	if len(b.dirs) > 0 && !b.packed {
		b.dirs[filepath.Join(b.r.gitDir, "objects")] = true
	}
	if err := b.syncDirs(); err != nil {
		return err
	}
	if !b.named.Load() {
		b.Discard()
	}
	return nil
}

// syncDirs makes the names of objects durable.
func (b *Batch) syncDirs() error {
	var group errgroup.Group
	group.SetLimit(inFlight)
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
	b.dirs = map[string]bool{}
	return nil
}

// Settle ends a batch whose objects refs name by now. If a git gc has begun meanwhile, it waits
// for its end, and puts back what was dropped. Without a batch it does nothing.
func (b *Batch) Settle(ctx context.Context) error {
	if b == nil {
		return nil
	}
	defer b.Discard()
	for {
		gc := gitlock.RunningGC(b.r.gitDir)
		for i := range b.files {
			made, err := b.publish(&b.files[i])
			if err != nil {
				return fmt.Errorf("put object back: %w", err)
			}
			if made {
				b.dirs[filepath.Dir(b.files[i].path)] = true
			}
		}
		if err := b.syncDirs(); err != nil || gc == 0 {
			return err
		}
		if err := gitlock.PauseForGC(ctx, gc); err != nil {
			return err
		}
	}
}

// Discard waits for writes under way and removes what has no name yet, and second names.
func (b *Batch) Discard() {
	if b == nil {
		return
	}
	_ = b.group.Wait()
	b.dropPack()
	for _, f := range b.files {
		if f.tmp != "" {
			_ = b.r.fs.Remove(f.tmp)
		}
	}
	b.files = nil
}
