package workspace

import (
	"errors"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// A fork is a branch from a tape or from another fork, and is read and written like a tape. Its commits
// have all entries of the parent up to the base; git shares the objects.
//
// Its own first commit adds no entries: it says what the fork is called and after which entry of the
// parent it begins. The tree of that commit is the base of a merge.

// IsFork reports whether this is a fork.
func (t *Tape) IsFork() bool { return t.fork != "" }

// ForkName returns a fork's own name, without its parent's; "" for a tape.
func (t *Tape) ForkName() string { return t.fork }

// Parent returns the name of the tape or fork that a fork was made from; "" for a tape.
func (t *Tape) Parent() string {
	if !t.IsFork() {
		return ""
	}
	return strings.TrimSuffix(t.name, "/"+t.fork)
}

// ForkHandle returns the handle of the fork PARENT/FORK; nil if name cannot be a fork's.
func (s *Store) ForkHandle(name string) *Tape {
	parent, fork, ok := layout.CutFork(name)
	if !ok {
		return nil
	}
	return &Tape{store: s, name: name, slug: layout.TapeSlug(name), fork: fork,
		branch: layout.ForkPrefix + layout.TapeSlug(parent) + "/" + layout.TapeSlug(fork)}
}

// IsForkOf reports whether name is the parent of a fork, or the parent's parent, and so on. It is false for
// a nil Tape.
func (t *Tape) IsForkOf(name string) bool {
	for f := t; f != nil; f = f.store.ForkHandle(f.Parent()) {
		if f.Parent() == name {
			return true
		}
	}
	return false
}

// NameOfFork returns the name of a fork from the nearest commit that records a name. If that is not a name of
// this branch, somebody made the branch by hand: it is named PARENT/SLUG, with the parent's slug if no parent is
// found.
func (s *Store) NameOfFork(branch string, head gitstore.Hash) (string, error) {
	name, err := s.NameAt(head)
	if err != nil || name != "" && layout.BranchOf(name, branch) == branch {
		return name, err
	}
	parentSlug, fork, ok := strings.Cut(strings.TrimPrefix(branch, layout.ForkPrefix), "/")
	if !ok || fork == "" || strings.Contains(fork, "/") {
		return "", &layout.CorruptError{File: branch, Msg: "not the branch of a fork: fork/TAPE/NAME",
			Fix: "rename the branch with: git branch -m"}
	}
	parent, err := s.nameOfBranch(layout.BranchPrefix + parentSlug)
	if err == nil {
		return parent + "/" + fork, nil
	}
	if !errors.Is(err, gitstore.ErrNotFound) {
		return "", err
	}
	refs, err := s.git.Refs(layout.ForkPrefix)
	if err != nil {
		return "", layout.Classify(err)
	}
	for _, ref := range refs {
		if name, err := s.NameAt(ref.Hash); err == nil && name != "" && layout.TapeSlug(name) == parentSlug {
			return name + "/" + fork, nil
		}
	}
	return parentSlug + "/" + fork, nil
}
