package fts5

import (
	"bytes"
	"math"
)

// readAhead is how many pages of a segment are read at once.
const readAhead = 16

// segIter reads a segment: next, then docs until it returns none, then next again.
type segIter struct {
	pages Pages
	seg   segment
	fetch int64    // the next page to read
	ahead [][]byte // pages that were read; their memory is reused
	n, at int      // how many of them, and which is next

	scan  termScan
	term  []byte
	rest  []byte // the list on this page, not decoded yet
	ended bool   // the list has ended
	pgno  int64  // of the current page
	d     decoder
}

func newSegIter(p Pages, s segment) *segIter {
	return &segIter{pages: p, seg: s, fetch: s.first, ended: true,
		d: decoder{lo: 0, hi: math.MaxInt64, dst: make([]int64, 0, pageSize)}}
}

// page moves to the next page; false at the end of the segment.
func (it *segIter) page() (l leaf, ok bool, err error) {
	if it.at == it.n {
		if it.fetch > it.seg.last {
			return l, false, nil
		}
		if err := it.read(); err != nil {
			return l, false, err
		}
	}
	l, err = parseLeaf(it.ahead[it.at])
	it.at++
	it.pgno++
	it.scan = l.terms()
	return l, err == nil, err
}

func (it *segIter) read() error {
	it.n, it.at = 0, 0
	it.pgno = it.fetch - 1
	first, last := it.fetch, min(it.fetch+readAhead-1, it.seg.last)
	it.fetch = last + 1
	return it.seg.each(it.pages, first, last, func(b []byte) error {
		if it.n == len(it.ahead) {
			it.ahead = append(it.ahead, nil)
		}
		it.ahead[it.n] = append(it.ahead[it.n][:0], b...)
		it.n++
		return nil
	})
}

// next moves to the next term, after the list of the previous one was read; false after the last.
func (it *segIter) next() (bool, error) {
	for {
		ok, err := it.scan.next()
		if err != nil {
			return false, err
		}
		if ok {
			break
		}
		l, ok, err := it.page()
		if err != nil || !ok {
			return false, err
		}
		if l.rowid != 0 {
			return false, damaged("a list has no term")
		}
	}
	keep := it.scan.keep
	if keep > len(it.term) || bytes.Compare(it.scan.tail, it.term[keep:]) <= 0 {
		return false, damaged("terms are out of order")
	}
	it.term = append(it.term[:keep], it.scan.tail...)
	it.rest, it.ended = it.scan.list, false
	it.d.any = false
	return true, nil
}

// docs returns the next documents of the list, valid until the next call; none at the end.
func (it *segIter) docs() ([]int64, error) {
	it.d.dst = it.d.dst[:0]
	for !it.ended {
		list := it.rest
		switch {
		case !it.scan.last && it.scan.more: // other terms follow on the page
			it.ended = true
		case list == nil:
			l, ok, err := it.page()
			if err != nil {
				return nil, err
			}
			if !ok {
				it.ended = true
				return nil, nil
			}
			list = l.rest()
			it.ended = l.term != 0
		}
		it.rest = nil
		if len(list) == 0 {
			continue
		}
		err := it.d.list(list)
		return it.d.dst, err
	}
	return nil, nil
}
