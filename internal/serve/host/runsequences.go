package host

import "slices"

// runSequences is a set of the sequence numbers of a run's results. It is kept as ranges, because numbers
// that count up make one range, however many they are.
type runSequences struct{ ranges []span }

type span struct{ first, last int64 }

// maxRanges limits the ranges of a set, which is in memory.
const maxRanges = 10_000

// find returns the index of the first range that ends at n or later.
func (s *runSequences) find(n int64) int {
	i, _ := slices.BinarySearchFunc(s.ranges, n, func(r span, n int64) int {
		if r.last < n {
			return -1
		}
		return 1
	})
	return i
}

// Has reports whether a number is in the set.
func (s *runSequences) Has(n int64) bool {
	i := s.find(n)
	return i < len(s.ranges) && s.ranges[i].first <= n
}

// HasRoom reports whether a number can be added: it needs no new range, or there are fewer than maxRanges.
func (s *runSequences) HasRoom(n int64) bool {
	return len(s.ranges) < maxRanges || s.Has(n-1) || s.Has(n) || s.Has(n+1)
}

// Add adds a number.
func (s *runSequences) Add(n int64) {
	i := s.find(n)
	if i < len(s.ranges) && s.ranges[i].first <= n {
		return
	}
	before, after := i > 0 && s.ranges[i-1].last == n-1, i < len(s.ranges) && s.ranges[i].first == n+1
	switch {
	case before && after:
		s.ranges[i-1].last = s.ranges[i].last
		s.ranges = slices.Delete(s.ranges, i, i+1)
	case before:
		s.ranges[i-1].last = n
	case after:
		s.ranges[i].first = n
	default:
		s.ranges = slices.Insert(s.ranges, i, span{n, n})
	}
}
