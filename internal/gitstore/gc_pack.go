package gitstore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"tape/internal/disk"
)

// Bounds of one pack made here: deltas wait in memory until they are written.
const (
	maxPackObjects = 50_000
	maxPackBytes   = 1 << 30
	builtinWindow  = 10
)

// packLoose moves loose objects that are reachable into packs. An object is removed only
// once the pack that has it is complete, read back and durable, so that whoever looks
// for it finds the one or the other, and so do we after a crash.
func (r *Repo) packLoose(ctx context.Context) (packed int, err error) {
	loose, err := r.looseObjects()
	if err != nil || len(loose) == 0 {
		return 0, err
	}
	todo, err := r.reachableLoose(ctx, loose)
	if err != nil {
		return 0, err
	}
	for len(todo) > 0 {
		source := &packSource{ctx: ctx, r: r, objects: map[Hash]*packObject{}}
		n, bytes := 0, int64(0)
		for n < len(todo) && n < maxPackObjects && bytes < maxPackBytes {
			o, err := source.add(todo[n])
			if err != nil {
				return packed, err
			}
			n, bytes = n+1, bytes+o.size
		}
		if err := r.writePack(source, todo[:n]); err != nil {
			return packed, err
		}
		if err := r.dropLoose(ctx, todo[:n]); err != nil {
			return packed, err
		}
		packed, todo = packed+n, todo[n:]
	}
	return packed, nil
}

// dropLoose removes loose copies of what is packed, and folders that are empty then.
func (r *Repo) dropLoose(ctx context.Context, hashes []Hash) error {
	dirs := map[string]bool{}
	for _, h := range hashes {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := r.loosePath(h)
		if err := r.fs.Remove(path); err != nil {
			return err
		}
		dirs[filepath.Dir(path)] = true
	}
	for dir := range dirs {
		_ = r.fs.Remove(dir) // most are not empty
	}
	return nil
}

// writePack makes one pack and its index. Neither has its name before both are durable,
// and the index comes last: without it a pack is no pack to anybody.
func (r *Repo) writePack(source *packSource, hashes []Hash) (err error) {
	batch := &Batch{r: r}
	var names []string
	defer func() {
		for _, name := range names {
			_ = os.Remove(name)
		}
	}()
	create := func() (*disk.File, error) {
		f, err := batch.create()
		if err == nil {
			names = append(names, f.Name())
		}
		return f, err
	}
	pack, err := create()
	if err != nil {
		return err
	}
	defer pack.Close()
	checksum, err := encodePack(pack, source, hashes)
	if err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	index, err := readBack(source.ctx, pack.File, hashes)
	if err != nil {
		return fmt.Errorf("read back pack %s: %w", checksum, err)
	}
	idx, err := create()
	if err != nil {
		return err
	}
	defer idx.Close()
	out := bufio.NewWriterSize(idx, 64<<10)
	if _, err := idxfile.NewEncoder(out).Encode(index); err != nil {
		return fmt.Errorf("write pack index: %w", err)
	}
	if err := errors.Join(out.Flush(), idx.Chmod(0o400), pack.Chmod(0o400)); err != nil {
		return fmt.Errorf("write pack index: %w", err)
	}
	if err := source.ctx.Err(); err != nil {
		return err
	}
	return r.publishPack(checksum.String(), pack, idx)
}

// publishPack makes a pack and its index durable and gives them their names.
func (r *Repo) publishPack(checksum string, pack, idx *disk.File) (err error) {
	dir := filepath.Join(r.objectsDir(), "pack")
	if err := r.fs.MkdirAll(dir); err != nil {
		return err
	}
	for _, f := range []*disk.File{pack, idx} {
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("write pack: %w", err)
		}
	}
	base := filepath.Join(dir, "pack-"+checksum)
	defer func() {
		if _, serr := os.Lstat(base + ".idx"); err != nil && errors.Is(serr, fs.ErrNotExist) {
			_ = os.Remove(base + ".pack")
		}
	}()
	for _, file := range []struct{ from, to string }{{pack.Name(), base + ".pack"}, {idx.Name(), base + ".idx"}} {
		if err := r.fs.Rename(file.from, file.to); err != nil {
			return err
		}
		if err := r.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

func encodePack(f *disk.File, source *packSource, hashes []Hash) (plumbing.Hash, error) {
	list := make([]plumbing.Hash, len(hashes))
	for i, h := range hashes {
		list[i] = plumbing.Hash(h)
	}
	out := bufio.NewWriterSize(f, 256<<10)
	checksum, err := packfile.NewEncoder(out, source, false).Encode(list, builtinWindow)
	return checksum, errors.Join(err, out.Flush())
}

// readBack reads a pack as a stranger would, and makes its index. All of hashes must be
// what their names say.
func readBack(ctx context.Context, f *os.File, hashes []Hash) (*idxfile.MemoryIndex, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var writer idxfile.Writer
	parser, err := packfile.NewParser(packfile.NewScanner(cancelledFile{f, ctx}), &writer)
	if err != nil {
		return nil, err
	}
	if _, err := parser.Parse(); err != nil {
		return nil, err
	}
	index, err := writer.Index()
	if err != nil {
		return nil, err
	}
	for _, h := range hashes {
		if ok, err := index.Contains(plumbing.Hash(h)); err != nil || !ok {
			return nil, errors.Join(err, fmt.Errorf("object %s is not in it", h))
		}
	}
	return index, nil
}

// cancelledFile is a file that cannot be read any more once its context is done.
type cancelledFile struct {
	*os.File
	ctx context.Context
}

func (f cancelledFile) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

// packSource hands objects to go-git's encoder without holding their content: each is
// read when it is looked at, and the last few are kept.
type packSource struct {
	storer.EncodedObjectStorer // what is not needed here
	ctx                        context.Context
	r                          *Repo
	objects                    map[Hash]*packObject

	mu     sync.Mutex
	recent []*packObject // those with data, oldest first
	held   int64         // bytes of their data
}

const recentBytes = 64 << 20

type packObject struct {
	source *packSource
	hash   Hash
	kind   plumbing.ObjectType
	size   int64
	data   []byte // nil when it was not looked at lately
}

// add notes an object's kind and size; it is loose.
func (s *packSource) add(h Hash) (*packObject, error) {
	f, err := os.Open(s.r.loosePath(h))
	var kind Kind
	var size int64
	if errors.Is(err, fs.ErrNotExist) { // packed by somebody since
		kind, size, _, err = s.r.get(h, true)
	} else if err == nil {
		kind, size, _, err = readLooseObject(f, false)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", h, err)
	}
	o := &packObject{source: s, hash: h, size: size}
	if o.kind, err = plumbing.ParseObjectType(string(kind)); err != nil {
		return nil, fmt.Errorf("object %s: %w", h, err)
	}
	s.objects[h] = o
	return o, s.ctx.Err()
}

// EncodedObject returns an object that was added.
func (s *packSource) EncodedObject(_ plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	if o, ok := s.objects[Hash(h)]; ok {
		return o, nil
	}
	return nil, plumbing.ErrObjectNotFound
}

func (o *packObject) Hash() plumbing.Hash             { return plumbing.Hash(o.hash) }
func (o *packObject) Type() plumbing.ObjectType       { return o.kind }
func (o *packObject) SetType(plumbing.ObjectType)     {}
func (o *packObject) Size() int64                     { return o.size }
func (o *packObject) SetSize(int64)                   {}
func (o *packObject) Writer() (io.WriteCloser, error) { return nil, errors.ErrUnsupported }

// Reader reads the object's content.
func (o *packObject) Reader() (io.ReadCloser, error) {
	data, err := o.source.content(o)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (s *packSource) content(o *packObject) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.data != nil || o.size == 0 {
		return o.data, nil
	}
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	_, data, err := s.r.Read(o.hash)
	if err != nil {
		return nil, err
	}
	if int64(len(data)) != o.size {
		return nil, fmt.Errorf("object %s: it changed its size", o.hash)
	}
	o.data = data
	s.recent, s.held = append(s.recent, o), s.held+o.size
	for s.held > recentBytes && len(s.recent) > 1 {
		old := s.recent[0]
		s.recent, s.held = s.recent[1:], s.held-old.size
		old.data = nil
	}
	return data, nil
}
