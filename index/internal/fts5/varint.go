package fts5

import "math/bits"

// SQLite's varint: groups of seven bits, highest first; a ninth byte has eight.

func appendVarint(b []byte, v uint64) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	if v>>56 != 0 {
		for s := 57; s > 1; s -= 7 {
			b = append(b, byte(v>>s)|0x80)
		}
		return append(b, byte(v))
	}
	for s := (varintLen(v) - 1) * 7; s > 0; s -= 7 {
		b = append(b, byte(v>>s)|0x80)
	}
	return append(b, byte(v&0x7f))
}

func varintLen(v uint64) int {
	if v>>56 != 0 {
		return 9
	}
	return (bits.Len64(v|1) + 6) / 7
}

// varint decodes the number at the start of b, and returns its length, 0 if b is cut off.
func varint(b []byte) (v uint64, n int) {
	for i, c := range b {
		if i == 8 {
			return v<<8 | uint64(c), 9
		}
		v = v<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// varints decodes consecutive numbers. ok becomes false when the bytes are cut off or a number exceeds its limit.
type varints struct {
	b  []byte
	ok bool
}

func (r *varints) next(limit uint64) uint64 {
	v, n := varint(r.b)
	if n == 0 || v > limit {
		r.ok, r.b = false, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}
