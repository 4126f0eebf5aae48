package fts5

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// errStop ends a scan of pages early.
var errStop = errors.New("stop")

// decoder collects the documents of lists within [lo, hi].
type decoder struct {
	dst    []int64
	emit   func([]int64) // if set, is called with the documents of each page
	lo, hi int64
	prev   int64 // the last document of the list so far
	any    bool  // the list has a document so far
}

// full reports whether the rest of the list is above hi.
func (d *decoder) full() bool { return d.any && d.prev >= d.hi }

// list decodes the part of a list on one page: a document, then differences.
func (d *decoder) list(b []byte) error {
	v, n := varint(b)
	cur := int64(v)
	if n == 0 || cur < 0 || d.any && cur <= d.prev {
		return damaged("a list of documents is out of order")
	}
	lo, hi, first := d.lo, d.hi, cur
	at := len(d.dst)
	dst := slices.Grow(d.dst, len(b))[:at+len(b)] // each document takes at least a byte
	if cur >= lo && cur <= hi {
		dst[at] = cur
		at++
	}
	for i := n; i < len(b); {
		c := b[i]
		if c-1 < 0x7f { // most differences
			cur += int64(c)
			i++
		} else {
			v, n := varint(b[i:])
			if n == 0 {
				return damaged("a list of documents is cut off")
			}
			if v == 0 || v > math.MaxInt64 {
				return damaged("a list of documents is out of order")
			}
			cur += int64(v)
			i += n
		}
		if cur > hi {
			break
		}
		if cur >= lo {
			dst[at] = cur
			at++
		}
	}
	if cur < first {
		return damaged("a list of documents is out of order")
	}
	dst = dst[:at]
	d.dst, d.prev, d.any = dst, cur, true
	if d.emit != nil && len(dst) > 0 {
		d.emit(dst)
		d.dst = dst[:0]
	}
	return nil
}

// pageOf returns the page of a segment that a term is on if the segment has it.
func (x *Index) pageOf(s segment, key []byte) (pgno int64, err error) {
	v, err := x.pages.PageOf(s.id, key)
	if err != nil {
		return 0, fmt.Errorf("find the page of a term: %w", err)
	}
	if pgno = v >> 1; pgno > s.last {
		return 0, damaged("a key names a page outside its segment")
	}
	return max(pgno, s.first), nil // earlier pages were cut off by a merge by FTS5
}

// skip returns the page from which to look for lo in a list that continues after page pgno: the last one whose
// first document is not above lo. FTS5's own indexes of long lists are not used, because reading a few pages is
// enough.
func (x *Index) skip(s segment, key []byte, pgno, lo int64) (int64, error) {
	v, err := x.pages.PageAfter(s.id, key)
	if err != nil {
		return 0, fmt.Errorf("find the page of the next term: %w", err)
	}
	last := s.last
	if v > 0 {
		last = min(last, v>>1)
	}
	next := pgno + 1
	n := sort.Search(int(max(0, last-next)), func(i int) bool {
		l, failed := x.leaf(s, next+1+int64(i))
		if failed != nil {
			err = errors.Join(err, failed)
			return true
		}
		first, size := varint(l.rest())
		return size == 0 || int64(first) > lo
	})
	return next + int64(n), err
}

func (x *Index) leaf(s segment, pgno int64) (leaf, error) {
	b, err := x.pages.Block(LeafID(s.id, pgno))
	if err != nil {
		return leaf{}, fmt.Errorf("read page %d of segment %d: %w", pgno, s.id, err)
	}
	if b == nil {
		return leaf{}, damaged("page %d of segment %d is missing", pgno, s.id)
	}
	return parseLeaf(b)
}

// leaves calls f with a segment's pages, beginning with pgno, until f returns errStop.
func (x *Index) leaves(s segment, pgno int64, f func(leaf) error) error {
	err := s.each(x.pages, pgno, s.last, func(block []byte) error {
		l, err := parseLeaf(block)
		if err != nil {
			return err
		}
		return f(l)
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// each calls f with a range of a segment's pages, all of which must exist, until f returns an error. A page is
// valid only during f.
func (s segment) each(from Pages, first, last int64, f func(block []byte) error) error {
	if first > last {
		return nil
	}
	want, end := LeafID(s.id, first), LeafID(s.id, last)
	err := from.Blocks(want, end, func(id int64, block []byte) error {
		if id != want {
			return damaged("page %d is missing", want-LeafID(s.id, 0))
		}
		want++
		return f(block)
	})
	if err == nil && want != end+1 {
		err = damaged("page %d is missing", want-LeafID(s.id, 0))
	}
	if err != nil {
		return fmt.Errorf("read segment %d: %w", s.id, err)
	}
	return nil
}

func (x *Index) collect(d *decoder, s segment, key []byte) error {
	d.any = false
	pgno, err := x.pageOf(s, key)
	if err != nil {
		return err
	}
	l, err := x.leaf(s, pgno)
	if err != nil {
		return err
	}
	list, last, found, err := l.find(key)
	if err != nil || !found {
		return err
	}
	if len(list) > 0 || !last {
		if err := d.list(list); err != nil {
			return err
		}
	}
	if !last || d.full() {
		return nil
	}
	next := pgno + 1
	if d.lo > d.prev {
		if next, err = x.skip(s, key, pgno, d.lo); err != nil {
			return err
		}
	}
	return x.leaves(s, next, func(l leaf) error {
		if list := l.rest(); list != nil {
			if err := d.list(list); err != nil {
				return err
			}
		}
		if l.term != 0 || d.full() {
			return errStop
		}
		return nil
	})
}

// Each calls f with a term's documents within [lo, hi], a page at a time: ascending within a page, segment by
// segment. The slice is valid only during f.
func (x *Index) Each(term []byte, lo, hi int64, f func(docs []int64)) error {
	if len(term) == 0 || lo > hi {
		return nil
	}
	key := x.stored(term)
	d := decoder{dst: x.spare[:0], emit: f, lo: lo, hi: hi}
	for _, s := range x.st.segs {
		if err := x.collect(&d, s, key); err != nil {
			return err
		}
	}
	x.spare = d.dst
	return nil
}
