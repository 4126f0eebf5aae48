package gitstore

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tape/internal/git/gitobject"
)

// objects returns the object database. With fresh it opens a new one: git gc replaces packs, and a
// database lists them only once.
func (r *Repo) objects(fresh bool) *gitobject.DB {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.odb != nil && fresh {
		r.odb.Close()
		r.odb = nil
	}
	if r.odb == nil {
		r.odb = gitobject.NewDB(r.gitDir, r.extra)
	}
	return r.odb
}

// Refresh makes the next read list the packs again.
func (r *Repo) Refresh() { _ = r.objects(true) }

// maxLookups is how often packs are listed while git replaces them.
const maxLookups = 20

// get reads an object, or its size alone. If it is missing, get lists the packs again: new ones may
// have been written, and a listing during a repack may see neither the old packs nor the new.
func (r *Repo) get(h Hash, content bool) (kind Kind, size int64, data []byte, err error) {
	if o, ok := r.cache.Get(h); ok {
		return o.Kind, int64(len(o.Data)), o.Data, nil
	}
	for try := range maxLookups {
		db := r.objects(try > 0)
		if kind, size, data, err = db.Get(h, content); err == nil {
			if content {
				data = slices.Clip(data) // an append to it copies
				r.cache.Put(h, gitobject.Cached{Kind: kind, Data: data})
			}
			return kind, size, data, nil
		}
		if try > 0 && (!errors.Is(err, ErrNotFound) || db.Current()) {
			break
		}
	}
	if errors.Is(err, ErrNotFound) {
		return "", 0, nil, fmt.Errorf("object %s: %w", h, ErrNotFound)
	}
	return "", 0, nil, fmt.Errorf("read object %s: %w", h, err)
}

// Read returns an object's kind and content. Errors: ErrNotFound.
func (r *Repo) Read(h Hash) (Kind, []byte, error) {
	kind, _, data, err := r.get(h, true)
	return kind, data, err
}

func (r *Repo) readAs(h Hash, want Kind) ([]byte, error) {
	kind, data, err := r.Read(h)
	if err != nil {
		return nil, err
	}
	if kind != want {
		return nil, fmt.Errorf("object %s is a %s, not a %s", h, kind, want)
	}
	return data, nil
}

// Blob returns a file's content.
func (r *Repo) Blob(h Hash) ([]byte, error) { return r.readAs(h, KindBlob) }

// BlobSize returns a file's size in bytes.
func (r *Repo) BlobSize(h Hash) (int64, error) {
	_, size, _, err := r.get(h, false)
	return size, err
}

// Tree returns a folder's entries, in git's order.
func (r *Repo) Tree(h Hash) ([]TreeEntry, error) {
	return decoded(r, h, KindTree, gitobject.DecodeTree)
}

// Commit returns a commit.
func (r *Repo) Commit(h Hash) (Commit, error) { return decoded(r, h, KindCommit, DecodeCommit) }

// Tag returns an annotated tag of a commit.
func (r *Repo) Tag(h Hash) (Tag, error) { return decoded(r, h, KindTag, DecodeTag) }

func decoded[T any](r *Repo, h Hash, kind Kind, decode func([]byte) (T, error)) (out T, err error) {
	raw, err := r.readAs(h, kind)
	if err != nil {
		return out, err
	}
	if out, err = decode(raw); err != nil {
		return out, fmt.Errorf("%s %s: %w", kind, h, err)
	}
	return out, nil
}

// Peel returns the commit that a tag names; other objects name themselves.
func (r *Repo) Peel(h Hash) (Hash, error) {
	kind, raw, err := r.Read(h)
	if err != nil || kind != KindTag {
		return h, err
	}
	t, err := DecodeTag(raw)
	return t.Object, err
}

// ResolvePrefix returns the one object whose id starts with prefix, at least four hex digits. Errors:
// ErrNotFound; an error with the number of objects if several match.
func (r *Repo) ResolvePrefix(prefix string) (Hash, error) {
	if len(prefix) == 40 {
		h, err := ParseHash(prefix)
		if err == nil {
			_, _, err = r.Read(h)
		}
		return h, err
	}
	var found []Hash
	if len(prefix) >= 4 && strings.Trim(prefix, "0123456789abcdef") == "" {
		for range maxLookups {
			db := r.objects(true)
			var err error
			if found, err = db.WithPrefix(prefix); err != nil {
				return ZeroHash, err
			}
			if len(found) > 0 || db.Current() {
				break
			}
		}
	}
	switch len(found) {
	case 0:
		return ZeroHash, fmt.Errorf("object %s: %w", prefix, ErrNotFound)
	case 1:
		return found[0], nil
	}
	return ZeroHash, fmt.Errorf("%s could be any of %d objects: give more digits", prefix, len(found))
}

// KeepObjects caches what is read, up to a limit, until release is called: for work that reads the
// same objects more than once. Callers must not change what they get.
func (r *Repo) KeepObjects() (release func()) {
	r.cache.Use(1)
	return sync.OnceFunc(func() { r.cache.Use(-1) })
}

// LoosePath returns the path of a loose object.
func (r *Repo) LoosePath(h Hash) string {
	hex := h.String()
	return filepath.Join(r.gitDir, "objects", hex[:2], hex[2:])
}
