package gitobject

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zlib"
)

// inflater is a zlib reader that is used again.
type inflater struct{ z io.ReadCloser }

// fill inflates exactly as many bytes as data has.
func (z *inflater) fill(data []byte, from io.Reader) (err error) {
	next, err := inflate(z.z, from)
	if err != nil {
		return err
	}
	z.z = next
	if n, err := io.ReadFull(z.z, data); err != nil {
		return fmt.Errorf("it has %d bytes and claims %d: %w", n, len(data), err)
	}
	var one [1]byte
	if n, err := io.ReadFull(z.z, one[:]); n != 0 || !errors.Is(err, io.EOF) {
		return errLonger(int64(len(data)))
	}
	return nil
}

// inflate begins with what z is to read; nil: it makes one.
func inflate(z io.ReadCloser, from io.Reader) (io.ReadCloser, error) {
	if z == nil {
		return zlib.NewReader(from)
	}
	return z, z.(zlib.Resetter).Reset(from, nil)
}

func errLonger(size int64) error {
	return fmt.Errorf("it is damaged, or longer than the %d bytes that it claims", size)
}

// errShort says that a delta ends early.
var errShort = errors.New("it ends early")

// deltaSizes reads what a delta begins with: the sizes of its base and of what it makes.
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

// applyDelta makes an object of a base and a delta: sizes, then pieces to copy or insert.
func applyDelta(base, delta []byte) ([]byte, error) {
	from, size, ops, err := deltaSizes(delta)
	if err != nil {
		return nil, err
	}
	if from != int64(len(base)) {
		return nil, fmt.Errorf("it is for a base of %d bytes, not %d", from, len(base))
	}
	out := make([]byte, 0, size)
	for len(ops) > 0 {
		var piece []byte
		if n := int(ops[0]); n&0x80 != 0 {
			piece, ops, err = copied(base, ops)
		} else if n == 0 || n >= len(ops) {
			err = errShort
		} else {
			piece, ops = ops[1:1+n], ops[1+n:]
		}
		if err != nil {
			return nil, err
		}
		if int64(len(out)+len(piece)) > size {
			return nil, errors.New("it makes more than it claims")
		}
		out = append(out, piece...)
	}
	if int64(len(out)) != size {
		return nil, errShort
	}
	return out, nil
}

// copied reads an instruction to copy: bits for the bytes of offset and size, and those.
func copied(base, ops []byte) (piece, rest []byte, err error) {
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
		return nil, nil, errors.New("it copies what its base does not have")
	}
	return base[offset : offset+n], rest, nil
}
