package repo

import (
	"cmp"
	"fmt"
	"slices"

	"tape/internal/gitstore"
)

// phase is one folder under anchors/.
type phase struct {
	seq    int
	folder string
	tree   gitstore.Hash // in a commit; zero in a working tree
}

// segment is one file of a phase.
type segment struct {
	class class
	n     int   // 1, 2, 3 …
	size  int64 // bytes that belong to the view; -1: all there are
	hash  gitstore.Hash
}

func (s segment) name() string { return segmentName(s.class, s.n) }

// view is a consistent look at a tape: a commit, or the working tree at one moment.
type view interface {
	phases() []phase
	// anchorLine returns the content of the phase's anchor.json.
	anchorLine(p phase) ([]byte, error)
	// segments returns the files of a phase, each class in order.
	segments(p phase) ([classCount][]segment, error)
	// content returns a file's bytes.
	content(p phase, s segment) ([]byte, error)
	// beginning returns the first bytes of a file, n or a little more if it has them.
	beginning(p phase, s segment, n int) ([]byte, error)
	// check refuses content that is not what was recorded.
	check(p phase, file string, data []byte) error
	// where names a file in messages.
	where(p phase, file string) string
	// open reports whether the phase may still be growing.
	open(p phase) bool
}

func sortPhases(ps []phase) {
	slices.SortFunc(ps, func(a, b phase) int { return cmp.Compare(a.seq, b.seq) })
}

// groupSegments sorts the files of a phase by class and number, and refuses gaps.
func groupSegments(found []segment, where string) ([classCount][]segment, error) {
	var out [classCount][]segment
	slices.SortFunc(found, func(a, b segment) int { return cmp.Compare(a.n, b.n) })
	for _, s := range found {
		out[s.class] = append(out[s.class], s)
		if len(out[s.class]) != s.n {
			return out, &CorruptError{File: where, Msg: fmt.Sprintf("%s is missing", segmentName(s.class, len(out[s.class])))}
		}
	}
	return out, nil
}
