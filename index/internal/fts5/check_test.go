package fts5

import "fmt"

// Check reads the whole index and reports the first fault: pages that are missing
// or belong to no segment, terms or documents out of order, terms that a lookup
// would not find, totals that are too small. The error wraps [ErrDamaged].
func (x *Index) Check() error {
	c := checker{x: x}
	for _, s := range x.st.segs {
		if err := c.segment(s); err != nil {
			return fmt.Errorf("check segment %d: %w", s.id, err)
		}
	}
	if err := c.strays(); err != nil {
		return fmt.Errorf("check for stray pages: %w", err)
	}
	t, err := x.totals()
	if err != nil {
		return err
	}
	if t.docs < c.docs.n || t.terms < c.pairs {
		return damaged("the totals are %d documents and %d terms, but there are %d and %d",
			t.docs, t.terms, c.docs.n, c.pairs)
	}
	return nil
}

type checker struct {
	x     *Index
	docs  docSet
	pairs int64
}

// segment checks the pages of a segment and that each term is found.
func (c *checker) segment(s segment) error {
	it := newSegIter(c.x.pages, s)
	for before := int64(0); ; {
		ok, err := it.next()
		if err != nil || !ok {
			return err
		}
		if len(it.term) < 2 || it.term[0] != mainIndex {
			return damaged("a term belongs to another index")
		}
		start := it.pgno
		if start != before || it.scan.last { // if the first and last terms of a page are found, so are the others
			pgno, err := c.x.pageOf(s, it.term)
			if err != nil {
				return err
			}
			if pgno != start {
				return damaged("the key of term %q leads to page %d instead of %d", it.term[1:], pgno, start)
			}
			before = start
		}
		if err := c.list(it); err != nil {
			return err
		}
	}
}

// list reads and counts the documents of a term.
func (c *checker) list(it *segIter) error {
	for {
		docs, err := it.docs()
		if err != nil || len(docs) == 0 {
			return err
		}
		c.pairs += int64(len(docs))
		for _, doc := range docs {
			c.docs.add(doc)
		}
	}
}

// FTS5 gives a long list of documents an index. dlidxBit is set in the ids of its pages,
// whose height there begins at bit heightShift.
const (
	dlidxBit    = 1 << 36
	heightShift = 31
)

// strays reports a page that belongs to no segment.
func (c *checker) strays() error {
	owned := make(map[int64]segment)
	for _, l := range [][]segment{c.x.st.segs, c.x.st.gone} {
		for _, s := range l {
			owned[s.id] = s
		}
	}
	return c.x.pages.Blocks(structureID+1, LeafID(1<<16, 0)-1, func(id int64, _ []byte) error {
		s, ok := owned[id>>segidShift]
		pgno := id & (1<<heightShift - 1)
		if !ok || pgno > s.last || pgno < s.first && s.first > 0 && id&dlidxBit == 0 {
			return damaged("block %d belongs to no segment", id)
		}
		return nil
	})
}
