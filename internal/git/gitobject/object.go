// Package gitobject knows git's objects: their names, how they are written, and where those
// that are there lie, loose and in packs. It changes nothing.
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

// Hash names a git object: a SHA-1.
type Hash [20]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether the hash names nothing.
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

// Signature is who did something, and when.
type Signature struct {
	Name, Email string
	When        time.Time
}

// HashObject computes the name of an object.
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

// MaxObject is the largest object that is read, in bytes: far above any segment, and
// a bound on what a crafted repository can make the program hold in memory.
const MaxObject = 256 << 20
