// Package gitobject encodes, decodes and hashes git's objects, and reads those of a repository,
// loose and in packs. It changes nothing on disk.
package gitobject

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// ErrNotFound says that an object, ref or worktree does not exist.
var ErrNotFound = errors.New("not found")

// Hash is the id of a git object: a SHA-1.
type Hash [20]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether the hash is all zeros, which names no object.
func (h Hash) IsZero() bool { return h == Hash{} }

// ParseHash reads 40 hex digits.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) == 2*len(h) {
		if _, err := hex.Decode(h[:], []byte(s)); err == nil {
			return h, nil
		}
	}
	return h, fmt.Errorf("not an object id: %.60q", s)
}

// Signature says who did something, and when.
type Signature struct {
	Name, Email string
	When        time.Time
}

// HashObject returns the id of an object.
func HashObject(kind Kind, data []byte) Hash {
	s := sha1.New()
	fmt.Fprintf(s, "%s %d\x00", kind, len(data))
	s.Write(data)
	return Hash(s.Sum(nil))
}

// Kind is the type of a git object.
type Kind string

// The four kinds of git objects.
const (
	KindBlob   Kind = "blob"
	KindTree   Kind = "tree"
	KindCommit Kind = "commit"
	KindTag    Kind = "tag"
)

// MaxObject is the size in bytes of the largest object that is read: far above any segment, and
// a bound on the memory that a crafted repository can make the program use.
const MaxObject = 256 << 20
