package host

import (
	"math/rand/v2"
	"testing"
)

// A set has the numbers that were added in any order, and numbers that count up take only one range.
func TestSequences(t *testing.T) {
	var s runSequences
	want := map[int64]bool{}
	for range 3_000 {
		n := 1 + rand.Int64N(1_000)
		s.Add(n)
		want[n] = true
	}
	for n := range int64(1_003) {
		if s.Has(n) != want[n] {
			t.Errorf("the set has %d: %v, want %v", n, s.Has(n), want[n])
		}
	}
	for i, r := range s.ranges {
		if r.first > r.last || i > 0 && s.ranges[i-1].last+1 >= r.first {
			t.Fatalf("range %d is empty or touches the one before: %v", i, s.ranges)
		}
	}
	for n := range int64(1_001) {
		s.Add(n)
	}
	if len(s.ranges) != 1 {
		t.Errorf("numbers that count up are %v, want one range", s.ranges)
	}
	for i := range int64(maxRanges) {
		s.Add(2_000 + 2*i)
	}
	if s.HasRoom(1_500) || !s.HasRoom(1_001) || !s.HasRoom(2_001) || !s.HasRoom(2_000) {
		t.Errorf("a full set should have room for numbers in or beside a range alone: 1500 %v, 1001 %v, 2001 %v, 2000 %v", s.HasRoom(1_500), s.HasRoom(1_001), s.HasRoom(2_001), s.HasRoom(2_000))
	}
}
