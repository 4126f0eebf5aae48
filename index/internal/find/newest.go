package find

import (
	"container/heap"
	"iter"
)

// tapeQueue has the remaining documents of one tape. The queues are in a heap, the newest first.
type tapeQueue struct {
	rank  int
	rest  []scope
	docs  []int64 // the next documents
	date  int64   // of docs[0], or an upper bound until the document is read
	dated bool    // date is exact
	begun bool    // rest has been set
}

type tapeQueues []*tapeQueue

func (h tapeQueues) Len() int { return len(h) }

// Less puts a queue with an upper bound before one with the same exact date, because its next document may have
// that date, too.
func (h tapeQueues) Less(i, j int) bool {
	a, b := h[i], h[j]
	switch {
	case a.date != b.date:
		return a.date > b.date
	case a.dated != b.dated:
		return b.dated
	}
	return a.rank < b.rank
}

func (h tapeQueues) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *tapeQueues) Push(r any)   { *h = append(*h, r.(*tapeQueue)) }

func (h *tapeQueues) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}

// step makes sure that a queue has a next document, and returns false if there is none.
func (r *tapeQueue) step(l placement, from set) bool {
	const several = 128
	for len(r.docs) == 0 && len(r.rest) > 0 {
		sc := &r.rest[len(r.rest)-1]
		l.last(from, *sc, func(doc int64) bool {
			r.docs = append(r.docs, doc)
			return len(r.docs) < several
		})
		if len(r.docs) > 0 {
			sc.hi = r.docs[len(r.docs)-1] - 1
		}
		if len(r.docs) == 0 || sc.hi < sc.lo {
			r.rest = r.rest[:len(r.rest)-1]
		}
	}
	return len(r.docs) > 0
}

// newestOf yields the documents of a set, the newest first. Within a tape, the last entry is the newest;
// between tapes, dates decide. A tape's documents are listed only when one of them may be the next.
func (f *finder) newestOf(from set) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		left := make(tapeQueues, 0, len(f.eval.tapes))
		for i, t := range f.eval.tapes {
			left = append(left, &tapeQueue{rank: i, date: max(0, t.newest)})
		}
		alone := len(left) == 1
		heap.Init(&left)
		for len(left) > 0 {
			r := left[0]
			if !r.begun {
				r.rest, r.begun = f.eval.scopesOf(f.eval.tapes[r.rank]), true
			}
			if !r.step(f.eval.placement, from) {
				heap.Pop(&left)
				continue
			}
			if !r.dated && !alone {
				c, err := f.candidate(r.docs[0])
				if err != nil {
					yield(0, err)
					return
				}
				r.date, r.dated = c.Created, true
				heap.Fix(&left, 0)
				continue
			}
			doc := r.docs[0]
			if r.docs, r.dated = r.docs[1:], false; !alone {
				r.date = max(0, f.eval.tapes[r.rank].newest)
				heap.Fix(&left, 0)
			}
			if !yield(doc, nil) {
				return
			}
		}
	}
}
