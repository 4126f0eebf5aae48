package needle

import (
	"encoding/binary"
	"math/bits"
)

const (
	ones  = 0x0101010101010101 // in every byte
	highs = 0x80 * ones
)

// lanes looks for three bytes that follow each other, eight places at a time:
// in source code in JSON, where one byte alone is everywhere, that is much
// faster than to look for one and to check the others.
//
// It compares pairs of bytes, at every second place only. Three bytes a, b, c
// have a, b or b, c at such a place; as the bits in which the two pairs differ
// are left out, one comparison finds either, and some other pairs besides.
type lanes struct {
	mask, want uint64 // the same for every pair, four times
}

const (
	pairs    = 0x0001000100010001
	pairTops = 0x8000 * pairs
)

// newLanes makes lanes that stop at a, b and at b, c, in either case if fold.
func newLanes(a, b, c byte, fold bool) *lanes {
	low, high := ^(a ^ b), ^(b^c)&0x7F
	if fold {
		low &^= caseBit(a) | caseBit(b)
		high &^= caseBit(b) | caseBit(c)
	}
	return &lanes{
		mask: pairs * (uint64(high)<<8 | uint64(low)),
		want: pairs * (uint64(b&high)<<8 | uint64(a&low)),
	}
}

// frequency returns how often lanes stop in stored entries.
func (l *lanes) frequency() int {
	of := func(mask, want byte) (sum int) {
		// Every way to set the bits that do not count.
		for c := ^mask; ; c = (c - 1) &^ mask {
			sum += Frequency(want | c)
			if c == 0 {
				return sum
			}
		}
	}
	return of(byte(l.mask), byte(l.want)) * of(byte(l.mask>>8), byte(l.want>>8)) / perByte
}

// caseBit returns the bit in which the cases of a small letter differ.
func caseBit(c byte) byte {
	if c-'a' < 26 {
		return 0x20
	}
	return 0
}

// index returns the first even offset in b of a pair that is looked for, or -1.
func (l *lanes) index(b []byte) int {
	const step = 64
	mask, want := l.mask, l.want
	i := 0
	for i+step <= len(b) {
		c := b[i : i+step : i+step]
		// The highest bit of a lane of mask is 0, so that of the sum is 0 only
		// where nothing differs, and no sum reaches the next lane.
		all := (binary.LittleEndian.Uint64(c)&mask ^ want) + (pairTops - pairs)
		all &= (binary.LittleEndian.Uint64(c[8:])&mask ^ want) + (pairTops - pairs)
		all &= (binary.LittleEndian.Uint64(c[16:])&mask ^ want) + (pairTops - pairs)
		all &= (binary.LittleEndian.Uint64(c[24:])&mask ^ want) + (pairTops - pairs)
		all &= (binary.LittleEndian.Uint64(c[32:])&mask ^ want) + (pairTops - pairs)
		all &= (binary.LittleEndian.Uint64(c[40:])&mask ^ want) + (pairTops - pairs)
		all &= (binary.LittleEndian.Uint64(c[48:])&mask ^ want) + (pairTops - pairs)
		all &= (binary.LittleEndian.Uint64(c[56:])&mask ^ want) + (pairTops - pairs)
		if all&pairTops != pairTops {
			break
		}
		i += step
	}
	for ; i+8 <= len(b); i += 8 {
		x := (binary.LittleEndian.Uint64(b[i:])&mask ^ want) + (pairTops - pairs)
		if stop := ^x & pairTops; stop != 0 {
			return i + bits.TrailingZeros64(stop)>>4*2
		}
	}
	for ; i+2 <= len(b); i += 2 {
		if (uint16(b[i])|uint16(b[i+1])<<8)&uint16(mask) == uint16(want) {
			return i
		}
	}
	return -1
}

// couple looks for two bytes at a distance, eight places at a time: where no
// three bytes are rare, two that do not depend on each other may be.
type couple struct {
	distance     int
	masks, wants [2]uint64 // the same for every byte, eight times
}

func newCouple(first, second byte, distance int, fold bool) *couple {
	p := &couple{distance: distance}
	for i, c := range [2]byte{first, second} {
		mask := byte(0x7F)
		if fold {
			mask &^= caseBit(c)
		}
		p.masks[i], p.wants[i] = ones*uint64(mask), ones*uint64(c&mask)
	}
	return p
}

// index is the first offset in b with both bytes, or -1; it may stop outside ASCII, too.
func (p *couple) index(b []byte) int {
	const step = 64
	m0, m1, w0, w1 := p.masks[0], p.masks[1], p.wants[0], p.wants[1]
	if p.distance >= len(b) {
		return -1
	}
	far := b[p.distance:]
	b = b[:len(far)]
	i := 0
	for i+step <= len(far) {
		c, d := b[i:i+step:i+step], far[i:i+step:i+step]
		// As for lanes, with a byte each.
		all := (binary.LittleEndian.Uint64(c)&m0 ^ w0 | (binary.LittleEndian.Uint64(d)&m1 ^ w1)) + (highs - ones)
		all &= (binary.LittleEndian.Uint64(c[8:])&m0 ^ w0 | (binary.LittleEndian.Uint64(d[8:])&m1 ^ w1)) + (highs - ones)
		all &= (binary.LittleEndian.Uint64(c[16:])&m0 ^ w0 | (binary.LittleEndian.Uint64(d[16:])&m1 ^ w1)) + (highs - ones)
		all &= (binary.LittleEndian.Uint64(c[24:])&m0 ^ w0 | (binary.LittleEndian.Uint64(d[24:])&m1 ^ w1)) + (highs - ones)
		all &= (binary.LittleEndian.Uint64(c[32:])&m0 ^ w0 | (binary.LittleEndian.Uint64(d[32:])&m1 ^ w1)) + (highs - ones)
		all &= (binary.LittleEndian.Uint64(c[40:])&m0 ^ w0 | (binary.LittleEndian.Uint64(d[40:])&m1 ^ w1)) + (highs - ones)
		all &= (binary.LittleEndian.Uint64(c[48:])&m0 ^ w0 | (binary.LittleEndian.Uint64(d[48:])&m1 ^ w1)) + (highs - ones)
		all &= (binary.LittleEndian.Uint64(c[56:])&m0 ^ w0 | (binary.LittleEndian.Uint64(d[56:])&m1 ^ w1)) + (highs - ones)
		if all&highs != highs {
			break
		}
		i += step
	}
	for ; i+8 <= len(far); i += 8 {
		x := (binary.LittleEndian.Uint64(b[i:])&m0 ^ w0 | (binary.LittleEndian.Uint64(far[i:])&m1 ^ w1)) + (highs - ones)
		if stop := ^x & highs; stop != 0 {
			return i + bits.TrailingZeros64(stop)>>3
		}
	}
	for ; i < len(far); i++ {
		if b[i]&byte(m0) == byte(w0) && far[i]&byte(m1) == byte(w1) {
			return i
		}
	}
	return -1
}
