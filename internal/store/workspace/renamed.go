package workspace

import (
	"context"
	"errors"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// RenamedFrom returns the former name of a branch that git has renamed (git branch -m), and whose commits
// still record the old name. It returns "" for other branches, and if a branch with the old name exists.
func (s *Store) RenamedFrom(branch string, head gitstore.Hash) (string, error) {
	name, err := s.NameAt(head)
	if err != nil || name == "" || layout.BranchOf(name, branch) == branch {
		return "", err
	}
	log, err := s.git.Reflog(branch)
	if err != nil {
		return "", nil // without a reflog it counts as a branch made by hand
	}
	for _, e := range log {
		from, to, ok := strings.Cut(strings.TrimPrefix(e.Message, "Branch: renamed "), " to ")
		if ok && to == branch && layout.BranchOf(name, from) == from {
			if _, err := s.git.Ref(from); errors.Is(err, gitstore.ErrNotFound) {
				return from, nil
			}
		}
	}
	return "", nil
}

// RenamedError returns the error for a branch that git has renamed; it says how to rename it back.
func (s *Store) RenamedError(from, to string) error {
	from, to = strings.TrimPrefix(from, "refs/heads/"), strings.TrimPrefix(to, "refs/heads/")
	return &layout.CorruptError{File: to, Msg: "git has renamed the branch " + from + ", but its commits are of the old name",
		Fix: "rename it back with: git -C " + layout.ShellWord(s.dir) + " branch -m " + layout.ShellWord(to) + " " + layout.ShellWord(from)}
}

// CheckRenamed returns an error if a tape or fork is missing because git renamed its branch.
func (s *Store) CheckRenamed(ctx context.Context, name string) error {
	for _, prefix := range []string{layout.BranchPrefix, layout.ForkPrefix} {
		refs, err := s.git.Refs(prefix)
		if err != nil {
			return layout.Classify(err)
		}
		for _, ref := range refs {
			if err := ctx.Err(); err != nil {
				return err
			}
			from, err := s.RenamedFrom(ref.Name, ref.Hash)
			if err == nil && from != "" && from == layout.BranchOf(name, from) {
				return s.RenamedError(from, ref.Name)
			}
		}
	}
	return nil
}
