package query

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"tape/internal/store/layout"
)

// Source is one of several tapes that are read together.
type Source struct {
	// From is a date before which the tape has no entry. If the order is reversed, it is a date after
	// which the tape has no entry.
	From    time.Time
	Entries iter.Seq2[layout.Entry, error]
}

// ByTime yields the entries of several tapes by date, the latest first if reverse. The order within
// a tape is kept. A tape is opened only when one of its entries may be next.
func ByTime(sources []Source, reverse bool) iter.Seq2[layout.Entry, error] {
	compare := time.Time.Compare
	if reverse {
		compare = func(a, b time.Time) int { return b.Compare(a) }
	}
	sources = slices.Clone(sources)
	slices.SortStableFunc(sources, func(a, b Source) int { return compare(a.From, b.From) })
	return func(yield func(layout.Entry, error) bool) {
		h := &heads{compare: compare}
		defer h.stop()
		for waiting := sources; ; {
			for len(waiting) > 0 && (len(h.list) == 0 || compare(waiting[0].From, h.list[0].at) <= 0) {
				if err := h.start(len(sources)-len(waiting), waiting[0]); err != nil {
					yield(layout.Entry{}, err)
					return
				}
				waiting = waiting[1:]
			}
			if len(h.list) == 0 || !yield(h.list[0].entry, nil) {
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

// heads are the open tapes, the one with the next entry first.
type heads struct {
	list    []*head
	compare func(a, b time.Time) int
}

func (h *heads) start(rank int, s Source) error {
	next, stop := iter.Pull2(s.Entries)
	return h.put(&head{at: s.From, rank: rank, next: next, stop: stop})
}

// next goes on to the next entry of the first tape.
func (h *heads) next() error {
	t := h.list[0]
	h.list = slices.Delete(h.list, 0, 1)
	return h.put(t)
}

// put reads a tape's next entry and inserts the tape by its date, or closes the tape if it has no more entries. An
// entry dated before its predecessor counts as having the same date.
func (h *heads) put(t *head) error {
	e, err, ok := t.next()
	if !ok || err != nil {
		t.stop()
		return err
	}
	t.entry = e
	if at, dated := e.Time(); dated && (t.at.IsZero() || h.compare(at, t.at) > 0) {
		t.at = at
	}
	i, _ := slices.BinarySearchFunc(h.list, t, func(a, b *head) int {
		return cmp.Or(h.compare(a.at, b.at), cmp.Compare(a.rank, b.rank))
	})
	h.list = slices.Insert(h.list, i, t)
	return nil
}

func (h *heads) stop() {
	for _, t := range h.list {
		t.stop()
	}
}
