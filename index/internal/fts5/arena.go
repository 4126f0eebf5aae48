package fts5

const (
	slabBits = 16
	slabSize = 1 << slabBits
	slabMask = slabSize - 1
)

// arena hands out memory in slabs, which are never moved or copied.
type arena struct {
	slabs [][]byte
	n     int // slabs in use, the others are spare
	used  int // bytes of the last slab in use
}

// alloc returns the place of n bytes, n being at most slabSize. They may hold
// what was there before a reset.
func (a *arena) alloc(n int) int {
	if a.n == 0 || a.used+n > slabSize {
		if a.n == len(a.slabs) {
			a.slabs = append(a.slabs, make([]byte, slabSize))
		}
		a.n++
		a.used = 0
	}
	at := (a.n-1)<<slabBits + a.used
	a.used += n
	return at
}

func (a *arena) bytes(at uint32, n int) []byte {
	return a.slabs[at>>slabBits][at&slabMask:][:n]
}

func (a *arena) reset() arena { return arena{slabs: a.slabs} }

func (a *arena) size() int { return len(a.slabs) * slabSize }
