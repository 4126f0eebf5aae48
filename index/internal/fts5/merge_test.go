package fts5

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestMergePolicy simulates only the sizes of segments, for many documents one by one.
func TestMergePolicy(t *testing.T) {
	for _, size := range []int64{300, 2_000, 40_000} { // bytes of a document's terms
		bytes := make(map[int64]int64) // of each segment
		var segs []segment
		put := func(n int64) int64 {
			id := int64(len(bytes))
			bytes[id] = n
			pages := (n + pageSize - 1) / pageSize
			segs = append(segs, segment{id: id, first: 1, last: pages})
			return pages
		}
		written, most := int64(0), 0
		docs := 20_000
		if size == 2_000 {
			docs = 200_000
		}
		for range docs {
			written += put(size)
			if in := mergeable(segs); len(in) > 0 {
				sum := int64(0)
				for _, s := range in {
					sum += bytes[s.id] * 4 / 5 // terms in common are stored once
				}
				segs = slices.DeleteFunc(segs, func(s segment) bool { return slices.Contains(in, s) })
				written += put(max(sum, size))
			}
			most = max(most, len(segs))
		}
		if most > 11 {
			t.Errorf("with %d bytes a document, there are up to %d segments, want at most 11", size, most)
		}
		if perDoc := float64(written) / float64(docs); perDoc > 20*float64(1+size/pageSize) {
			t.Errorf("with %d bytes a document, %.1f pages are written for each, which is too many", size, perDoc)
		}
	}
}

func TestAppendOneByOne(t *testing.T) {
	mem := newMemory()
	x, err := Open(mem)
	if err != nil {
		t.Fatal(err)
	}
	for doc := range int64(250) {
		b := NewBuilder()
		b.Begin(doc)
		for i := range int64(60) {
			b.Add(fmt.Appendf(nil, "w%d", (doc*doc+i*i*i)%(10+i*i)))
		}
		b.Add([]byte("all"))
		if err := x.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := x.Merge(nil, false); err != nil {
			t.Fatal(err)
		}
		if x.Segments() > 6 {
			t.Fatalf("%d segments after %d documents, want at most 6", x.Segments(), doc+1)
		}
	}
	if err := x.Check(); err != nil {
		t.Error(err)
	}
	if docs, err := docsOf(x, "all", 40, 239); err != nil || len(docs) != 200 || docs[0] != 40 {
		t.Errorf("%d documents of the term all from 40 to 239, want 200, %v", len(docs), err)
	}
	if err := x.Merge(func(int64) bool { return false }, true); err != nil || x.Segments() > 0 {
		t.Errorf("after a merge that drops all, there are %d segments, want none, %v", x.Segments(), err)
	}
	if len(mem.blocks) != 2 || len(mem.keys) != 0 {
		t.Errorf("an empty index has %d blocks and %d keys, want 2 and none", len(mem.blocks), len(mem.keys))
	}
}

func TestBuilderOrder(t *testing.T) {
	for name, f := range map[string]func(b *Builder){
		"descending": func(b *Builder) { b.Begin(2); b.Add([]byte("a")); b.Begin(1) },
		"twice":      func(b *Builder) { b.Begin(2); b.Begin(2) },
		"negative":   func(b *Builder) { b.Begin(-1) },
		"too large":  func(b *Builder) { b.Begin(math.MaxInt64) },
		"no begin":   func(b *Builder) { b.Add([]byte("a")) },
	} {
		mem := newMemory()
		x, _ := Open(mem)
		b := NewBuilder()
		f(b)
		if err := x.Write(b); err == nil || mem.puts > 0 {
			t.Errorf("%s: Write gives %v after %d writes, want an error before the first", name, err, mem.puts)
		}
	}
}

// faulty fails the n-th call.
type faulty struct {
	*memory
	n *int
}

var errFault = errors.New("disk on fire")

func (f faulty) fail() error {
	if *f.n--; *f.n == 0 {
		return errFault
	}
	return nil
}

func (f faulty) Block(id int64) ([]byte, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.memory.Block(id)
}

func (f faulty) Blocks(first, last int64, g func(int64, []byte) error) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.memory.Blocks(first, last, g)
}

func (f faulty) PutBlock(id int64, b []byte) error {
	return errors.Join(f.fail(), f.memory.PutBlock(id, b))
}

func (f faulty) DeleteBlocks(first, last int64) error {
	return errors.Join(f.fail(), f.memory.DeleteBlocks(first, last))
}

func (f faulty) PageOf(segid int64, term []byte) (int64, error) {
	if err := f.fail(); err != nil {
		return 0, err
	}
	return f.memory.PageOf(segid, term)
}

func (f faulty) PageAfter(segid int64, term []byte) (int64, error) {
	if err := f.fail(); err != nil {
		return 0, err
	}
	return f.memory.PageAfter(segid, term)
}

func (f faulty) PagesOf(segid, first int64, terms [][]byte, g func(int, int64, []byte) error) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.memory.PagesOf(segid, first, terms, g)
}

func (f faulty) PutPage(segid int64, term []byte, pgno int64) error {
	return errors.Join(f.fail(), f.memory.PutPage(segid, term, pgno))
}

func (f faulty) DeletePages(segid int64) error {
	return errors.Join(f.fail(), f.memory.DeletePages(segid))
}

// An error of the Pages is never lost.
func TestFaults(t *testing.T) {
	whole := small(t)
	for name, f := range map[string]func(x *Index) error{
		"Each":   func(x *Index) error { _, err := docsOf(x, "all", 1<<60+1<<38, 1<<61); return err },
		"Prefix": func(x *Index) error { _, err := prefixDocs(x, "w", 0, 1<<62); return err },
		"Terms":  func(x *Index) error { return x.Terms(nil, func([]byte) {}) },
		"Known":  func(x *Index) error { _, err := x.Known([]string{"all", "w1"}); return err },
		"Check":  func(x *Index) error { return x.Check() },
		"Merge":  func(x *Index) error { return x.Merge(func(doc int64) bool { return doc%2 > 0 }, true) },
		"Write": func(x *Index) error {
			b := NewBuilder()
			b.Begin(1)
			b.Add([]byte("a"))
			return x.Write(b)
		},
	} {
		for n := 1; ; n++ {
			left := n
			x, err := Open(faulty{whole.clone(), &left})
			if err == nil {
				err = f(x)
			}
			if left > 0 {
				if err != nil || n < 4 {
					t.Errorf("%s makes %d calls, want at least 3, and without a fault gives %v", name, n-1, err)
				}
				break
			}
			if !errors.Is(err, errFault) {
				t.Fatalf("%s: a fault in call %d gives %v, want %v", name, n, err, errFault)
			}
		}
	}
}
