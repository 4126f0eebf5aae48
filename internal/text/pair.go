package text

import (
	"encoding/binary"
	"math/bits"
)

// pair looks for two bytes that stand side by side, eight places at a time:
// in source code in JSON, where one byte alone is everywhere, that is much
// faster than looking for one and checking the other.
type pair struct {
	first, second         uint64 // the byte, eight times
	firstCase, secondCase uint64 // the bit of letter case, where it does not count
}

func newPair(first, second byte, fold bool) pair {
	p := pair{first: ones * uint64(first), second: ones * uint64(second)}
	if fold && asciiAttr[first] == lower {
		p.firstCase = ones * 0x20
	}
	if fold && asciiAttr[second] == lower {
		p.secondCase = ones * 0x20
	}
	return p
}

// index returns the first place of the pair in b, or -1. Where case does not
// count, it may also be one of bytes that differ in the same bit.
func (p *pair) index(b []byte) int {
	first, second, firstCase, secondCase := p.first, p.second, p.firstCase, p.secondCase
	i := 0
	for i+33 <= len(b) {
		c := b[i : i+33 : i+33]
		var stop [4]uint64
		for k := range stop {
			x := (binary.LittleEndian.Uint64(c[8*k:]) | firstCase) ^ first
			y := (binary.LittleEndian.Uint64(c[8*k+1:]) | secondCase) ^ second
			x |= y // a byte of it is zero where both are equal
			stop[k] = (x - ones) &^ x
		}
		if (stop[0]|stop[1]|stop[2]|stop[3])&highs != 0 {
			for k, s := range stop {
				if s &= highs; s != 0 {
					return i + 8*k + bits.TrailingZeros64(s)>>3
				}
			}
		}
		i += 32
	}
	for ; i+1 < len(b); i++ {
		if b[i]|byte(firstCase) == byte(first) && b[i+1]|byte(secondCase) == byte(second) {
			return i
		}
	}
	return -1
}
