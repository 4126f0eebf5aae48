package pages

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
)

// Folder is a tree with changes. Names are relative, with slashes. Folders are read when they are needed.
type Folder struct {
	git   *gitstore.Repo
	batch *gitstore.Batch
	root  *node
}

// node is a folder: its entries as they are stored, and those below which something was read or changed.
type node struct {
	entries []gitstore.TreeEntry
	below   map[string]*node
	changed bool
}

// openFolder returns the folder of a tree; a zero tree is empty. Changes are put into batch, which the caller flushes.
func openFolder(git *gitstore.Repo, batch *gitstore.Batch, tree gitstore.Hash) (*Folder, error) {
	root, err := load(git, tree)
	return &Folder{git, batch, root}, err
}

func load(git *gitstore.Repo, tree gitstore.Hash) (*node, error) {
	n := &node{below: map[string]*node{}}
	if tree.IsZero() {
		return n, nil
	}
	var err error
	n.entries, err = git.Tree(tree)
	return n, err
}

func (n *node) find(name string) int {
	return slices.IndexFunc(n.entries, func(e gitstore.TreeEntry) bool { return e.Name == name })
}

// folder returns the folder that a name is in, and the last part of the name. If create, it makes missing folders;
// otherwise their error is fs.ErrNotExist.
func (f *Folder) folder(name string, create bool) (*node, string, error) {
	if !fs.ValidPath(name) {
		return nil, "", fmt.Errorf("%w: %q", fs.ErrInvalid, name)
	}
	n := f.root
	for {
		dir, rest, more := strings.Cut(name, "/")
		if !more {
			return n, name, nil
		}
		next := n.below[dir]
		if next == nil {
			i := n.find(dir)
			switch {
			case i >= 0 && n.entries[i].IsDir():
				var err error
				if next, err = load(f.git, n.entries[i].Hash); err != nil {
					return nil, "", err
				}
			case !create:
				return nil, "", fmt.Errorf("%w: %s", fs.ErrNotExist, name)
			case i >= 0:
				return nil, "", fmt.Errorf("%w: %s is a file", fs.ErrExist, dir)
			default:
				next = &node{below: map[string]*node{}}
			}
			n.below[dir] = next
		}
		n.changed = n.changed || create
		n, name = next, rest
	}
}

func (f *Folder) entry(name string) (gitstore.TreeEntry, error) {
	n, last, err := f.folder(name, false)
	if err != nil {
		return gitstore.TreeEntry{}, err
	}
	i := n.find(last)
	if i < 0 || n.entries[i].Mode != gitstore.ModeFile {
		return gitstore.TreeEntry{}, fmt.Errorf("%w: %s", fs.ErrNotExist, name)
	}
	return n.entries[i], nil
}

// Read returns the content of a file. Errors: fs.ErrNotExist.
func (f *Folder) Read(name string) ([]byte, error) {
	e, err := f.entry(name)
	if err != nil {
		return nil, err
	}
	return f.git.Blob(e.Hash)
}

// Size returns the size of a file in bytes. Errors: fs.ErrNotExist.
func (f *Folder) Size(name string) (int64, error) {
	e, err := f.entry(name)
	if err != nil {
		return 0, err
	}
	return f.git.BlobSize(e.Hash)
}

// Write sets the content of a file. Errors: fs.ErrExist if something other than a file has the name of the file or
// of a folder above it, fs.ErrInvalid.
func (f *Folder) Write(name string, data []byte) error {
	n, last, err := f.folder(name, true)
	if err != nil {
		return err
	}
	e := gitstore.TreeEntry{Name: last, Mode: gitstore.ModeFile, Hash: f.batch.Put(gitstore.KindBlob, data)}
	n.changed = true
	if i := n.find(last); i >= 0 {
		if n.entries[i].Mode != gitstore.ModeFile {
			return fmt.Errorf("%w: %s is not a plain file", fs.ErrExist, name)
		}
		n.entries[i] = e
		return nil
	}
	n.entries = append(n.entries, e)
	return nil
}

// Remove removes a file, if it is there. Errors: fs.ErrInvalid.
func (f *Folder) Remove(name string) error {
	if _, err := f.entry(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	n, last, err := f.folder(name, true)
	if err == nil {
		n.entries = slices.Delete(n.entries, n.find(last), n.find(last)+1)
		n.changed = true
	}
	return err
}

// Tree puts the changed folders into the batch, and returns the tree.
func (f *Folder) Tree() gitstore.Hash { return f.store(f.root) }

func (f *Folder) store(n *node) gitstore.Hash {
	for name, below := range n.below {
		if !below.changed {
			continue
		}
		i := n.find(name)
		hash := f.store(below)
		switch {
		case len(below.entries) == 0 && i >= 0:
			n.entries = slices.Delete(n.entries, i, i+1)
		case len(below.entries) == 0:
		case i >= 0:
			n.entries[i].Hash = hash
		default:
			n.entries = append(n.entries, gitstore.TreeEntry{Name: name, Mode: gitstore.ModeDir, Hash: hash})
		}
	}
	return f.batch.Put(gitstore.KindTree, gitstore.EncodeTree(n.entries))
}

// Sync does nothing: what was written is durable when the batch was flushed.
func (f *Folder) Sync() error { return nil }
