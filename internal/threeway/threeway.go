// Package threeway merges two sides of an append-only sequence of entries.
//
// Both sides begin with the base. The merge keeps every byte of our side and
// appends what theirs has besides: each entry under the next free id, with its
// former place in meta.origin. Nothing else of a line changes: white space, the
// order of keys, spellings of numbers and members that nobody knows stay.
//
// An entry is known again by its identity, which is its origin or else its place
// on the side it is on, together with all that it says. Therefore a second merge
// adds nothing, and an origin that somebody made up cannot make an entry vanish.
//
// The package does no I/O.
package threeway

import (
	"bytes"
	"errors"
	"fmt"
	"math"
)

// Origin says on which tape and fork entries have their ids. Both names are
// valid UTF-8; Fork is empty for a tape, and "x/y" for fork y of fork x.
type Origin struct {
	Tape, Fork string
}

// Input is what is merged. Lines are without newlines, with ids that count up by
// one; the first line of base, ours and theirs has the id After + 1. What is
// before it is the same on all three, so that it need not be read.
type Input struct {
	Base, Ours, Theirs [][]byte
	After              int64 // 0 when the lines are those of whole tapes

	// TheirsAfter is the last entry of theirs that was merged already, where that is
	// behind After: their lines begin behind it then, and there is no base.
	TheirsAfter int64

	OursOrigin, TheirsOrigin Origin

	// Apart says that behind the base each side wrote for itself: equal lines at one
	// place are two entries. Otherwise they are common.
	Apart bool
}

// Result is what a merge adds to our side.
type Result struct {
	Lines   [][]byte // to be appended behind ours, without newlines
	FirstID int64    // 0 when there are none
	LastID  int64
}

// ConflictError says that a side does not begin with the base: its history was
// rewritten.
type ConflictError struct {
	Theirs bool   // which side
	ID     int64  // of the first entry that differs
	Base   []byte // its line in the base
	Side   []byte // its line on the side; nil when the side ends before it
}

func (e *ConflictError) Error() string {
	what := "differs from the base"
	if e.Side == nil {
		what = "of the base is missing"
	}
	return fmt.Sprintf("%s rewrote history: entry %d %s", sideName(e.Theirs), e.ID, what)
}

// LineError says that a line is not the entry that it should be.
type LineError struct {
	Theirs bool
	ID     int64 // by its position
	Err    error
}

func (e *LineError) Error() string {
	return fmt.Sprintf("entry %d of %s: %v", e.ID, sideName(e.Theirs), e.Err)
}

// Unwrap returns the reason.
func (e *LineError) Unwrap() error { return e.Err }

func sideName(theirs bool) string {
	if theirs {
		return "their side"
	}
	return "our side"
}

// Merge returns what has to be appended to our side, so that it has the entries
// of both. Lines that both sides have at one position directly behind the base
// are common, unless Apart. The result holds no part of the input's lines. The error is a
// *ConflictError when a side does not begin with the base, or a *LineError.
//
// It takes time in proportion to the bytes of the input; lines of ours are
// compared and searched, but hardly ever decoded.
func Merge(in Input) (Result, error) {
	if err := checkBase(in, false, in.Ours); err != nil {
		return Result{}, err
	}
	if err := checkBase(in, true, in.Theirs); err != nil {
		return Result{}, err
	}
	if in.After < 0 || in.After > math.MaxInt64-int64(len(in.Ours))-int64(len(in.Theirs)) {
		return Result{}, fmt.Errorf("merge behind entry %d: no such ids", in.After)
	}
	if in.TheirsAfter > in.After && len(in.Base) > 0 {
		return Result{}, errors.New("merge: a base, though part of their side was merged already")
	}
	m := merger{in: in, common: commonLines(in)}
	return m.run()
}

// checkBase makes sure that a side begins with the base.
func checkBase(in Input, theirs bool, side [][]byte) error {
	for i, line := range in.Base {
		if i < len(side) && bytes.Equal(line, side[i]) {
			continue
		}
		c := &ConflictError{Theirs: theirs, ID: in.After + int64(i) + 1, Base: line}
		if i < len(side) {
			c.Side = side[i]
			if c.Side == nil {
				c.Side = []byte{}
			}
		}
		return c
	}
	return nil
}

// theirID is the id of a line of theirs.
func (in *Input) theirID(i int) int64 { return max(in.After, in.TheirsAfter) + int64(i) + 1 }

// commonLines returns how many lines both sides have in common at their start.
func commonLines(in Input) int {
	n := len(in.Base)
	if in.Apart || in.TheirsAfter > in.After {
		return n
	}
	for n < len(in.Ours) && n < len(in.Theirs) && bytes.Equal(in.Ours[n], in.Theirs[n]) {
		n++
	}
	return n
}
