package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
)

// TestEntries: what is measured is measured on text of the shape that the rows tell of.
func TestEntries(t *testing.T) {
	n, err := pickNeedles()
	if err != nil {
		t.Fatal(err)
	}
	var raw, again bytes.Buffer
	const entries = 2_000
	for _, b := range []*bytes.Buffer{&raw, &again} {
		if err := newGen(7).entries(b, entries); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(raw.Bytes(), again.Bytes()) {
		t.Error("the same seed gives different text")
	}
	if mean := raw.Len() / entries; mean < 380 || mean > 470 {
		t.Errorf("an entry has %d bytes on average, want 400 to 450", mean)
	}
	var often, chinese, typo, rare int
	for line := range strings.Lines(raw.String()) {
		words := map[string]bool{}
		for _, w := range strings.FieldsFunc(line, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' }) {
			words[w] = true
		}
		often += count(words[n.often])
		typo += count(words[n.typo])
		rare += count(words[n.rare])
		chinese += count(strings.ContainsFunc(line, func(r rune) bool { return unicode.Is(unicode.Han, r) }))
	}
	for _, c := range []struct {
		what      string
		n         int
		low, high float64
	}{
		{"the frequent word " + n.often, often, 0.15, 0.25},
		{"Chinese", chinese, 0.01, 0.06},
		{"the misspelt word " + n.typo, typo, 0, 0},
		{"the rare word " + n.rare, rare, 0, 0.001},
	} {
		if share := float64(c.n) / entries; share < c.low || share > c.high {
			t.Errorf("%s: in %.4f of the entries, want %v to %v", c.what, share, c.low, c.high)
		}
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestVocab: words are drawn as often as their places say.
func TestVocab(t *testing.T) {
	v := newVocab([]string{"a", "b", "c", "d"}, 1, 1) // 12 : 6 : 4 : 3
	g := newGen(3)
	got := map[string]int{}
	const draws = 100_000
	for range draws {
		got[v.pick(g.rng)]++
	}
	for w, want := range map[string]float64{"a": 0.48, "b": 0.24, "c": 0.16, "d": 0.12} {
		if share := float64(got[w]) / draws; share < want-0.01 || share > want+0.01 {
			t.Errorf("%s: %.3f of the draws, want %.2f", w, share, want)
		}
	}
}
