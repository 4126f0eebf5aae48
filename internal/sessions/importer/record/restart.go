package record

import (
	"encoding/binary"
	"errors"
)

// Restart is a place in a source from which a later reading goes on as this one did. Nothing
// that was to be emitted before it is missing, and nothing is pending there.
type Restart struct {
	Off   int64
	Line  int
	Date  string // of the last item before it
	State []byte // what the format has to know of what is before it
	Since []Sum  // of the keys of what was emitted behind it
}

// ErrMisfit says that a source has something that cannot be understood from where a reading was
// to go on: it has to be read from its beginning.
var ErrMisfit = errors.New("has to be read from the beginning")

// Mark notes that a later reading can begin with a record, which is about to be looked at. The
// reader fills in the state at the end.
func (r *Reading) Mark(at Span) {
	var before [1]byte
	if at.Off > 0 {
		if _, err := r.R.ReadAt(before[:], at.Off-1); err != nil || before[0] != '\n' {
			return // there is something else on its line
		}
	}
	r.Last = &Restart{Off: at.Off, Line: at.Line, Date: r.Date}
}

// emit hands an item on.
func (r *Reading) emit(item Item) {
	if r.Last != nil {
		r.Last.Since = append(r.Last.Since, item.Sum())
	}
	r.Fail(r.Emit(item))
}

// Sum tells items of a source apart.
func (i Item) Sum() Sum { return SumOf(i.Fork + "\x00" + i.Keys[0]) }

// State is what a format keeps for a restart.
type State []byte

// Bytes adds some bytes.
func (s *State) Bytes(b []byte) {
	*s = append(binary.AppendUvarint(*s, uint64(len(b))), b...)
}

// Counter adds a counter as it was at its last mark.
func (s *State) Counter(c *Counter) {
	for _, ch := range c.since {
		c.n[ch.Sum] -= ch.by
	}
	*s = binary.AppendUvarint(*s, uint64(len(c.n)))
	for k, n := range c.n {
		*s = binary.AppendUvarint(append(*s, k[:]...), uint64(n))
	}
	for _, ch := range c.since {
		c.n[ch.Sum] += ch.by
	}
}

// TakeBytes takes what Bytes added, or nil if there is nothing that makes sense.
func (s *State) TakeBytes() []byte {
	size, n := binary.Uvarint(*s)
	if n <= 0 || size > uint64(len(*s)-n) {
		*s = nil
		return nil
	}
	b := (*s)[n : n+int(size)]
	*s = (*s)[n+int(size):]
	return b
}

// TakeCounter takes what Counter added.
func (s *State) TakeCounter() Counter {
	size, n := binary.Uvarint(*s)
	c := Counter{n: map[Sum]int32{}}
	for rest := (*s)[max(n, 0):]; n > 0 && size > 0; size-- {
		if len(rest) <= len(Sum{}) {
			break
		}
		times, width := binary.Uvarint(rest[len(Sum{}):])
		c.n[Sum(rest)] = int32(times)
		rest = rest[len(Sum{})+max(width, 0):]
		*s = rest
	}
	if len(c.n) == 0 {
		*s = (*s)[max(n, 0):]
	}
	return c
}
