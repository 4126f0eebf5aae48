package fts5

import (
	"bytes"
	"fmt"
)

// EachPrefix is like Each, for all terms that begin with prefix. A document comes once for each of its terms.
func (x *Index) EachPrefix(prefix []byte, lo, hi int64, f func(docs []int64)) error {
	if lo > hi {
		return nil
	}
	p := prefixScan{d: decoder{dst: x.spare[:0], emit: f, lo: lo, hi: hi}}
	err := x.scanPrefix(prefix, &p)
	x.spare = p.d.dst
	return err
}

// Terms calls f with the terms that begin with prefix, in order within each segment. Terms of several segments
// come several times. A term is valid only during f.
func (x *Index) Terms(prefix []byte, f func(term []byte)) error {
	return x.scanPrefix(prefix, &prefixScan{visit: f})
}

// Known reports which of the terms there are, also those of deleted documents. Looking them all up at once takes a fraction of
// the time.
func (x *Index) Known(terms []string) ([]bool, error) {
	known := make([]bool, len(terms))
	keys := make([][]byte, len(terms))
	for i, term := range terms {
		keys[i] = bytes.Clone(x.stored([]byte(term)))
	}
	for _, s := range x.st.segs {
		err := x.pages.PagesOf(s.id, s.first, keys, func(term int, pgno int64, page []byte) error {
			if page == nil || pgno > s.last {
				return damaged("page %d of segment %d is missing", pgno, s.id)
			}
			l, err := parseLeaf(page)
			if err != nil {
				return err
			}
			_, _, found, err := l.find(keys[term])
			known[term] = known[term] || found
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for terms in segment %d: %w", s.id, err)
		}
	}
	return known, nil
}

func (x *Index) scanPrefix(prefix []byte, p *prefixScan) error {
	p.key = x.stored(prefix)
	for _, s := range x.st.segs {
		pgno, err := x.pageOf(s, p.key)
		if err != nil {
			return err
		}
		p.inside = false
		if err := x.leaves(s, pgno, p.leaf); err != nil {
			return err
		}
	}
	return nil
}

type prefixScan struct {
	key    []byte
	visit  func(term []byte) // called with the terms; nil: their documents are collected instead
	d      decoder           // collects the documents
	term   []byte            // the last term
	inside bool              // it has the prefix
}

func (p *prefixScan) leaf(l leaf) error {
	if p.inside {
		if err := p.list(l.rest()); err != nil {
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
		if p.visit != nil {
			p.visit(p.term[1:])
		}
		p.d.any = false
		if err := p.list(scan.list); err != nil {
			return err
		}
	}
}

func (p *prefixScan) list(b []byte) error {
	if p.visit != nil || len(b) == 0 {
		return nil
	}
	return p.d.list(b)
}
