package fts5

const (
	slabBits = 16
	slabSize = 1 << slabBits
	slabMask = slabSize - 1
)

// arena allocates memory in slabs, which never move.
type arena struct {
	slabs [][]byte
	used  int // bytes of the last slab
}

// alloc returns the place of n bytes; n is at most slabSize.
func (a *arena) alloc(n int) int {
	if len(a.slabs) == 0 || a.used+n > slabSize {
		a.slabs, a.used = append(a.slabs, make([]byte, slabSize)), 0
	}
	at := (len(a.slabs)-1)<<slabBits + a.used
	a.used += n
	return at
}

func (a *arena) bytes(at uint32, n int) []byte {
	return a.slabs[at>>slabBits][at&slabMask:][:n]
}

func (a *arena) size() int { return len(a.slabs) * slabSize }
