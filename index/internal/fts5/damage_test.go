package fts5

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// use makes every kind of query. Each is answered, or the index is reported as damaged.
func use(t *testing.T, p Pages) (sound bool) {
	t.Helper()
	sound = true
	ok := func(what string, err error) {
		t.Helper()
		if err != nil {
			sound = false
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	x, err := Open(p)
	if err != nil {
		ok("Open", err)
		return false
	}
	for _, term := range []string{"a", "b", "all", "w1", "zz"} {
		_, err := docsOf(x, term, 0, math.MaxInt64)
		ok("Each", err)
		_, err = docsOf(x, term, 1<<60+1<<38, 1<<61)
		ok("Each", err)
		_, err = docsOf(x, term, 1<<60+1<<38+1, 1<<61)
		ok("Each", err)
	}
	for _, prefix := range []string{"", "w"} {
		_, err := prefixDocs(x, prefix, 0, math.MaxInt64)
		ok("Prefix", err)
		ok("Terms", x.Terms([]byte(prefix), func([]byte) {}))
	}
	ok("Check", x.Check())
	ok("Merge", x.Merge(func(doc int64) bool { return doc%5 > 0 }, true))
	return sound
}

// small returns an index with two segments and a list over many pages.
func small(t testing.TB) *memory {
	mem := newMemory()
	x, err := Open(mem)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(2) {
		b := NewBuilder()
		for doc := range 6000 - 5900*i {
			b.Begin((i+1)<<60 + doc*(1<<27+1))
			b.Add([]byte("all"))
			b.Add(fmt.Appendf(nil, "w%d", doc%300))
		}
		if err := x.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	return mem
}

func (m *memory) clone() *memory {
	return &memory{blocks: maps.Clone(m.blocks), keys: slices.Clone(m.keys)}
}

// Damage is noticed, or does not make an answer invalid. It never causes a panic or an endless loop.
func TestDamage(t *testing.T) {
	whole := small(t)
	if !use(t, whole.clone()) {
		t.Fatal("the index is damaged from the start")
	}
	ids := slices.Sorted(maps.Keys(whole.blocks))
	rng := rand.New(rand.NewPCG(1, 1))
	for range 60 {
		mem := whole.clone()
		id := ids[rng.IntN(len(ids))]
		b := bytes.Clone(mem.blocks[id])
		switch n := rng.IntN(6); {
		case n == 0:
			b = b[:rng.IntN(len(b))]
		case n == 1:
			b = append(b, byte(rng.IntN(256)))
		default:
			at := rng.IntN(len(b))
			if n > 3 {
				at = min(at, rng.IntN(12)) // headers
			}
			b[at] ^= byte(1 + rng.IntN(255))
		}
		mem.blocks[id] = b
		use(t, mem)
	}
	for _, id := range ids {
		if id == totalsID || id == structureID {
			continue // a new table does not have these either
		}
		mem := whole.clone()
		delete(mem.blocks, id)
		if x, err := Open(mem); err != nil || !errors.Is(x.Check(), ErrDamaged) {
			t.Errorf("Check does not notice that block %#x is missing", id)
		}
		use(t, mem)
	}
}

func TestMissingKey(t *testing.T) {
	whole := small(t)
	for i := range whole.keys {
		mem := whole.clone()
		mem.keys = slices.Delete(mem.keys, i, i+1)
		x, err := Open(mem)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Check(); i > 0 && mem.keys[i-1].segid == whole.keys[i].segid && !errors.Is(err, ErrDamaged) {
			t.Errorf("Check does not notice that key %q is missing: %v", whole.keys[i].term, err)
		}
	}
}

func TestStrayPages(t *testing.T) {
	for _, id := range []int64{LeafID(3, 1), LeafID(1, 4000), LeafID(9, 1) + dlidxBit} {
		mem := small(t)
		mem.blocks[id] = []byte{0, 0, 0, 4}
		x, err := Open(mem)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Check(); !errors.Is(err, ErrDamaged) {
			t.Errorf("Check does not notice block %#x: %v", id, err)
		}
	}
}

func FuzzPages(f *testing.F) {
	whole := small(f)
	for _, id := range []int64{LeafID(1, 1), LeafID(1, 2), LeafID(2, 1)} {
		f.Add(whole.blocks[structureID], whole.blocks[LeafID(1, 1)], whole.blocks[id], int64(3))
	}
	f.Fuzz(func(t *testing.T, structure, one, two []byte, key int64) {
		mem := newMemory()
		mem.blocks[structureID] = structure
		for seg := range int64(3) {
			mem.blocks[LeafID(seg, 1)] = one
			for pgno := range int64(8) {
				mem.blocks[LeafID(seg, 2+pgno)] = two
			}
			mem.keys = append(mem.keys, memoryKey{seg, "", key})
		}
		use(t, mem)
	})
}

// FuzzLeaf decodes a page of any bytes.
func FuzzLeaf(f *testing.F) {
	for _, b := range small(f).blocks {
		f.Add(b, []byte("0all"))
	}
	f.Fuzz(func(t *testing.T, b, term []byte) {
		l, err := parseLeaf(b)
		if err != nil {
			return
		}
		var names [][]byte
		scan := l.terms()
		for {
			ok, err := scan.next()
			if err != nil {
				return
			}
			if !ok {
				break
			}
			d := decoder{hi: math.MaxInt64}
			if d.list(scan.list) == nil && !slices.IsSorted(d.dst) {
				t.Errorf("documents out of order: %v", d.dst)
			}
			var prev []byte
			if len(names) > 0 {
				prev = names[len(names)-1]
			}
			if scan.keep > len(prev) {
				return
			}
			names = append(names, slices.Concat(prev[:scan.keep], scan.tail))
		}
		if !slices.IsSortedFunc(names, bytes.Compare) {
			return
		}
		_, _, found, err := l.find(term)
		if err == nil && found != slices.ContainsFunc(names, func(n []byte) bool { return bytes.Equal(n, term) }) {
			t.Errorf("find(%q) gives %v, but the terms are %q", term, found, names)
		}
	})
}
