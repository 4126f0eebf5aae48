package gitstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// Kind is the type of a git object.
type Kind string

// The four kinds of git objects.
const (
	KindBlob   Kind = "blob"
	KindTree   Kind = "tree"
	KindCommit Kind = "commit"
	KindTag    Kind = "tag"
)

// MaxObject is the largest object that is read, in bytes: far above any segment, and
// a bound on what a crafted repository can make the program hold in memory.
const MaxObject = 256 << 20

// objects opens the object store anew if asked: packs come and go with git gc, and
// go-git reads their list once.
func (r *Repo) objects(fresh bool) *filesystem.ObjectStorage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.storage == nil || fresh {
		dir := dotgit.New(osfs.New(r.gitDir, osfs.WithBoundOS()))
		r.storage = filesystem.NewObjectStorage(dir, cache.NewObjectLRU(16*cache.MiByte))
	}
	return r.storage
}

// Read returns an object's kind and content. It returns ErrNotFound, wrapped, when
// the repository does not have it.
func (r *Repo) Read(h Hash) (Kind, []byte, error) {
	object, err := r.objects(false).EncodedObject(plumbing.AnyObject, plumbing.Hash(h))
	if err != nil {
		// Somebody may have repacked since the packs were listed.
		object, err = r.objects(true).EncodedObject(plumbing.AnyObject, plumbing.Hash(h))
	}
	switch {
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return "", nil, fmt.Errorf("object %s: %w", h, ErrNotFound)
	case err != nil:
		return "", nil, fmt.Errorf("read object %s: %w", h, err)
	case object.Size() > MaxObject:
		return "", nil, fmt.Errorf("object %s has %d bytes, more than the limit of %d", h, object.Size(), MaxObject)
	}
	reader, err := object.Reader()
	if err != nil {
		return "", nil, fmt.Errorf("read object %s: %w", h, err)
	}
	defer reader.Close()
	data := make([]byte, object.Size())
	if _, err := io.ReadFull(reader, data); err != nil {
		return "", nil, fmt.Errorf("read object %s: %w", h, err)
	}
	return Kind(object.Type().String()), data, nil
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
	size, err := r.objects(false).EncodedObjectSize(plumbing.Hash(h))
	if err != nil {
		size, err = r.objects(true).EncodedObjectSize(plumbing.Hash(h))
	}
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		err = ErrNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("size of object %s: %w", h, err)
	}
	return size, nil
}

// Tree returns a folder's entries, in git's order.
func (r *Repo) Tree(h Hash) ([]TreeEntry, error) {
	raw, err := r.readAs(h, KindTree)
	if err != nil {
		return nil, err
	}
	entries, err := DecodeTree(raw)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", h, err)
	}
	return entries, nil
}

// Commit returns a commit.
func (r *Repo) Commit(h Hash) (Commit, error) {
	raw, err := r.readAs(h, KindCommit)
	if err != nil {
		return Commit{}, err
	}
	c, err := DecodeCommit(raw)
	if err != nil {
		return c, fmt.Errorf("commit %s: %w", h, err)
	}
	return c, nil
}

// Tag returns an annotated tag of a commit.
func (r *Repo) Tag(h Hash) (Tag, error) {
	raw, err := r.readAs(h, KindTag)
	if err != nil {
		return Tag{}, err
	}
	t, err := DecodeTag(raw)
	if err != nil {
		return t, fmt.Errorf("tag %s: %w", h, err)
	}
	return t, nil
}

// Peel follows tags to the commit they name.
func (r *Repo) Peel(h Hash) (Hash, error) {
	kind, raw, err := r.Read(h)
	if err != nil || kind != KindTag {
		return h, err
	}
	t, err := DecodeTag(raw)
	return t.Object, err
}

// ResolvePrefix finds the one object whose name starts with hex, four digits or more.
// It returns ErrNotFound, or an error naming how many there are.
func (r *Repo) ResolvePrefix(prefix string) (Hash, error) {
	if len(prefix) == 40 {
		h, err := ParseHash(prefix)
		if err != nil {
			return h, err
		}
		if _, _, err := r.Read(h); err != nil {
			return h, err
		}
		return h, nil
	}
	var found []Hash
	if len(prefix) >= 4 {
		var err error
		if found, err = r.hashesWithPrefix(prefix); err != nil {
			return ZeroHash, err
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

func (r *Repo) hashesWithPrefix(prefix string) ([]Hash, error) {
	even := prefix[:len(prefix)/2*2]
	raw := make([]byte, len(even)/2)
	if _, err := fmt.Sscanf(even, "%x", &raw); err != nil {
		return nil, nil
	}
	candidates, err := r.objects(true).HashesWithPrefix(raw)
	if err != nil {
		return nil, err
	}
	var out []Hash
	seen := map[Hash]bool{}
	for _, c := range candidates {
		h := Hash(c)
		if h.String()[:len(prefix)] == prefix && !seen[h] {
			seen[h] = true
			out = append(out, h)
		}
	}
	return out, nil
}

// loosePath is where a loose object lies.
func (r *Repo) loosePath(h Hash) string {
	hex := h.String()
	return filepath.Join(r.gitDir, "objects", hex[:2], hex[2:])
}

// hasLoose reports whether an object lies loose.
func (r *Repo) hasLoose(h Hash) bool {
	st, err := os.Stat(r.loosePath(h))
	return err == nil && st.Size() > 0
}
