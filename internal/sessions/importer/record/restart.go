package record

import (
	"encoding/binary"
	"errors"
)

// Restart is a place in a source where a later reading can begin: everything before it was emitted,
// and nothing is pending there.
type Restart struct {
	Off   int64
	Line  int
	Date  string // of the last item before it
	State []byte // what the format has to know about the part before it
	Since []byte // the sums of the items that were emitted after it, concatenated
}

// ErrNotRestartable says that a source cannot be read from a Restart, only from its beginning.
var ErrNotRestartable = errors.New("has to be read from the beginning")

// Mark notes that a later reading can begin with the record that comes next, if that begins its line. at is
// the record's place. The format sets the state at the end.
func (r *Reading) Mark(at Span) {
	var before [1]byte
	if at.Off > 0 {
		if _, err := r.R.ReadAt(before[:], at.Off-1); err != nil || before[0] != '\n' {
			return // the record does not begin its line
		}
	}
	r.Last = &Restart{Off: at.Off, Line: at.Line, Date: r.Date}
}

func (r *Reading) emit(item Item) {
	if r.Last != nil {
		sum := item.Sum()
		r.Last.Since = append(r.Last.Since, sum[:]...)
	}
	r.Fail(r.Emit(item))
}

// Sum identifies an item of a source.
func (i Item) Sum() Sum { return SumOf(i.Fork + "\x00" + i.Keys[0]) }

// State is what a format keeps for a restart.
type State []byte

// Bytes adds some bytes.
func (s *State) Bytes(b []byte) {
	*s = append(binary.AppendUvarint(*s, uint64(len(b))), b...)
}

// Counter adds a counter as it was at its last Mark.
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

// TakeBytes removes and returns what Bytes added, nil if the state is broken.
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

// TakeCounter removes and returns what Counter added.
func (s *State) TakeCounter() Counter {
	size, n := binary.Uvarint(*s)
	c := Counter{n: map[Sum]int32{}}
	for *s = (*s)[max(n, 0):]; n > 0 && size > 0 && len(*s) > len(Sum{}); size-- {
		times, width := binary.Uvarint((*s)[len(Sum{}):])
		c.n[Sum(*s)] = int32(times)
		*s = (*s)[len(Sum{})+max(width, 0):]
	}
	return c
}
