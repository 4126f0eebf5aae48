package fts5

import (
	"bytes"
	"fmt"
)

// EachPrefix is Each for all terms that begin with prefix. A document comes once for
// every such term that it has.
func (x *Index) EachPrefix(prefix []byte, lo, hi int64, f func(docs []int64)) error {
	if lo > hi {
		return nil
	}
	key := x.stored(prefix)
	p := prefixScan{key: key, d: decoder{dst: x.spare[:0], emit: f, lo: lo, hi: hi}}
	for _, s := range x.st.segs {
		pgno, _, err := x.pageOf(s, key)
		if err != nil {
			return err
		}
		p.inside = false
		if err := x.leaves(s, pgno, p.leaf); err != nil {
			return err
		}
	}
	x.spare = p.d.dst
	return nil
}

// prefixScan collects the documents of terms with a prefix, page by page.
type prefixScan struct {
	key    []byte
	d      decoder
	term   []byte // the last term
	inside bool   // it has the prefix
}

func (p *prefixScan) leaf(l leaf) error {
	if list := l.rest(); list != nil && p.inside {
		if err := p.d.list(list); err != nil {
			return err
		}
	}
	scan := l.terms()
	for {
		ok, err := scan.next()
		if err != nil || !ok {
			return err
		}
		if scan.keep > len(p.term) {
			return damaged("a term does not decode")
		}
		p.term = append(p.term[:scan.keep], scan.tail...)
		p.inside = bytes.HasPrefix(p.term, p.key)
		if !p.inside {
			if bytes.Compare(p.term, p.key) > 0 {
				return errStop
			}
			continue
		}
		p.d.any = false
		if len(scan.list) > 0 {
			if err := p.d.list(scan.list); err != nil {
				return err
			}
		}
	}
}

// termIter steps through the terms of a segment from a key on, without the
// lists.
type termIter struct {
	x       *Index
	seg     segment
	pgno    int64
	page    []byte // copy of the page
	scan    termScan
	term    []byte
	size    int // about how many documents the term has
	started bool
}

// open goes to the first term that is not below key; false if there is none.
func (it *termIter) open(key []byte) (bool, error) {
	pgno, _, err := it.x.pageOf(it.seg, key)
	if err != nil {
		return false, err
	}
	if _, err := it.load(pgno); err != nil {
		return false, err
	}
	for {
		ok, err := it.next()
		if err != nil || !ok || bytes.Compare(it.term, key) >= 0 {
			return ok, err
		}
	}
}

func (it *termIter) load(pgno int64) (leaf, error) {
	l, err := it.x.leaf(it.seg, pgno)
	if err != nil {
		return l, err
	}
	it.page = append(append(it.page[:0], l.body...), l.foot...)
	l.body, l.foot = it.page[:len(l.body)], it.page[len(l.body):]
	it.pgno = pgno
	it.scan = l.terms()
	return l, nil
}

// next moves to the next term; false after the last.
func (it *termIter) next() (bool, error) {
	for {
		ok, err := it.scan.next()
		if err != nil {
			return false, err
		}
		if ok {
			break
		}
		if it.pgno >= it.seg.last {
			return false, nil
		}
		if _, err := it.load(it.pgno + 1); err != nil {
			return false, err
		}
	}
	keep := it.scan.keep
	if keep > len(it.term) || it.started && bytes.Compare(it.scan.tail, it.term[keep:]) <= 0 {
		return false, damaged("terms are out of order")
	}
	it.started = true
	it.term = append(it.term[:keep], it.scan.tail...)
	it.size = countVarints(it.scan.list)
	return true, it.measure()
}

// measure adds what the list of a page's last term has on the pages after it,
// and goes to the last of these.
func (it *termIter) measure() error {
	if !it.scan.last {
		return nil
	}
	density := max(it.size, 1) * 100 / max(len(it.scan.list), 1) // in hundredths
	start := it.pgno
	for it.pgno < it.seg.last {
		l, err := it.load(it.pgno + 1)
		if err != nil {
			return err
		}
		if l.term != 0 {
			it.size += countVarints(l.rest())
			return nil
		}
		it.size += (len(l.body) - leafHeader) * density / 100
		if it.pgno == start+minIndexed {
			if err := it.jump(start, density); err != nil {
				return err
			}
		}
	}
	return nil
}

// jump goes to a page near the end of a list if the list has an index.
func (it *termIter) jump(start int64, density int) error {
	pgno, indexed, err := it.x.pageOf(it.seg, it.term)
	if err != nil || !indexed || pgno != start {
		return err
	}
	last := it.pgno
	err = it.x.dlidx(it.seg, start, func(page, _ int64) bool {
		last = page
		return true
	})
	if err == nil && last-1 > it.pgno {
		it.size += int(last-1-it.pgno) * (pageSize - leafHeader) * density / 100
		it.pgno = last - 1
	}
	return err
}

// countVarints is the number of numbers in b.
func countVarints(b []byte) int {
	n, run := 0, 0
	for _, c := range b {
		if c >= 0x80 && run < 8 {
			run++
			continue
		}
		n++
		run = 0
	}
	return n
}

// Terms calls f with the terms that begin with prefix in order, each once,
// until it returns false. The size is about the number of documents; the term
// is valid during f only.
func (x *Index) Terms(prefix []byte, f func(term []byte, size int) bool) error {
	key := bytes.Clone(x.stored(prefix))
	var its []*termIter
	for _, s := range x.st.segs {
		it := &termIter{x: x, seg: s}
		ok, err := it.open(key)
		if err != nil {
			return fmt.Errorf("list terms: %w", err)
		}
		if ok && bytes.HasPrefix(it.term, key) {
			its = append(its, it)
		}
	}
	var low []byte
	for len(its) > 0 {
		low = append(low[:0], its[0].term...)
		for _, it := range its[1:] {
			if bytes.Compare(it.term, low) < 0 {
				low = append(low[:0], it.term...)
			}
		}
		size := 0
		for _, it := range its {
			if bytes.Equal(it.term, low) {
				size += it.size
			}
		}
		if !f(low[1:], size) {
			return nil
		}
		live := its[:0]
		for _, it := range its {
			ok := true
			if bytes.Equal(it.term, low) {
				var err error
				if ok, err = it.next(); err != nil {
					return fmt.Errorf("list terms: %w", err)
				}
			}
			if ok && bytes.HasPrefix(it.term, key) {
				live = append(live, it)
			}
		}
		its = live
	}
	return nil
}
