package fts5

import (
	"bytes"
	"cmp"
	"slices"
)

// memory keeps pages in maps, and checks the calls.
type memory struct {
	blocks map[int64][]byte
	keys   []memoryKey // in order
	puts   int
}

type memoryKey struct {
	segid int64
	term  string
	pgno  int64
}

func newMemory() *memory { return &memory{blocks: make(map[int64][]byte)} }

func (m *memory) Block(id int64) ([]byte, error) {
	return m.blocks[id], nil
}

func (m *memory) Blocks(first, last int64, f func(int64, []byte) error) error {
	var ids []int64
	if last-first < int64(len(m.blocks)) {
		for id := first; id <= last; id++ {
			if _, ok := m.blocks[id]; ok {
				ids = append(ids, id)
			}
		}
	} else {
		for id := range m.blocks {
			if id >= first && id <= last {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
	}
	for _, id := range ids {
		if err := f(id, m.blocks[id]); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) PutBlock(id int64, block []byte) error {
	m.puts++
	m.blocks[id] = bytes.Clone(block)
	return nil
}

func (m *memory) DeleteBlocks(first, last int64) error {
	for id := range m.blocks {
		if id >= first && id <= last {
			delete(m.blocks, id)
		}
	}
	return nil
}

func (m *memory) search(segid int64, term string) (int, bool) {
	return slices.BinarySearchFunc(m.keys, memoryKey{segid: segid, term: term}, func(a, b memoryKey) int {
		return cmp.Or(cmp.Compare(a.segid, b.segid), cmp.Compare(a.term, b.term))
	})
}

func (m *memory) PageOf(segid int64, term []byte) (int64, error) {
	i, ok := m.search(segid, string(term))
	if ok {
		return m.keys[i].pgno, nil
	}
	if i == 0 || m.keys[i-1].segid != segid {
		return 0, nil
	}
	return m.keys[i-1].pgno, nil
}

func (m *memory) PageAfter(segid int64, term []byte) (int64, error) {
	i, ok := m.search(segid, string(term))
	if ok {
		i++
	}
	if i == len(m.keys) || m.keys[i].segid != segid {
		return 0, nil
	}
	return m.keys[i].pgno, nil
}

func (m *memory) PagesOf(segid, first int64, terms [][]byte, f func(int, int64, []byte) error) error {
	for i, term := range terms {
		v, _ := m.PageOf(segid, term)
		pgno := max(first, v>>1)
		if err := f(i, pgno, m.blocks[LeafID(segid, pgno)]); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) PutPage(segid int64, term []byte, pgno int64) error {
	i, _ := m.search(segid, string(term))
	m.keys = slices.Insert(m.keys, i, memoryKey{segid, string(term), pgno})
	return nil
}

func (m *memory) DeletePages(segid int64) error {
	m.keys = slices.DeleteFunc(m.keys, func(k memoryKey) bool { return k.segid == segid })
	return nil
}

// model is what an index should contain: the documents of each term.
type model map[string]map[int64]bool

func (m model) add(term string, doc int64) {
	if m[term] == nil {
		m[term] = make(map[int64]bool)
	}
	m[term][doc] = true
}

// docs are the documents within [lo, hi] of the terms for which match is true.
func (m model) docs(match func(term string) bool, lo, hi int64) []int64 {
	set := make(map[int64]bool)
	for term, docs := range m {
		if match(term) {
			for doc := range docs {
				if doc >= lo && doc <= hi {
					set[doc] = true
				}
			}
		}
	}
	out := make([]int64, 0, len(set))
	for doc := range set {
		out = append(out, doc)
	}
	slices.Sort(out)
	return out
}

// drop removes the documents for which keep is false.
func (m model) drop(keep func(int64) bool) {
	for term, docs := range m {
		for doc := range docs {
			if !keep(doc) {
				delete(docs, doc)
			}
		}
		if len(docs) == 0 {
			delete(m, term)
		}
	}
}
