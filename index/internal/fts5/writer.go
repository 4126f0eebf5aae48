package fts5

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// writer writes a new segment: for each term, in order, begin and then its documents.
type writer struct {
	pages  Pages
	segid  int64
	pgno   int64  // of the page being filled
	buf    []byte // of that page: header, terms, lists
	foot   []byte // the offsets of its terms
	termAt int    // offset of the last term on it; 0 if none
	fresh  bool   // the page is empty
	term   []byte // the last term
	prev   int64  // the last document of its list
	listed bool   // its list has a document
}

func newWriter(p Pages, segid int64) *writer {
	w := &writer{pages: p, segid: segid, pgno: 1, fresh: true}
	w.buf = make([]byte, leafHeader, pageSize+64)
	return w
}

// begin starts a term, which must be above all earlier ones.
func (w *writer) begin(term []byte) error {
	if bytes.Compare(term, w.term) <= 0 {
		return damaged("terms are out of order")
	}
	if w.size()+len(term)+2 >= pageSize && !w.fresh {
		if err := w.flush(); err != nil {
			return err
		}
	}
	same := 0
	for same < len(w.term) && same < len(term) && w.term[same] == term[same] {
		same++
	}
	at := len(w.buf)
	w.foot = appendVarint(w.foot, uint64(at-w.termAt))
	if w.termAt == 0 {
		key := []byte{}
		if w.pgno != 1 {
			key = term[:same+1]
		}
		if err := w.pages.PutPage(w.segid, key, w.pgno<<1); err != nil {
			return fmt.Errorf("write a key of segment %d: %w", w.segid, err)
		}
		same = 0
	} else {
		w.buf = appendVarint(w.buf, uint64(same))
	}
	w.buf = appendVarint(w.buf, uint64(len(term)-same))
	w.buf = append(w.buf, term[same:]...)
	w.term = append(w.term[:0], term...)
	w.termAt, w.fresh, w.listed = at, false, false
	return nil
}

func (w *writer) size() int { return len(w.buf) + len(w.foot) }

// add appends a document, which must be above all earlier ones, to the list of the term.
func (w *writer) add(doc int64) error {
	switch {
	case w.fresh:
		w.resume(doc)
	case !w.listed:
		w.buf = appendVarint(w.buf, uint64(doc))
	default:
		w.buf = appendVarint(w.buf, uint64(doc-w.prev))
	}
	w.prev, w.listed = doc, true
	if w.size() >= pageSize {
		return w.flush()
	}
	return nil
}

// resume starts a page with the next document of the current list.
func (w *writer) resume(doc int64) {
	binary.BigEndian.PutUint16(w.buf, uint16(len(w.buf)))
	w.buf = appendVarint(w.buf, uint64(doc))
	w.fresh = false
}

// list appends a whole list, already encoded as differences after its first document, so that it can be copied
// wherever a page has space.
func (w *writer) list(first int64, deltas []byte) error {
	if err := w.add(first); err != nil {
		return err
	}
	for len(deltas) > 0 {
		var n int
		if w.fresh {
			v, size := varint(deltas)
			w.prev += int64(v)
			w.resume(w.prev)
			n = size
		} else {
			n = w.copy(deltas)
		}
		deltas = deltas[n:]
		if w.size() >= pageSize {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// copy copies as many of the list's differences as fit, and returns how many bytes.
func (w *writer) copy(deltas []byte) int {
	room := min(pageSize-w.size(), len(deltas))
	n := 0
	for n < room {
		if c := deltas[n]; c < 0x80 {
			w.prev += int64(c)
			n++
			continue
		}
		v, size := varint(deltas[n:])
		w.prev += int64(v)
		n += size
	}
	w.buf = append(w.buf, deltas[:n]...)
	return n
}

func (w *writer) flush() error {
	binary.BigEndian.PutUint16(w.buf[2:], uint16(len(w.buf)))
	if err := w.pages.PutBlock(LeafID(w.segid, w.pgno), append(w.buf, w.foot...)); err != nil {
		return fmt.Errorf("write page %d of segment %d: %w", w.pgno, w.segid, err)
	}
	w.buf = append(w.buf[:0], 0, 0, 0, 0)
	w.foot = w.foot[:0]
	w.termAt, w.fresh = 0, true
	w.pgno++
	return nil
}

// finish writes what is left. A segment without terms has no pages.
func (w *writer) finish() (segment, error) {
	if !w.fresh {
		if err := w.flush(); err != nil {
			return segment{}, err
		}
	}
	return segment{id: w.segid, first: 1, last: w.pgno - 1}, nil
}
