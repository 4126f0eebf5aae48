package fts5

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// segment is a run of pages.
type segment struct {
	id          int64
	first, last int64 // page numbers
}

func (s segment) pages() int64 { return s.last - s.first + 1 }

// structure is the list of segments, the oldest first.
type structure struct {
	cookie  [4]byte // FTS5's version of the table's configuration
	written uint64  // FTS5's count of pages written to level 0
	segs    []segment
	gone    []segment // emptied by an unfinished merge by FTS5
}

// deletable is the beginning of the structure of a table with contentless_delete=1.
var deletable = []byte{0xff, 0, 0, 1}

func decodeStructure(b []byte) (st structure, err error) {
	if len(b) == 0 {
		return st, nil
	}
	if len(b) < 7 {
		return st, damaged("the list of segments is cut off")
	}
	copy(st.cookie[:], b)
	if bytes.HasPrefix(b[4:], deletable) {
		return st, damaged("the table is of another kind (contentless_delete)")
	}
	r := varints{b: b[4:], ok: true}
	levels, total := r.next(maxSegment), r.next(maxSegment)
	st.written = r.next(math.MaxUint64)
	seen := make(map[int64]bool)
	var lists [][]segment
	for range levels {
		r.next(maxSegment) // how many are being merged, which does not matter here
		var level []segment
		for range r.next(maxSegment) {
			s := segment{int64(r.next(0xffff)), int64(r.next(math.MaxInt32)), int64(r.next(math.MaxInt32))}
			if !r.ok || s.id == 0 || seen[s.id] || s.last < s.first {
				return st, damaged("the list of segments does not decode")
			}
			seen[s.id] = true
			if s.first == 0 {
				st.gone = append(st.gone, s)
				continue
			}
			level = append(level, s)
		}
		lists = append(lists, level)
	}
	if !r.ok || uint64(len(seen)) != total {
		return st, damaged("the list of segments does not decode")
	}
	for _, list := range slices.Backward(lists) { // older segments are on higher levels
		st.segs = append(st.segs, list...)
	}
	return st, nil
}

// encode puts each segment on the level of its size, so that SQLite's own merges also merge segments of similar
// sizes.
func (st structure) encode() []byte {
	var lists [][]segment
	for _, s := range st.segs {
		l := sizeLevel(s.pages())
		for len(lists) <= l {
			lists = append(lists, nil)
		}
		lists[l] = append(lists[l], s)
	}
	b := append([]byte(nil), st.cookie[:]...)
	b = appendVarint(b, uint64(len(lists)))
	b = appendVarint(b, uint64(len(st.segs)))
	b = appendVarint(b, st.written)
	for _, level := range lists {
		b = appendVarint(b, 0)
		b = appendVarint(b, uint64(len(level)))
		for _, s := range level {
			b = appendVarint(b, uint64(s.id))
			b = appendVarint(b, uint64(s.first))
			b = appendVarint(b, uint64(s.last))
		}
	}
	return b
}

// sizeLevel is 0 up to smallPages, then one more for each factor of four.
func sizeLevel(pages int64) int {
	return (bits.Len64(uint64((pages-1)/smallPages)) + 1) / 2
}

// freeID returns an unused segment number.
func (st structure) freeID() (int64, error) {
	used := slices.Concat(st.segs, st.gone)
	for id := int64(1); id <= maxSegment; id++ {
		if !slices.ContainsFunc(used, func(s segment) bool { return s.id == id }) {
			return id, nil
		}
	}
	return 0, fmt.Errorf("full-text index has no number left for a segment")
}

// totals is what FTS5 calls the averages record.
type totals struct {
	docs, terms int64 // terms counts each term once for a document
	rest        []byte
}

func (x *Index) totals() (t totals, err error) {
	b, err := x.pages.Block(totalsID)
	if err != nil {
		return t, fmt.Errorf("read the totals: %w", err)
	}
	if len(b) == 0 {
		return t, nil
	}
	r := varints{b: b, ok: true}
	t.docs, t.terms = int64(r.next(math.MaxInt64)), int64(r.next(math.MaxInt64))
	if !r.ok {
		return t, damaged("the totals do not decode")
	}
	t.rest = bytes.Clone(r.b)
	return t, nil
}

func (x *Index) addTotals(docs, terms int64) error {
	t, err := x.totals()
	if err != nil {
		return err
	}
	b := appendVarint(nil, uint64(max(0, t.docs+docs)))
	b = appendVarint(b, uint64(max(0, t.terms+terms)))
	return x.pages.PutBlock(totalsID, append(b, t.rest...))
}

func (x *Index) putStructure(st structure) error {
	for _, s := range st.gone {
		if err := x.drop(s); err != nil {
			return err
		}
	}
	st.gone = nil
	if err := x.pages.PutBlock(structureID, st.encode()); err != nil {
		return fmt.Errorf("write the list of segments: %w", err)
	}
	x.st = st
	return nil
}

func (x *Index) drop(s segment) error {
	if err := x.pages.DeleteBlocks(LeafID(s.id, 0), LeafID(s.id+1, 0)-1); err != nil {
		return fmt.Errorf("delete the pages of a segment: %w", err)
	}
	if err := x.pages.DeletePages(s.id); err != nil {
		return fmt.Errorf("delete the keys of a segment: %w", err)
	}
	return nil
}
