package gitstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tape/internal/git/disk"
	"tape/internal/git/gitlock"
)

// inFlight is how many objects are compressed and synced at the same time. Syncs that run together
// share the file system's journal commits.
const inFlight = 6

// Batch writes objects so that they survive a power cut. Flush gives them their names, durably;
// Discard removes what was not flushed.
//
// A git gc --prune=now deletes objects that no ref names at the moment. So a batch with a commit or
// tag, which a ref will name, does not flush while a gc runs, and keeps a hard link of its own to
// each object until the ref is set: then Finish restores the objects that a gc has deleted in between.
// On a file system without hard links they are not restored.
type Batch struct {
	r     *Repo
	group errgroup.Group

	trying atomic.Bool // an object of TryPut is being written
	named  atomic.Bool // a ref will name an object: there is a commit or a tag

	packed bool // the objects go into one pack

	mu      sync.Mutex
	growing map[Hash]*growing // see PutGrown
	pack    *packFile         // nil before the first object and after the pack is complete
	files   []batchFile
	dirs    map[string]bool // folders whose names have to be durable
	seen    map[Hash]bool
}

// batchFile is the file of a loose object, a pack or its index: the path of its temporary file or second
// link ("" if it has none), and its final path.
type batchFile struct{ tmp, path string }

// NewBatch starts a batch.
func (r *Repo) NewBatch() *Batch {
	b := &Batch{r: r, seen: map[Hash]bool{}, dirs: map[string]bool{}}
	b.group.SetLimit(inFlight)
	return b
}

// Put adds an object and returns its id. The batch owns data from then on. Flush returns errors of
// writing.
func (b *Batch) Put(kind Kind, data []byte) Hash {
	h := HashObject(kind, data)
	if kind == KindCommit || kind == KindTag {
		b.named.Store(true)
	}
	b.mu.Lock()
	isDuplicate := b.seen[h]
	b.seen[h] = true
	b.mu.Unlock()
	if isDuplicate {
		return h
	}
	if b.packed {
		b.group.Go(func() error { return b.addPacked(h, kind, data) })
		return h
	}
	if st, err := os.Stat(b.r.LoosePath(h)); err == nil && st.Size() > 0 && b.keepExisting(h) {
		return h
	}
	b.group.Go(func() error { return b.write(h, kind, data) })
	return h
}

// keepExisting protects an object that exists already: it gets a second link, and, as in git, a
// fresh time, so that a running gc does not prune it as old. It returns false if that fails, because the
// object has vanished or is another user's: then it has to be written.
func (b *Batch) keepExisting(h Hash) bool {
	path, now := b.r.LoosePath(h), time.Now()
	if os.Chtimes(path, now, now) != nil {
		return false
	}
	f := batchFile{filepath.Join(b.tmpDir(), fmt.Sprintf("object-%s-%x", h, rand.Uint64())), path}
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
	b.keep(f) // its name may not be durable yet
	return true
}

func (b *Batch) keep(f batchFile) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files = append(b.files, f)
}

// TryPut adds an object unless the object of another TryPut is still being written, or the caller would
// have to wait. Then it returns false, and data remains the caller's.
func (b *Batch) TryPut(kind Kind, data []byte) (Hash, bool) {
	if !b.trying.CompareAndSwap(false, true) {
		return ZeroHash, false
	}
	h := HashObject(kind, data)
	started := b.group.TryGo(func() error {
		defer b.trying.Store(false)
		return b.write(h, kind, data)
	})
	if !started {
		b.trying.Store(false)
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
	if err := deflate(tmp, fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data); err != nil {
		return err
	}
	if err := tmp.Chmod(0o400); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	b.keep(batchFile{tmp.Name(), path})
	return nil
}

// TempObjects is the pattern of the temporary files of objects, TempPacks that of packs.
const (
	TempObjects = "object-*"
	TempPacks   = "pack-*"
)

// create opens a temporary file in our own folder: in git's folder of objects, git prune would
// remove it.
func (b *Batch) create() (*disk.File, error) {
	dir, pattern := b.tmpDir(), TempObjects
	if b.packed {
		pattern = TempPacks
	}
	f, err := b.r.fs.CreateTemp(dir, pattern)
	if errors.Is(err, os.ErrNotExist) {
		if err := b.r.fs.MkdirAll(dir); err != nil {
			return nil, err
		}
		f, err = b.r.fs.CreateTemp(dir, pattern)
	}
	return f, err
}

func (b *Batch) tmpDir() string { return filepath.Join(b.r.gitDir, gitlock.OwnDir, "tmp") }

// SweepTemp removes temporary files that killed processes left: files after a day, folders of
// transfers, which may take days, after a week.
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

// publish links a file to its final path, and keeps f.tmp. If it cannot link, it renames the file, and f.tmp
// becomes "". If there is a file already, it does nothing, and made is false. It retries, because git may be
// removing the empty folder.
func (b *Batch) publish(f *batchFile) (made bool, err error) {
	if err := b.r.checkFolders(f.path); err != nil {
		return false, err
	}
	const tries = 50
	for try := 0; f.tmp != ""; try++ {
		err = b.r.fs.Link(f.tmp, f.path)
		if st, serr := os.Stat(f.path); errors.Is(err, os.ErrExist) && serr == nil && st.Size() > 0 {
			return false, nil // one that is empty was left by a crash, and is replaced
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) { // there are no hard links, or an empty file is there
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

// Flush waits until every object is on disk and gives them their names. After an error no ref may
// name any of them. Errors: ErrBusy if there is a commit or tag, and a git gc runs for longer than the
// wait for locks.
func (b *Batch) Flush(ctx context.Context) error {
	for _, h := range slices.Collect(maps.Keys(b.growing)) {
		b.Release(h)
	}
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
	err = b.syncDirs()
	if err != nil || !b.named.Load() {
		b.Discard()
	}
	return err
}

func (b *Batch) syncDirs() error {
	var group errgroup.Group
	group.SetLimit(inFlight)
	for dir := range b.dirs {
		group.Go(func() error {
			err := b.r.fs.SyncDir(dir)
			if errors.Is(err, os.ErrNotExist) {
				return nil // git has packed the objects and removed the folder
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

// Finish ends a batch after refs name its objects. If a git gc has started meanwhile, Finish waits until
// the gc ends, and restores the objects that it deleted. On a nil batch Finish does nothing.
func (b *Batch) Finish(ctx context.Context) error {
	if b == nil {
		return nil
	}
	defer b.Discard()
	for {
		gc := gitlock.RunningGC(b.r.gitDir)
		for i := range b.files {
			made, err := b.publish(&b.files[i])
			if err != nil {
				return fmt.Errorf("restore object: %w", err)
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

// Discard waits for writes in progress, and removes temporary files and second links. On a nil batch it does
// nothing.
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
