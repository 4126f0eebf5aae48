package repo

import (
	"errors"
	"strings"

	"tape/internal/gitstore"
)

// A fork is a branch off a tape, or off another fork, and is read and written like a
// tape. Its commits have the whole tape up to the base, whose objects git shares.
//
// The first commit of its own adds nothing of its own: it says what the fork is called
// and with which entry of the parent it begins. Its tree is the base of a merge.

// IsFork reports whether this is a fork.
func (t *Tape) IsFork() bool { return t.fork != "" }

// ForkName is a fork's own name, without its parent's; "" for a tape.
func (t *Tape) ForkName() string { return t.fork }

// Parent is the name of the tape or fork that a fork was made of; "" for a tape.
func (t *Tape) Parent() string {
	if !t.IsFork() {
		return ""
	}
	return strings.TrimSuffix(t.name, "/"+t.fork)
}

// cutFork splits the name of a fork. Names of tapes may have a slash, of forks not.
func cutFork(name string) (parent, fork string, ok bool) {
	i := strings.LastIndexByte(name, '/')
	if i < 1 || i == len(name)-1 {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}

// forkHandle is the handle of the fork PARENT/FORK, nil if that is none.
func (s *Store) forkHandle(name string) *Tape {
	parent, fork, ok := cutFork(name)
	if !ok {
		return nil
	}
	return &Tape{store: s, name: name, slug: tapeSlug(name), fork: fork,
		branch: forkPrefix + tapeSlug(parent) + "/" + tapeSlug(fork)}
}

// isForkOf reports whether a fork, or one that it is a fork of, is of a tape.
func (t *Tape) isForkOf(name string) bool {
	for f := t; f != nil; f = f.store.forkHandle(f.Parent()) {
		if f.Parent() == name {
			return true
		}
	}
	return false
}

// nameOfFork finds the name of a fork: the nearest commit that has one says it. A branch
// that somebody made by hand off another tape is named after its slug, and the parent
// whose slug comes before it.
func (s *Store) nameOfFork(branch string, head gitstore.Hash) (string, error) {
	name, err := s.nameAt(head)
	if err != nil || name != "" && branchOf(name, branch) == branch {
		return name, err
	}
	parentSlug, fork, ok := strings.Cut(strings.TrimPrefix(branch, forkPrefix), "/")
	if !ok || fork == "" || strings.Contains(fork, "/") {
		return "", &CorruptError{File: branch, Msg: "not the branch of a fork: fork/TAPE/NAME",
			Fix: "rename the branch with: git branch -m"}
	}
	parent, err := s.nameOfBranch(branchPrefix + parentSlug)
	if err == nil {
		return parent + "/" + fork, nil
	}
	if !errors.Is(err, gitstore.ErrNotFound) {
		return "", err
	}
	refs, err := s.git.Refs(forkPrefix)
	if err != nil {
		return "", classify(err)
	}
	for _, ref := range refs {
		if name, err := s.nameAt(ref.Hash); err == nil && name != "" && tapeSlug(name) == parentSlug {
			return name + "/" + fork, nil
		}
	}
	return parentSlug + "/" + fork, nil
}

// rootName is the name of the tape that a fork, or a fork of it, is of.
func (t *Tape) rootName() string {
	if !t.IsFork() {
		return t.name
	}
	h, err := t.head()
	if err == nil {
		if v, err := t.store.commitView(h); err == nil {
			if info, err := v.tapeInfo(); err == nil {
				return info.Name
			}
		}
	}
	// The branch is gone, or of no use: then the name of a tape is in its name.
	root := t.name
	for up, _, ok := cutFork(root); ok; up, _, ok = cutFork(up) {
		root = up
		if _, err := t.store.handle(root).head(); err == nil {
			break
		}
	}
	return root
}

// ownerOf is the tape or fork that a commit is of, as far as it says so.
func (t *Tape) ownerOf(h gitstore.Hash) *Tape {
	name, err := t.store.nameAt(h)
	if err != nil || name == "" || name == t.name {
		return t
	}
	return t.store.named(name, h)
}

// named is the handle of a name that a commit goes by: a tape's, or a fork's.
func (s *Store) named(name string, h gitstore.Hash) *Tape {
	c, err := s.git.Commit(h)
	if err == nil {
		v := &snapshot{git: s.git, commit: h}
		if v.root, err = s.git.Tree(c.Tree); err == nil {
			if info, err := v.tapeInfo(); err == nil && info.Name == name {
				return s.handle(name)
			}
		}
	}
	if f := s.forkHandle(name); f != nil {
		return f
	}
	return s.handle(name)
}
