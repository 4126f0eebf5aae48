// Package threeway merges two sides of an append-only sequence of entries.
//
// Both sides begin with the base. The merge keeps every byte of our side and
// appends the entries that only theirs has: each with the next free id, and its
// former place in meta.origin. Nothing else of a line changes: white space, the
// order of keys, spellings of numbers and unknown members stay.
//
// Two entries are the same if they have the same identity and the same content. The
// identity is the origin, or else the place on its own side. So a second merge adds nothing, and
// a forged origin cannot make an entry vanish.
//
// The package does no I/O.
package threeway

import (
	"bytes"
	"fmt"
	"math"
)

// Origin is the tape or fork on which an entry was written. Both names are valid
// UTF-8; Fork is empty for a tape, and "x/y" for fork y of fork x.
type Origin struct {
	Tape, Fork string
}

// Input has the lines that both sides have after the base, without newlines. Their ids
// count up from After + 1.
type Input struct {
	Ours, Theirs [][]byte
	After        int64 // the last entry of the base; 0: the lines are whole tapes

	// TheirsAfter is the last entry of theirs that was merged before. If it is more
	// than After, their lines begin after it.
	TheirsAfter int64

	OursOrigin, TheirsOrigin Origin

	// Independent says that the sides were written independently: equal lines at the same
	// place are two entries. Otherwise they are one.
	Independent bool
}

// lineError is an error about a line that is not the expected entry.
func lineError(theirs bool, id int64, err error) error {
	side := "our side"
	if theirs {
		side = "their side"
	}
	return fmt.Errorf("entry %d of %s: %w", id, side, err)
}

// Merge returns the lines to append to our side so that it has the entries of both.
// Equal lines at the same position directly after the base are common, unless Independent.
// The result does not alias the input. It is an error if a line is not the expected
// entry, or After leaves no ids.
//
// It takes time in proportion to the bytes of the input; our lines are compared and
// searched, but hardly ever decoded.
func Merge(in Input) ([][]byte, error) {
	if in.After < 0 || in.After > math.MaxInt64-int64(len(in.Ours))-int64(len(in.Theirs)) {
		return nil, fmt.Errorf("merge after entry %d: no such ids", in.After)
	}
	m := merger{in: in, common: commonLines(in)}
	return m.run()
}

// theirID returns the id of their i-th line; i begins at 0.
func (in *Input) theirID(i int) int64 { return max(in.After, in.TheirsAfter) + int64(i) + 1 }

// commonLines returns how many lines both sides have in common at their start.
func commonLines(in Input) int {
	n := 0
	if in.Independent || in.TheirsAfter > in.After {
		return n
	}
	for n < len(in.Ours) && n < len(in.Theirs) && bytes.Equal(in.Ours[n], in.Theirs[n]) {
		n++
	}
	return n
}
