package workspace

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// One damaged tape stops nothing but itself: lists leave it out, and name it once.

// leaveOut notes that a list lacks the tape or fork of a branch, and says so the first time.
func (s *Store) leaveOut(branch string, err error) {
	s.seen.Lock()
	known := s.seen.leftOut[branch]
	s.seen.leftOut[branch] = true
	s.seen.Unlock()
	if !known {
		way := "tape verify --repair mends what can be mended"
		for _, h := range layout.Hints(err) {
			if errors.Is(err, layout.ErrConflict) && h.Kind == "" {
				way = h.Text
			}
		}
		s.warn(cmp.Or(strings.TrimPrefix(branch, "refs/heads/"), "a ref") + " is left out: " + err.Error() + "; " + way)
	}
}

// LeaveOut is for a caller who cannot read a tape that the list has, and goes on with the others.
func (s *Store) LeaveOut(t *Tape, err error) { s.leaveOut(t.branch, err) }

// LeftOut returns the names of the branches of tapes and forks that were left out because they are damaged, sorted.
func (s *Store) LeftOut() []string {
	s.seen.Lock()
	defer s.seen.Unlock()
	var names []string
	for branch := range s.seen.leftOut {
		names = append(names, strings.TrimPrefix(branch, "refs/heads/"))
	}
	slices.Sort(names)
	return names
}

// errLost says that a branch is gone that was not deleted.
var errLost = errors.New("its ref is gone, although its log is there")

// CheckList returns an error if a list would leave out a tape or fork whose branch begins with prefix: for what must not
// be done without all of them.
func (s *Store) CheckList(ctx context.Context, prefix string) error {
	refs, err := s.git.Refs(prefix)
	if err != nil {
		return layout.Classify(err)
	}
	for _, ref := range refs {
		if _, err := s.TapeOfBranch(ref.Name); err != nil && !errors.Is(err, gitstore.ErrNotFound) && !errors.Is(err, layout.ErrNotFound) {
			return err
		}
	}
	if lost, _ := s.LostBranches(prefix, refs); len(lost) > 0 {
		return s.lost(lost[0])
	}
	return ctx.Err()
}

// LostBranches returns the branches that were lost: they have a log and no value. refs are those that exist. begun are those
// that may also have been cut off when they were made: nothing was written to them yet.
func (s *Store) LostBranches(prefix string, refs []gitstore.Ref) (lost, begun []string) {
	lost, one := s.git.LostRefs(prefix, refs)
	for _, name := range one {
		if s.hasTree(name) {
			lost = append(lost, name)
		} else {
			begun = append(begun, name)
		}
	}
	return lost, begun
}

func (s *Store) isLost(branch string) bool {
	n := s.git.ValuesOfLost(branch)
	return n > 1 || n == 1 && s.hasTree(branch)
}

// hasTree reports whether there are files of a branch where tape puts them.
func (s *Store) hasTree(branch string) bool {
	var dir string
	if rest, ok := strings.CutPrefix(branch, layout.BranchPrefix); ok {
		dir = filepath.Join(s.dir, layout.TapesDir, rest)
	} else if rest, ok := strings.CutPrefix(branch, layout.ForkPrefix); ok {
		dir = filepath.Join(s.dir, layout.ForksDir, filepath.FromSlash(rest))
	} else {
		return false
	}
	if at, _, err := s.git.Head(s.git.GitDir()); err == nil && at == branch {
		dir = s.dir
	}
	names, err := DirNames(filepath.Join(dir, layout.AnchorsDir))
	return err == nil && len(names) > 0
}

func (s *Store) lost(branch string) *layout.CorruptError {
	return &layout.CorruptError{File: filepath.Join(s.git.GitDir(), filepath.FromSlash(branch)), Msg: errLost.Error()}
}
