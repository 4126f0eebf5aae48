package gitstore

import "tape/internal/gitstore/gitobject"

// What users of a repository need of its objects, see [gitobject].
type (
	// Hash names an object.
	Hash = gitobject.Hash
	// Kind is one of the four kinds of objects.
	Kind = gitobject.Kind
	// Signature is who did something, and when.
	Signature = gitobject.Signature
	// TreeEntry is a file or folder of a tree.
	TreeEntry = gitobject.TreeEntry
	// Commit is a commit's content.
	Commit = gitobject.Commit
	// Tag is the content of an annotated tag.
	Tag = gitobject.Tag
)

// The four kinds of git objects, the modes of tree entries, and the bound on objects.
const (
	KindBlob   = gitobject.KindBlob
	KindTree   = gitobject.KindTree
	KindCommit = gitobject.KindCommit
	KindTag    = gitobject.KindTag
	ModeFile   = gitobject.ModeFile
	ModeDir    = gitobject.ModeDir
	MaxObject  = gitobject.MaxObject
)

// ZeroHash names nothing; in a ref update it stands for "does not exist".
var ZeroHash Hash

// ErrNotFound says that an object, ref or worktree does not exist.
var ErrNotFound = gitobject.ErrNotFound

// ParseHash reads 40 hex digits.
func ParseHash(s string) (Hash, error) { return gitobject.ParseHash(s) }

// HashObject computes the name of an object.
func HashObject(kind Kind, data []byte) Hash { return gitobject.HashObject(kind, data) }

// EncodeTree gives the bytes of a tree object; entries may come in any order.
func EncodeTree(entries []TreeEntry) []byte { return gitobject.EncodeTree(entries) }

// DecodeTree reads a tree object. Names that could leave the folder are refused.
func DecodeTree(raw []byte) ([]TreeEntry, error) { return gitobject.DecodeTree(raw) }

// DecodeAnyTree reads a tree object whatever its names are.
func DecodeAnyTree(raw []byte) ([]TreeEntry, error) { return gitobject.DecodeAnyTree(raw) }

// EncodeCommit gives the bytes of a commit object.
func EncodeCommit(c Commit) []byte { return gitobject.EncodeCommit(c) }

// DecodeCommit reads a commit object.
func DecodeCommit(raw []byte) (Commit, error) { return gitobject.DecodeCommit(raw) }

// EncodeTag gives the bytes of a tag object.
func EncodeTag(t Tag) []byte { return gitobject.EncodeTag(t) }

// DecodeTag reads a tag object.
func DecodeTag(raw []byte) (Tag, error) { return gitobject.DecodeTag(raw) }
