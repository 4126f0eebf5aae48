package fts5

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// smallPages is the size, in pages, up to which segments are always merged (64 KiB). One more segment costs
// lookups more over time than rewriting it.
const smallPages = 16

// Merge merges segments so that lookups stay cheap. From the merged segments it removes the documents for
// which keep is false; nil keeps all. With all, it merges all segments into one.
//
// Without all, call it after each Write. It merges the small segments, and those of at most 1.5 times the pages
// of all smaller ones together. So the sum of sizes more than doubles from one segment to the next, and a
// document is rewritten about as often as there are segments.
func (x *Index) Merge(keep func(doc int64) bool, all bool) error {
	in := x.st.segs
	if !all {
		in = mergeable(in)
	}
	if len(in) == 0 || len(in) == 1 && (!all || keep == nil) {
		return nil
	}
	m, out, err := x.join(x.pages, in, keep)
	if err != nil {
		return err
	}
	return x.replace(in, out, m)
}

// Take adds the documents of another table as one segment. That merges many segments without leaving holes in
// this table's file. None of the documents may be in x already.
func (x *Index) Take(from *Index) error {
	if len(from.st.segs) == 0 {
		return nil
	}
	_, out, err := x.join(from.pages, from.st.segs, nil)
	if err != nil || out.last == 0 {
		return err
	}
	st := x.st
	st.segs = append(slices.Clone(st.segs), out)
	if err := x.putStructure(st); err != nil {
		return err
	}
	t, err := from.totals()
	if err != nil {
		return err
	}
	return x.addTotals(t.docs, t.terms)
}

// join writes a new segment with the documents of the given segments for which keep is true; nil keeps all.
func (x *Index) join(from Pages, in []segment, keep func(doc int64) bool) (*merger, segment, error) {
	id, err := x.st.freeID()
	if err != nil {
		return nil, segment{}, err
	}
	m := &merger{w: newWriter(x.pages, id), keep: keep}
	for _, s := range in {
		m.its = append(m.its, newSegIter(from, s))
	}
	if err = m.run(); err == nil {
		var out segment
		if out, err = m.w.finish(); err == nil {
			return m, out, nil
		}
	}
	return nil, segment{}, fmt.Errorf("merge segments: %w", err)
}

func (x *Index) replace(in []segment, out segment, m *merger) error {
	st := x.st
	st.segs = nil
	for _, s := range x.st.segs {
		if !slices.Contains(in, s) {
			st.segs = append(st.segs, s)
			continue
		}
		if s == in[0] && out.last > 0 {
			st.segs = append(st.segs, out)
		}
		if err := x.drop(s); err != nil {
			return err
		}
	}
	if m.dropped > 0 {
		if err := x.addTotals(-m.docs.n, -m.dropped); err != nil {
			return err
		}
	}
	return x.putStructure(st)
}

// mergeable returns the segments to merge, the oldest first.
func mergeable(segs []segment) []segment {
	bySize := slices.Clone(segs)
	slices.SortStableFunc(bySize, func(a, b segment) int { return cmp.Compare(a.pages(), b.pages()) })
	n, sum := 0, int64(0)
	for i, s := range bySize {
		if i > 0 && (s.pages() <= smallPages || s.pages() <= sum+sum/2) {
			n = i + 1
		}
		sum += s.pages()
	}
	in := slices.Clone(segs)
	return slices.DeleteFunc(in, func(s segment) bool { return !slices.Contains(bySize[:n], s) })
}

// merger merges the segments of its into w.
type merger struct {
	w    *writer
	its  []*segIter
	keep func(doc int64) bool

	dropped int64      // how many pairs of a term and a document were removed
	docs    docSet     // the removed documents
	same    []*segIter // iterators at the current term
	begun   bool       // the term is in w
	heads   []head
}

// head is the part of a list that was read but not merged yet.
type head struct {
	it   *segIter
	docs []int64
}

func (m *merger) run() error {
	its := m.its[:0]
	for _, it := range m.its {
		ok, err := it.next()
		if err != nil {
			return err
		}
		if ok {
			its = append(its, it)
		}
	}
	var term []byte
	for len(its) > 0 {
		m.same = append(m.same[:0], its[0])
		for _, it := range its[1:] {
			switch c := bytes.Compare(it.term, m.same[0].term); {
			case c < 0:
				m.same = append(m.same[:0], it)
			case c == 0:
				m.same = append(m.same, it)
			}
		}
		term = append(term[:0], m.same[0].term...)
		if err := m.term(term); err != nil {
			return err
		}
		for _, it := range m.same {
			ok, err := it.next()
			if err != nil {
				return err
			}
			if !ok {
				i := slices.Index(its, it)
				its = slices.Delete(its, i, i+1)
			}
		}
	}
	return nil
}

func (m *merger) term(term []byte) error {
	m.begun = false
	m.heads = m.heads[:0]
	for _, it := range m.same {
		docs, err := it.docs()
		if err != nil {
			return err
		}
		if len(docs) > 0 {
			m.heads = append(m.heads, head{it, docs})
		}
	}
	last := int64(-1)
	for len(m.heads) > 0 {
		// Take from the list with the lowest document, up to the lowest of the other lists.
		low := 0
		for i := range m.heads {
			if m.heads[i].docs[0] < m.heads[low].docs[0] {
				low = i
			}
		}
		h := &m.heads[low]
		n := len(h.docs)
		for i := range m.heads {
			if d := m.heads[i].docs[0]; i != low && d <= h.docs[n-1] {
				n, _ = slices.BinarySearch(h.docs[:n], d)
				n = max(n, 1) // both have it
			}
		}
		docs := h.docs[:n]
		h.docs = h.docs[n:]
		if docs[0] == last {
			docs = docs[1:]
		}
		if len(docs) > 0 {
			last = docs[len(docs)-1]
		}
		if err := m.add(term, docs); err != nil {
			return err
		}
		if err := m.refill(low); err != nil {
			return err
		}
	}
	return nil
}

// refill reads on in a list whose head was merged, or removes the list at its end.
func (m *merger) refill(i int) (err error) {
	h := &m.heads[i]
	if len(h.docs) > 0 {
		return nil
	}
	if h.docs, err = h.it.docs(); err == nil && len(h.docs) == 0 {
		m.heads = slices.Delete(m.heads, i, i+1)
	}
	return err
}

func (m *merger) add(term []byte, docs []int64) error {
	for _, doc := range docs {
		if m.keep != nil && !m.keep(doc) {
			m.dropped++
			m.docs.add(doc)
			continue
		}
		if !m.begun {
			if err := m.w.begin(term); err != nil {
				return err
			}
			m.begun = true
		}
		if err := m.w.add(doc); err != nil {
			return err
		}
	}
	return nil
}

// docSet is a set of documents; it is small if their numbers are dense.
type docSet struct {
	words map[int64]uint64
	n     int64
}

func (s *docSet) add(doc int64) {
	if s.words == nil {
		s.words = make(map[int64]uint64)
	}
	w, bit := s.words[doc>>6], uint64(1)<<(doc&63)
	if w&bit == 0 {
		s.words[doc>>6] = w | bit
		s.n++
	}
}
