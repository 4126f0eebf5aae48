package gitstore

import "tape/internal/git/gitobject"

// The types of [gitobject] that users of a repository need.
type (
	// Hash is the id of an object.
	Hash = gitobject.Hash
	// Kind is one of the four kinds of objects.
	Kind = gitobject.Kind
	// Signature says who did something, and when.
	Signature = gitobject.Signature
	// TreeEntry is a file or folder of a tree.
	TreeEntry = gitobject.TreeEntry
	// Commit is a commit's content.
	Commit = gitobject.Commit
	// Tag is the content of an annotated tag.
	Tag = gitobject.Tag
)

// The kinds of git objects, the modes of tree entries, and the limit on objects in bytes.
const (
	KindBlob   = gitobject.KindBlob
	KindTree   = gitobject.KindTree
	KindCommit = gitobject.KindCommit
	KindTag    = gitobject.KindTag
	ModeFile   = gitobject.ModeFile
	ModeDir    = gitobject.ModeDir
	MaxObject  = gitobject.MaxObject
)

// ZeroHash names no object; in a ref update it stands for "does not exist".
var ZeroHash Hash

// ErrNotFound says that an object, ref or worktree does not exist.
var ErrNotFound = gitobject.ErrNotFound

// How objects are named, written and read.
var (
	ParseHash     = gitobject.ParseHash
	HashObject    = gitobject.HashObject
	EncodeTree    = gitobject.EncodeTree
	DecodeAnyTree = gitobject.DecodeAnyTree
	EncodeCommit  = gitobject.EncodeCommit
	DecodeCommit  = gitobject.DecodeCommit
	EncodeTag     = gitobject.EncodeTag
	DecodeTag     = gitobject.DecodeTag
)
