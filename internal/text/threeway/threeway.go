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
	"fmt"
	"math"
)

// Origin says on which tape and fork entries have their ids. Both names are
// valid UTF-8; Fork is empty for a tape, and "x/y" for fork y of fork x.
type Origin struct {
	Tape, Fork string
}

// Input is what is merged: lines without newlines, whose ids count up from After + 1 on
// either side. What is before, the base, is the same on both.
type Input struct {
	Ours, Theirs [][]byte
	After        int64 // 0 when the lines are those of whole tapes

	// TheirsAfter is the last entry of theirs that was merged already, where that is
	// behind After: their lines begin behind it then.
	TheirsAfter int64

	OursOrigin, TheirsOrigin Origin

	// Apart says that behind the base each side wrote for itself: equal lines at one
	// place are two entries. Otherwise they are common.
	Apart bool
}

// lineError says that a line is not the entry that it should be, by its position.
func lineError(theirs bool, id int64, err error) error {
	side := "our side"
	if theirs {
		side = "their side"
	}
	return fmt.Errorf("entry %d of %s: %w", id, side, err)
}

// Merge returns what has to be appended to our side, so that it has the entries
// of both. Lines that both sides have at one position directly behind the base
// are common, unless Apart. The result holds no part of the input's lines. It is an
// error if a line is not the entry that it should be, or After leaves no ids.
//
// It takes time in proportion to the bytes of the input; lines of ours are
// compared and searched, but hardly ever decoded.
func Merge(in Input) ([][]byte, error) {
	if in.After < 0 || in.After > math.MaxInt64-int64(len(in.Ours))-int64(len(in.Theirs)) {
		return nil, fmt.Errorf("merge after entry %d: no such ids", in.After)
	}
	m := merger{in: in, common: commonLines(in)}
	return m.run()
}

// theirID is the id of a line of theirs.
func (in *Input) theirID(i int) int64 { return max(in.After, in.TheirsAfter) + int64(i) + 1 }

// commonLines returns how many lines both sides have in common at their start.
func commonLines(in Input) int {
	n := 0
	if in.Apart || in.TheirsAfter > in.After {
		return n
	}
	for n < len(in.Ours) && n < len(in.Theirs) && bytes.Equal(in.Ours[n], in.Theirs[n]) {
		n++
	}
	return n
}
