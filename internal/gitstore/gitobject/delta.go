package gitobject

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

// inflater is a zlib reader that is used again.
type inflater struct{ z io.ReadCloser }

// fill inflates exactly as many bytes as data has.
func (z *inflater) fill(data []byte, from io.Reader) error {
	if err := z.begin(from); err != nil {
		return err
	}
	n, err := io.ReadFull(z.z, data)
	return z.end(int64(n), int64(len(data)), err)
}

func (z *inflater) begin(from io.Reader) (err error) {
	if z.z == nil {
		z.z, err = zlib.NewReader(from)
		return err
	}
	return z.z.(zlib.Resetter).Reset(from, nil)
}

func (z *inflater) end(n, size int64, err error) error {
	if err != nil {
		return fmt.Errorf("it has %d bytes and claims %d: %w", n, size, err)
	}
	var one [1]byte
	if n, err := io.ReadFull(z.z, one[:]); n != 0 || !errors.Is(err, io.EOF) {
		return fmt.Errorf("it is damaged, or longer than the %d bytes that it claims", size)
	}
	return nil
}

// applyDelta makes an object of a base and a delta on it: two sizes, then pieces to copy
// from the base or to insert.
func applyDelta(base, delta []byte) ([]byte, error) {
	short := errors.New("it ends early")
	number := func() (uint64, error) {
		n, used := binary.Uvarint(delta)
		if used <= 0 {
			return 0, short
		}
		delta = delta[used:]
		return n, nil
	}
	from, err := number()
	if err != nil {
		return nil, err
	}
	size, err := number()
	if err != nil {
		return nil, err
	}
	if from != uint64(len(base)) {
		return nil, fmt.Errorf("it is for a base of %d bytes, not %d", from, len(base))
	}
	if size > MaxObject {
		return nil, errTooLarge(int64(size))
	}
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		if op&0x80 == 0 {
			n := int(op)
			if n == 0 || n > len(delta) {
				return nil, short
			}
			out, delta = append(out, delta[:n]...), delta[n:]
		} else {
			var offset, n uint32
			for bit := range 7 {
				if op&(1<<bit) == 0 {
					continue
				}
				if len(delta) == 0 {
					return nil, short
				}
				if bit < 4 {
					offset |= uint32(delta[0]) << (8 * bit)
				} else {
					n |= uint32(delta[0]) << (8 * (bit - 4))
				}
				delta = delta[1:]
			}
			if n == 0 {
				n = 0x10000
			}
			if uint64(offset)+uint64(n) > uint64(len(base)) {
				return nil, errors.New("it copies what its base does not have")
			}
			out = append(out, base[offset:offset+n]...)
		}
		if uint64(len(out)) > size {
			return nil, errors.New("it makes more than it claims")
		}
	}
	if uint64(len(out)) != size {
		return nil, short
	}
	return out, nil
}
