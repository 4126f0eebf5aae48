package runs

import (
	"math/rand/v2"
	"testing"
)

// A set has what was added, in any order, and numbers that count up take no memory.
func TestSequences(t *testing.T) {
	var s Sequences
	want := map[int64]bool{}
	for range 3_000 {
		n := 1 + rand.Int64N(1_000)
		s.Add(n)
		want[n] = true
	}
	for n := range int64(1_003) {
		if s.Has(n) != want[n] {
			t.Errorf("%d is in it: %v", n, s.Has(n))
		}
	}
	for i, r := range s.ranges {
		if r.first > r.last || i > 0 && s.ranges[i-1].last+1 >= r.first {
			t.Fatalf("the ranges are %v", s.ranges)
		}
	}
	for n := range int64(1_001) {
		s.Add(n)
	}
	if len(s.ranges) != 1 {
		t.Errorf("numbers that count up are %v", s.ranges)
	}
	for i := range int64(MaxRanges) {
		s.Add(2_000 + 2*i)
	}
	if s.HasRoom(1_500) || !s.HasRoom(1_001) || !s.HasRoom(2_001) || !s.HasRoom(2_000) {
		t.Error("the limit is another one")
	}
}
