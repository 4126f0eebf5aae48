package fts5

import (
	"fmt"
	"math"
)

// A list that covers many pages has an index of its own: the first document
// of each of its pages. Its lowest pages, all that is read here, are numbered
// on from the page where the list starts.

const dlidxInner = 0x01 // flag of a page that is not the root

// skip returns the page on which to look for lo in the list that starts on
// page pgno: the last whose first document is not above it.
func (x *Index) skip(s segment, pgno, lo int64) (int64, error) {
	at := pgno + 1
	err := x.dlidx(s, pgno, func(page, doc int64) bool {
		if doc <= lo {
			at = page
		}
		return doc <= lo
	})
	return at, err
}

// dlidx calls f for each page that the index of a list names, with the first
// document on it, until f returns false.
func (x *Index) dlidx(s segment, pgno int64, f func(page, doc int64) bool) error {
	prev, doc := pgno, int64(-1)
	for n := pgno; n <= s.last; n++ {
		b, err := x.pages.Block(dlidxID(s.id, 0, n))
		if err != nil {
			return fmt.Errorf("read the index of a list: %w", err)
		}
		if b == nil && n > pgno {
			return nil
		}
		if len(b) == 0 {
			return damaged("the index of a list is missing")
		}
		r := varints{b: b[1:], ok: true}
		page := int64(r.next(math.MaxInt32))
		first := int64(r.next(math.MaxInt64))
		if !r.ok || page <= prev || page > s.last || first <= doc {
			return damaged("the index of a list does not decode")
		}
		doc = first
		if !f(page, doc) {
			return nil
		}
		for prev = page; len(r.b) > 0; {
			delta := int64(r.next(math.MaxInt64))
			prev++
			if !r.ok || prev > s.last || doc+delta < doc {
				return damaged("the index of a list does not decode")
			}
			if delta == 0 { // a page without documents
				continue
			}
			if doc += delta; !f(prev, doc) {
				return nil
			}
		}
		if b[0]&dlidxInner == 0 {
			return nil
		}
	}
	return nil
}

// dlidxWriter builds the index of the list that is being written.
type dlidxWriter struct {
	levels []dlidxLevel
}

type dlidxLevel struct {
	buf  []byte
	pgno int64
	prev int64 // the document of the last entry
}

// start forgets the list before; the next one starts on page pgno.
func (w *dlidxWriter) start(pgno int64) {
	for i := range w.levels {
		w.levels[i].buf = w.levels[i].buf[:0]
	}
	if len(w.levels) == 0 {
		w.levels = make([]dlidxLevel, 1)
	}
	w.levels[0].pgno = pgno
}

// add notes that doc is the first document on the page pgno.
func (w *dlidxWriter) add(pgno, doc int64, put func(height int, pgno int64, b []byte) error) error {
	for h := 0; ; h++ {
		l := &w.levels[h]
		full := len(l.buf) >= pageSize
		if full {
			l.buf[0] = dlidxInner
			if err := put(h, l.pgno, l.buf); err != nil {
				return err
			}
			if h+1 == len(w.levels) {
				w.levels = append(w.levels, dlidxLevel{})
				l = &w.levels[h]
			}
			if up := &w.levels[h+1]; len(up.buf) == 0 { // this was the root
				r := varints{b: l.buf[1:], ok: true}
				r.next(math.MaxInt64)
				first := int64(r.next(math.MaxInt64))
				*up = dlidxLevel{buf: up.buf, pgno: l.pgno, prev: first}
				up.buf = appendVarint(append(up.buf, 0), uint64(l.pgno))
				up.buf = appendVarint(up.buf, uint64(first))
			}
			l.buf = l.buf[:0]
			l.pgno++
		}
		if len(l.buf) > 0 {
			l.buf = appendVarint(l.buf, uint64(doc-l.prev))
		} else {
			flag := byte(0)
			if full {
				flag = dlidxInner
			}
			l.buf = appendVarint(append(l.buf, flag), uint64(pgno))
			l.buf = appendVarint(l.buf, uint64(doc))
		}
		l.prev = doc
		if !full {
			return nil
		}
		pgno = l.pgno // what the next level up points to
	}
}

// flush writes what is still in memory.
func (w *dlidxWriter) flush(put func(height int, pgno int64, b []byte) error) error {
	for h := range w.levels {
		l := &w.levels[h]
		if len(l.buf) == 0 {
			break
		}
		if err := put(h, l.pgno, l.buf); err != nil {
			return err
		}
		l.buf = l.buf[:0]
	}
	return nil
}
