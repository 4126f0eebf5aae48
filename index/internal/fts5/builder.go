package fts5

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"unsafe"
)

// Builder collects the terms of documents in memory, for [Index.Write].
type Builder struct {
	seed  maphash.Seed
	slots []slot // a hash table; its length is a power of two
	posts []posting
	terms arena // of long terms: the length in two bytes, then the term
	lists arena // chunks of lists: differences, then the number of the next chunk

	queue   []queued // terms of the current document that are not in the table yet
	text    []byte   // their texts
	touched byte     // keeps the compiler from removing the reads in drain

	often  []byte // see Often
	times  uint8
	marked []byte // scratch

	doc   int64 // the current document
	begun bool  // there is a current document
	found bool  // it has a term
	docs  int
	pairs int64
	err   error
}

type slot struct {
	hash uint32
	post uint32 // 1 + index into posts; 0 if free
}

type queued struct {
	hash uint32
	end  uint32 // of the term in text
	at   uint32 // scratch of drain
}

// posting is a term's list. The first document is not in a chunk, because most terms have only one.
type posting struct {
	first, last int64
	head        uint32 // the first chunk
	at, end     uint32 // where to write next, and the end of that chunk
	size        uint32 // of the list in bytes, without the first document
	times       uint8  // how often the last document contains it, counted up to Often's limit
	len         uint8  // of the term, or isLong
	term        [14]byte
}

// isLong is the len of a posting whose term is in the arena; its place there is in the posting's term.
const isLong = 0xff

const (
	minChunk = 12
	maxChunk = slabSize/4 - linkSize
	linkSize = 4
	minSlots = 1 << 10
)

var (
	errOrder = errors.New("documents are out of order")
	errFull  = errors.New("too many terms in memory")
)

// NewBuilder returns a builder without documents.
func NewBuilder() *Builder {
	return &Builder{seed: maphash.MakeSeed(), slots: make([]slot, minSlots)}
}

// Docs is how many documents have a term.
func (b *Builder) Docs() int {
	b.drain()
	return b.docs
}

// Size is how many bytes of memory are in use. The caller must keep it below 2 GiB, by writing in time and
// continuing with a new builder.
func (b *Builder) Size() int {
	return b.terms.size() + b.lists.size() +
		cap(b.posts)*int(unsafe.Sizeof(posting{})) + len(b.slots)*int(unsafe.Sizeof(slot{}))
}

// Begin starts a document. Its number must be above all earlier ones, or Write fails.
func (b *Builder) Begin(doc int64) {
	b.drain()
	if doc < 0 || doc > 1<<62 || b.begun && doc <= b.doc {
		b.err = errOrder
		return
	}
	b.doc, b.begun, b.found = doc, true, false
}

// Add adds a term of the current document. Repeated terms count once, empty ones are ignored, very long ones
// are cut as FTS5 does.
func (b *Builder) Add(term []byte) {
	if len(term) == 0 {
		return
	}
	term = term[:min(len(term), maxTerm)]
	b.text = append(b.text, term...)
	b.queue = append(b.queue, queued{hash: uint32(maphash.Bytes(b.seed, term)), end: uint32(len(b.text))})
	if len(b.queue) == 64 {
		b.drain()
	}
}

// Often adds another term, prefix and term together, for each term that a document contains at least times
// times (2 to 255). It applies to documents begun afterwards; 0 turns it off.
func (b *Builder) Often(prefix string, times int) {
	b.drain()
	b.often, b.times = append(b.often[:0], prefix...), uint8(times)
}

func (b *Builder) mark(term []byte) {
	b.marked = append(append(b.marked[:0], b.often...), term...)
	b.marked = b.marked[:min(len(b.marked), maxTerm)]
	b.enter(uint32(maphash.Bytes(b.seed, b.marked)), b.marked)
}

// drain enters the queued terms. The table is larger than the processor's caches, so drain first reads what
// all of them need, in loops whose reads overlap. Without this, a rebuild of the index takes 5 to 10 % longer.
func (b *Builder) drain() {
	mask := uint32(len(b.slots) - 1)
	for i := range b.queue {
		b.queue[i].at = b.slots[b.queue[i].hash&mask].post
	}
	for i := range b.queue {
		if post := b.queue[i].at; post != 0 {
			b.queue[i].at = b.posts[post-1].at
		}
	}
	for i := range b.queue {
		if at := b.queue[i].at; at != 0 {
			b.touched ^= b.lists.slabs[at>>slabBits][at&slabMask]
		}
	}
	start := uint32(0)
	for _, q := range b.queue {
		if b.err == nil {
			b.enter(q.hash, b.text[start:q.end])
		}
		start = q.end
	}
	b.queue, b.text = b.queue[:0], b.text[:0]
}

// enter adds a term to the table, or the current document to its list.
func (b *Builder) enter(h uint32, term []byte) {
	mask := uint32(len(b.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := b.slots[i]
		if s.post == 0 {
			b.insert(i, h, term)
			return
		}
		if s.hash != h {
			continue
		}
		p := &b.posts[s.post-1]
		if string(b.term(p)) != string(term) {
			continue
		}
		if p.last != b.doc {
			b.append(p)
			p.times = 1
		} else if p.times < b.times {
			if p.times++; p.times == b.times {
				b.mark(term)
			}
		}
		return
	}
}

// count counts a pair of the current document and a term.
func (b *Builder) count() {
	b.pairs++
	if !b.found {
		b.found = true
		b.docs++
		if !b.begun {
			b.err = errOrder
		}
	}
}

func (b *Builder) insert(i, hash uint32, term []byte) {
	b.count()
	p := posting{first: b.doc, last: b.doc, times: 1, len: uint8(len(term))}
	if len(term) > len(p.term) {
		at := b.terms.alloc(2 + len(term))
		if at > math.MaxUint32 {
			b.err = errFull
			return
		}
		m := b.terms.bytes(uint32(at), 2+len(term))
		binary.LittleEndian.PutUint16(m, uint16(len(term)))
		copy(m[2:], term)
		p.len = isLong
		binary.LittleEndian.PutUint32(p.term[:], uint32(at))
	} else {
		copy(p.term[:], term)
	}
	b.posts = append(b.posts, p)
	b.slots[i] = slot{hash, uint32(len(b.posts))}
	if len(b.posts) > len(b.slots)/4*3 {
		b.rehash()
	}
}

func (b *Builder) rehash() {
	slots := make([]slot, 2*len(b.slots))
	mask := uint32(len(slots) - 1)
	for _, s := range b.slots {
		if s.post == 0 {
			continue
		}
		i := s.hash & mask
		for slots[i].post != 0 {
			i = (i + 1) & mask
		}
		slots[i] = s
	}
	b.slots = slots
}

func (b *Builder) term(p *posting) []byte {
	if p.len != isLong {
		return p.term[:p.len]
	}
	at := binary.LittleEndian.Uint32(p.term[:])
	m := b.terms.slabs[at>>slabBits][at&slabMask:]
	return m[2 : 2+int(binary.LittleEndian.Uint16(m))]
}

func (b *Builder) append(p *posting) {
	b.count()
	delta := uint64(b.doc - p.last)
	p.last = b.doc
	if n := varintLen(delta); p.end-p.at >= uint32(n) {
		m := b.lists.slabs[p.at>>slabBits][p.at&slabMask:]
		if n == 1 {
			m[0] = byte(delta)
		} else {
			appendVarint(m[:0:n], delta)
		}
		p.at += uint32(n)
		p.size += uint32(n)
		return
	}
	var buf [9]byte
	for _, c := range appendVarint(buf[:0], delta) {
		if p.at == p.end && !b.grow(p) {
			return
		}
		b.lists.bytes(p.at, 1)[0] = c
		p.at++
		p.size++
	}
}

// grow gives a list its first chunk, or another one when the last is full.
func (b *Builder) grow(p *posting) bool {
	n := chunkSize(int(p.size))
	at := b.lists.alloc(n + linkSize)
	if at+n+linkSize > math.MaxUint32 {
		b.err = errFull
		return false
	}
	if p.end == 0 {
		p.head = uint32(at)
	} else {
		binary.LittleEndian.PutUint32(b.lists.bytes(p.end, linkSize), uint32(at))
	}
	p.at, p.end = uint32(at), uint32(at+n)
	return true
}

// chunkSize is the size of the next chunk of a list of size bytes.
func chunkSize(size int) int { return min(max(minChunk, size/2), maxChunk) }

// gather appends the list of a term, without its first document, to dst.
func (b *Builder) gather(dst []byte, p *posting) []byte {
	at := p.head
	for rest, size := int(p.size), 0; rest > 0; {
		n := chunkSize(size)
		chunk := b.lists.bytes(at, n+linkSize)
		at = binary.LittleEndian.Uint32(chunk[n:])
		dst = append(dst, chunk[:min(n, rest)]...)
		size += n
		rest -= n
	}
	return dst
}

// sorted returns the postings in the order of their terms.
func (b *Builder) sorted() []sortKey {
	keys := make([]sortKey, len(b.posts))
	for i := range b.posts {
		var k [8]byte
		copy(k[:], b.term(&b.posts[i]))
		keys[i] = sortKey{binary.BigEndian.Uint64(k[:]), uint32(i)}
	}
	slices.SortFunc(keys, func(a, c sortKey) int {
		if a.start != c.start {
			return cmp.Compare(a.start, c.start)
		}
		return bytes.Compare(b.term(&b.posts[a.post]), b.term(&b.posts[c.post]))
	})
	return keys
}

// sortKey avoids most comparisons of whole terms, which are far apart in memory.
type sortKey struct {
	start uint64 // the first bytes of the term
	post  uint32
}

// Write adds the builder's documents as one new segment, page by page. The builder keeps them. If there are
// none, nothing is written.
func (x *Index) Write(b *Builder) error {
	b.drain()
	if b.err != nil {
		return b.err
	}
	if len(b.posts) == 0 {
		return nil
	}
	if len(x.st.segs) >= maxSegment-1 { // one number is reserved for a merge
		return fmt.Errorf("full-text index has %d segments, which is the limit: merge them", len(x.st.segs))
	}
	id, err := x.st.freeID()
	if err != nil {
		return err
	}
	w := newWriter(x.pages, id)
	var list, term []byte
	for _, k := range b.sorted() {
		p := &b.posts[k.post]
		term = append(append(term[:0], mainIndex), b.term(p)...)
		if err := w.begin(term); err != nil {
			return err
		}
		list = b.gather(list[:0], p)
		if err := w.list(p.first, list); err != nil {
			return err
		}
	}
	s, err := w.finish()
	if err != nil {
		return err
	}
	st := x.st
	st.segs = append(slices.Clone(st.segs), s)
	st.written += uint64(s.last)
	if err := x.addTotals(int64(b.docs), b.pairs); err != nil {
		return err
	}
	return x.putStructure(st)
}
