package fts5

import "encoding/binary"

// leaf is a page of a segment: maybe the rest of the previous term's list, then terms, each with the start of
// its list.
type leaf struct {
	body  []byte // header, terms and lists: offsets count from its start
	foot  []byte // the offsets of the terms
	rowid int    // offset of the document that continues a list; 0 if none
	term  int    // offset of the first term; 0 if none
}

const leafHeader = 4

func parseLeaf(b []byte) (l leaf, err error) {
	if len(b) < leafHeader {
		return l, damaged("a page is cut off")
	}
	l.rowid = int(binary.BigEndian.Uint16(b))
	end := int(binary.BigEndian.Uint16(b[2:]))
	if end < leafHeader || end > len(b) {
		return l, damaged("a page has a wrong size")
	}
	l.body, l.foot = b[:end], b[end:]
	if len(l.foot) > 0 {
		v, n := varint(l.foot)
		if n == 0 || v < leafHeader || v >= uint64(end) {
			return l, damaged("a page has a wrong offset of a term")
		}
		l.term = int(v)
	}
	if l.rowid != 0 && (l.rowid < leafHeader || l.rowid >= l.listEnd()) {
		return l, damaged("a page has a wrong offset of a document")
	}
	return l, nil
}

// listEnd is where the continued list ends.
func (l leaf) listEnd() int {
	if l.term != 0 {
		return l.term
	}
	return len(l.body)
}

// rest is the continuation of the previous term's list, or nil.
func (l leaf) rest() []byte {
	if l.rowid == 0 {
		return nil
	}
	return l.body[l.rowid:l.listEnd()]
}

// terms returns a scan of the page's terms.
func (l leaf) terms() termScan {
	return termScan{body: l.body, foot: l.foot}
}

type termScan struct {
	body, foot []byte
	at         int    // offset of the next term, after the first was read
	keep       int    // how many bytes the term shares with the previous one
	tail       []byte // the rest of the term
	list       []byte // the documents of the term on this page
	more       bool   // a term was read
	last       bool   // the term is the last on the page, so its list may continue
}

// next reads the next term; false after the last.
func (s *termScan) next() (bool, error) {
	if s.last || !s.more && len(s.foot) == 0 {
		return false, nil
	}
	first := !s.more
	ok := !first || s.ahead()
	at, end := s.at, len(s.body)
	if s.last = len(s.foot) == 0; !s.last {
		ok = ok && s.ahead()
		end = s.at
	}
	if s.more = true; !ok {
		return false, damaged("a page has a wrong offset of a term")
	}
	b := s.body[at:end]
	s.keep = 0
	if !first {
		v, n := varint(b)
		if n == 0 || v > maxTerm {
			return false, damaged("a term does not decode")
		}
		s.keep, b = int(v), b[n:]
	}
	v, n := varint(b)
	if n == 0 || v == 0 || v > uint64(len(b)-n) {
		return false, damaged("a term does not decode")
	}
	s.tail, s.list = b[n:n+int(v)], b[n+int(v):]
	return true, nil
}

// ahead moves to the offset of the next term.
func (s *termScan) ahead() bool {
	v, n := varint(s.foot)
	if n == 0 || v == 0 || v >= uint64(len(s.body)-s.at) || s.at == 0 && v < leafHeader {
		return false
	}
	s.at += int(v)
	s.foot = s.foot[n:]
	return true
}

// find returns a term's documents on the page. If last is set, the list may continue on the next page.
func (l leaf) find(term []byte) (list []byte, last, found bool, err error) {
	s := l.terms()
	same := 0 // how many bytes term shares with the last term, which is below it
	for {
		ok, err := s.next()
		if err != nil || !ok || s.keep < same {
			return nil, false, false, err
		}
		if s.keep > same {
			continue
		}
		n := 0
		for n < len(s.tail) && same+n < len(term) && s.tail[n] == term[same+n] {
			n++
		}
		same += n
		switch {
		case same == len(term):
			return s.list, s.last, n == len(s.tail), nil
		case n < len(s.tail) && s.tail[n] > term[same]:
			return nil, false, false, nil
		}
	}
}
