package query

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"
	"time"

	"tape/internal/store/layout"
)

// Source is one of several tapes that are read together.
type Source struct {
	// From is a date before which the tape has no entry; when the order is reversed, one after
	// which it has none.
	From    time.Time
	Entries iter.Seq2[layout.Entry, error]
}

// ByTime yields the entries of several tapes by date, the latest first if reverse. The order within
// a tape is kept. A tape is opened only when one of its entries may be next.
func ByTime(sources []Source, reverse bool) iter.Seq2[layout.Entry, error] {
	sources = slices.Clone(sources)
	h := &heads{reverse: reverse}
	slices.SortStableFunc(sources, func(a, b Source) int { return h.compare(a.From, b.From) })
	return func(yield func(layout.Entry, error) bool) {
		h := &heads{reverse: reverse}
		defer h.stop()
		for waiting := sources; ; {
			for len(waiting) > 0 && (h.Len() == 0 || h.compare(waiting[0].From, h.list[0].at) <= 0) {
				if err := h.start(len(sources)-len(waiting), waiting[0]); err != nil {
					yield(layout.Entry{}, err)
					return
				}
				waiting = waiting[1:]
			}
			if h.Len() == 0 || !yield(h.list[0].entry, nil) {
				return
			}
			if err := h.next(); err != nil {
				yield(layout.Entry{}, err)
				return
			}
		}
	}
}

// head is an open tape and its next entry.
type head struct {
	entry layout.Entry
	at    time.Time
	rank  int // decides between entries of the same date
	next  func() (layout.Entry, error, bool)
	stop  func()
}

// advance reads the next entry. An entry dated before its predecessor counts as of the same date.
func (t *head) advance(h *heads) (bool, error) {
	e, err, ok := t.next()
	if !ok || err != nil {
		t.stop()
		return false, err
	}
	t.entry = e
	if at, dated := e.Time(); dated && (t.at.IsZero() || h.compare(at, t.at) > 0) {
		t.at = at
	}
	return true, nil
}

// heads is a heap of open tapes.
type heads struct {
	list    []*head
	reverse bool
}

func (h *heads) compare(a, b time.Time) int {
	if h.reverse {
		return b.Compare(a)
	}
	return a.Compare(b)
}

func (h *heads) start(rank int, s Source) error {
	next, stop := iter.Pull2(s.Entries)
	t := &head{at: s.From, rank: rank, next: next, stop: stop}
	more, err := t.advance(h)
	if more {
		heap.Push(h, t)
	}
	return err
}

func (h *heads) next() error {
	more, err := h.list[0].advance(h)
	if more {
		heap.Fix(h, 0)
	} else {
		heap.Pop(h)
	}
	return err
}

func (h *heads) stop() {
	for _, t := range h.list {
		t.stop()
	}
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h *heads) Len() int { return len(h.list) }

func (h *heads) Less(i, j int) bool {
	a, b := h.list[i], h.list[j]
	return cmp.Or(h.compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) < 0
}

func (h *heads) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }

func (h *heads) Push(x any) { h.list = append(h.list, x.(*head)) }

func (h *heads) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}
