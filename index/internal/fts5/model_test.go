package fts5

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// random writes random documents to an index and to a model.
type random struct {
	*testing.T
	rng  *rand.Rand
	x    *Index
	m    model
	last [4]int64 // the last entry of each of four tapes
	docs int
}

// word returns a term: short ones are frequent, as in a text.
func (r *random) word() string {
	switch n := r.rng.IntN(100); {
	case n < 60:
		return string(rune('a' + int(math.Abs(r.rng.NormFloat64())*4)%26))
	case n < 90:
		return fmt.Sprintf("w%d", r.rng.IntN(500))
	case n < 98:
		return fmt.Sprintf("字%x", r.rng.IntN(1<<20))
	case n < 99:
		return string([]byte{byte(r.rng.IntN(256)), byte(r.rng.IntN(256)), 0})
	default:
		return strings.Repeat("long", r.rng.IntN(800)+1)
	}
}

// write adds up to n documents of up to terms terms, of several tapes at once,
// as one segment.
func (r *random) write(n, terms int) {
	r.Helper()
	var ids []int64
	for range 1 + r.rng.IntN(n) {
		tape := r.rng.IntN(len(r.last))
		r.last[tape] += 1 + int64(r.rng.IntN(3))
		ids = append(ids, int64(tape)<<60|int64(tape+1)<<32|r.last[tape])
	}
	slices.Sort(ids)
	b := NewBuilder()
	for _, id := range ids {
		b.Begin(id)
		for range 1 + r.rng.IntN(terms) {
			w := r.word()
			b.Add([]byte(w))
			r.m.add(w, id)
		}
	}
	r.docs += len(ids)
	if b.Docs() != len(ids) {
		r.Fatalf("the builder counts %d documents of %d", b.Docs(), len(ids))
	}
	if err := r.x.Write(b); err != nil {
		r.Fatal(err)
	}
}

// bounds returns a range that often selects one tape or a part of it.
func (r *random) bounds() (lo, hi int64) {
	tape := r.rng.IntN(len(r.last))
	lo, hi = int64(tape)<<60|int64(tape+1)<<32, int64(tape)<<60|int64(tape+2)<<32-1
	switch r.rng.IntN(4) {
	case 0:
		return 0, math.MaxInt64
	case 1:
		lo += r.rng.Int64N(r.last[tape] + 2)
	case 2:
		lo += r.rng.Int64N(r.last[tape] + 2)
		hi = lo + int64(r.rng.IntN(50)) - 1
	}
	return lo, hi
}

// compare looks up some terms and prefixes.
func (r *random) compare(n int) {
	r.Helper()
	if err := r.x.Check(); err != nil {
		r.Fatal(err)
	}
	words := make([]string, 0, len(r.m))
	for w := range r.m {
		words = append(words, w)
	}
	slices.Sort(words)
	for i := range n {
		w := r.word()
		if i%3 > 0 && len(words) > 0 {
			w = words[r.rng.IntN(len(words))]
		}
		lo, hi := r.bounds()
		known, err := r.x.Known([]string{w, w + "x", ""})
		if err != nil || known[0] != (len(r.m[w]) > 0) || known[1] != (len(r.m[w+"x"]) > 0) || known[2] {
			r.Fatalf("Known(%.40q and with x) gives %v, %v", w, known, err)
		}
		want := r.m.docs(func(t string) bool { return t == w }, lo, hi)
		got, err := docsOf(r.x, w, lo, hi)
		if err != nil || !slices.Equal(got, want) {
			r.Fatalf("Each(%.40q, %d, %d) gives %d documents, want %d, %v", w, lo, hi, len(got), len(want), err)
		}
		prefix := w[:r.rng.IntN(len(w)+1)]
		match := func(t string) bool { return strings.HasPrefix(t, prefix) }
		want = r.m.docs(match, lo, hi)
		got, err = prefixDocs(r.x, prefix, lo, hi)
		if err != nil || !slices.Equal(got, want) {
			r.Fatalf("EachPrefix(%.40q, %d, %d) gives %d documents, want %d, %v", prefix, lo, hi, len(got), len(want), err)
		}
		r.terms(prefix, words)
	}
}

// docsOf are the documents of a term, ascending.
func docsOf(x *Index, term string, lo, hi int64) ([]int64, error) {
	var out []int64
	err := x.Each([]byte(term), lo, hi, func(docs []int64) { out = append(out, docs...) })
	slices.Sort(out)
	return slices.Compact(out), err
}

func prefixDocs(x *Index, prefix string, lo, hi int64) ([]int64, error) {
	var out []int64
	err := x.EachPrefix([]byte(prefix), lo, hi, func(docs []int64) { out = append(out, docs...) })
	slices.Sort(out)
	return slices.Compact(out), err
}

// terms compares the terms that begin with prefix with those of words.
func (r *random) terms(prefix string, words []string) {
	r.Helper()
	var want, got []string
	for _, w := range words {
		if strings.HasPrefix(w, prefix) {
			want = append(want, w)
		}
	}
	err := r.x.Terms([]byte(prefix), func(term []byte) { got = append(got, string(term)) })
	slices.Sort(got)
	got = slices.Compact(got)
	if err != nil || !slices.Equal(got, want) {
		r.Fatalf("Terms(%.40q) gives %d terms, want %d, %v", prefix, len(got), len(want), err)
	}
}

// An index answers as the model does, after random writes and merges.
func TestModel(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			mem := newMemory()
			r := &random{T: t, rng: rand.New(rand.NewPCG(seed, 1)), m: make(model)}
			var err error
			if r.x, err = Open(mem); err != nil {
				t.Fatal(err)
			}
			for range 16 {
				switch r.rng.IntN(6) {
				case 0:
					r.write(1000, 40)
				case 1, 2:
					r.write(200, 60)
				case 3:
					r.write(1, 60)
				case 4:
					err = r.x.Merge(nil, r.rng.IntN(4) == 0)
				case 5:
					gone := int64(r.rng.IntN(97))
					keep := func(doc int64) bool { return doc%97 != gone }
					err = r.x.Merge(keep, true)
					r.m.drop(keep)
				}
				if err != nil {
					t.Fatal(err)
				}
				if r.x, err = Open(mem); err != nil {
					t.Fatal(err)
				}
			}
			r.compare(40)
			r.totals()
		})
	}
}

// totals compares the record of totals.
func (r *random) totals() {
	r.Helper()
	docs, pairs := make(map[int64]bool), 0
	for _, d := range r.m {
		pairs += len(d)
		for doc := range d {
			docs[doc] = true
		}
	}
	got, err := r.x.totals()
	if err != nil || got.docs != int64(len(docs)) || got.terms != int64(pairs) {
		r.Errorf("totals %+v, %v, not %d documents and %d terms", got, err, len(docs), pairs)
	}
}
