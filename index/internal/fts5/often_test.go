package fts5

import (
	"slices"
	"strings"
	"testing"
)

// TestOften: repeated terms are marked, in the documents to which Often applies.
func TestOften(t *testing.T) {
	b := NewBuilder()
	for doc, text := range []string{"a a a b", "a a b b b b", "a a a", "long-word-of-sixteen long-word-of-sixteen long-word-of-sixteen"} {
		times := 3
		if doc == 2 {
			times = 0
		}
		b.Often("!", times)
		b.Begin(int64(doc))
		for term := range strings.FieldsSeq(text) {
			b.Add([]byte(term))
		}
	}
	x, err := Open(newMemory())
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Write(b); err != nil {
		t.Fatal(err)
	}
	for term, want := range map[string][]int64{"a": {0, 1, 2}, "!a": {0}, "!b": {1}, "!long-word-of-sixteen": {3}, "!!a": nil} {
		got, err := docsOf(x, term, 0, 99)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", term, got, err, want)
		}
	}
}
