package fts5

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
)

const perDoc = 60 // terms of a document

// zipf returns n documents of words with the frequencies of a natural text. Each word follows a byte with its
// length.
func zipf(n int) []byte {
	rng := rand.New(rand.NewSource(1))
	z := rand.NewZipf(rng, 1.07, 2, 400_000)
	words := make([][]byte, 400_001)
	for i := range words {
		w := fmt.Appendf(nil, "%x", uint32(i)*2654435761>>rng.Intn(16))
		words[i] = append([]byte{byte(len(w))}, w...)
	}
	var text []byte
	for range n * perDoc {
		text = append(text, words[z.Uint64()]...)
	}
	return text
}

// fill adds n documents of the text to a builder and returns the rest.
func fill(b *Builder, text []byte, doc int64, n int) []byte {
	for range n {
		doc++
		b.Begin(doc)
		for range perDoc {
			end := 1 + int(text[0])
			b.Add(text[1:end])
			text = text[end:]
		}
	}
	return text
}

func BenchmarkBuild(b *testing.B) {
	const docs = 300_000
	text := zipf(docs)
	b.ResetTimer()
	for b.Loop() {
		bd := NewBuilder()
		fill(bd, text, 1<<32, docs)
		x, _ := Open(frozen{newMemory()})
		if err := x.Write(bd); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(bd.Size())/float64(x.st.segs[0].pages()*pageSize), "memory/segment")
		b.ReportMetric(float64(bd.Size())/1e6, "MB")
	}
	b.ReportMetric(docs*perDoc/1e6*float64(b.N)/b.Elapsed().Seconds(), "Mterms/s")
}

func BenchmarkMerge(b *testing.B) {
	const docs = 100_000
	text := zipf(docs)
	mem := newMemory()
	x, _ := Open(mem)
	bd := NewBuilder()
	for i := range 4 {
		text = fill(bd, text, int64(i)<<32, docs/4)
		if err := x.Write(bd); err != nil {
			b.Fatal(err)
		}
		bd = NewBuilder()
	}
	st := x.st
	b.ResetTimer()
	for b.Loop() {
		y := &Index{pages: frozen{mem}, st: st}
		if err := y.Merge(nil, true); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(docs*perDoc/1e6*float64(b.N)/b.Elapsed().Seconds(), "Mterms/s")
}

// frozen drops writes and deletions.
type frozen struct{ *memory }

func (frozen) PutBlock(int64, []byte) error       { return nil }
func (frozen) PutPage(int64, []byte, int64) error { return nil }
func (frozen) DeleteBlocks(int64, int64) error    { return nil }
func (frozen) DeletePages(int64) error            { return nil }

func BenchmarkDocs(b *testing.B) {
	x, _ := Open(newMemory())
	bd := NewBuilder()
	for i := range int64(1_000_000) {
		bd.Begin(1<<32 + i)
		if i*2654435761>>8%5 == 0 {
			bd.Add([]byte("fifth"))
		}
		if i%1000 == 0 {
			bd.Add([]byte("rare"))
		}
	}
	if err := x.Write(bd); err != nil {
		b.Fatal(err)
	}
	n := 0
	for _, c := range []struct {
		name, term string
		lo, hi     int64
	}{{"fifth", "fifth", 0, math.MaxInt64}, {"rare", "rare", 0, math.MaxInt64}, {"end of fifth", "fifth", 1<<32 + 999_000, math.MaxInt64}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				n = 0
				if err := x.Each([]byte(c.term), c.lo, c.hi, func(docs []int64) { n += len(docs) }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n), "docs")
		})
	}
}

// BenchmarkAppend writes and merges documents one by one, as appending to a tape does.
func BenchmarkAppend(b *testing.B) {
	text := zipf(20_000)
	rest := text
	mem := newMemory()
	x, _ := Open(mem)
	bd := NewBuilder()
	most, doc := 0, 0
	b.ResetTimer()
	for b.Loop() {
		if len(rest) == 0 {
			rest = text
		}
		rest = fill(bd, rest, int64(doc), 1)
		doc++
		if err := x.Write(bd); err != nil {
			b.Fatal(err)
		}
		bd = NewBuilder()
		if err := x.Merge(nil, false); err != nil {
			b.Fatal(err)
		}
		most = max(most, x.Segments())
	}
	b.ReportMetric(float64(most), "segments")
	b.ReportMetric(float64(mem.puts)/float64(b.N), "puts/doc")
}
