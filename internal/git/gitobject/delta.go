package gitobject

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zlib"
)

// inflater is a zlib reader that is reused.
type inflater struct{ z io.ReadCloser }

// fill inflates data that must have exactly the length of the slice.
func (z *inflater) fill(data []byte, from io.Reader) (err error) {
	next, err := inflate(z.z, from)
	if err != nil {
		return err
	}
	z.z = next
	if n, err := io.ReadFull(z.z, data); err != nil {
		return fmt.Errorf("the object has %d bytes and claims %d: %w", n, len(data), err)
	}
	var one [1]byte
	if n, err := io.ReadFull(z.z, one[:]); n != 0 || !errors.Is(err, io.EOF) {
		return errLonger(int64(len(data)))
	}
	return nil
}

// inflate makes z read from another source. If z is nil it returns a new reader.
func inflate(z io.ReadCloser, from io.Reader) (io.ReadCloser, error) {
	if z == nil {
		return zlib.NewReader(from)
	}
	return z, z.(zlib.Resetter).Reset(from, nil)
}

func errLonger(size int64) error {
	return fmt.Errorf("the object is damaged, or longer than the %d bytes that it claims", size)
}

var errShort = errors.New("the delta ends too early")

// deltaSizes reads the head of a delta: the sizes of its base and of its result. ops is the rest.
func deltaSizes(delta []byte) (base, size int64, ops []byte, err error) {
	b, n := binary.Uvarint(delta)
	s, m := binary.Uvarint(delta[max(n, 0):])
	switch {
	case n <= 0 || m <= 0:
		return 0, 0, nil, errShort
	case b > MaxObject || s > MaxObject:
		return 0, 0, nil, errTooLarge(int64(max(b, s)))
	}
	return int64(b), int64(s), delta[n+m:], nil
}

// applyDelta applies a delta, sizes and then pieces to copy or to insert, to its base.
func applyDelta(base, delta []byte) ([]byte, error) {
	from, size, ops, err := deltaSizes(delta)
	if err != nil {
		return nil, err
	}
	if from != int64(len(base)) {
		return nil, fmt.Errorf("the delta is for a base of %d bytes, not %d", from, len(base))
	}
	out := make([]byte, 0, size)
	for len(ops) > 0 {
		var piece []byte
		if n := int(ops[0]); n&0x80 != 0 {
			piece, ops, err = readCopy(base, ops)
		} else if n == 0 || n >= len(ops) {
			err = errShort
		} else {
			piece, ops = ops[1:1+n], ops[1+n:]
		}
		if err != nil {
			return nil, err
		}
		if int64(len(out)+len(piece)) > size {
			return nil, errors.New("the delta's result is longer than it claims")
		}
		out = append(out, piece...)
	}
	if int64(len(out)) != size {
		return nil, errShort
	}
	return out, nil
}

// readCopy reads a copy instruction: a bit for each byte of offset and size that follows.
func readCopy(base, ops []byte) (piece, rest []byte, err error) {
	var place uint64 // the offset, and the size above it
	op, rest := ops[0], ops[1:]
	for bit := range 7 {
		if op&(1<<bit) == 0 {
			continue
		}
		if len(rest) == 0 {
			return nil, nil, errShort
		}
		place |= uint64(rest[0]) << (8 * bit)
		rest = rest[1:]
	}
	offset, n := place&math.MaxUint32, place>>32
	if n == 0 {
		n = 0x10000
	}
	if offset+n > uint64(len(base)) {
		return nil, nil, errors.New("the delta copies from beyond its base")
	}
	return base[offset : offset+n], rest, nil
}
