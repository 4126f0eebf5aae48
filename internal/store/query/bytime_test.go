package query_test

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/internal/testkit"
)

// Tapes with ascending dates come in the order of all dates. Whatever the dates are, nothing is lost,
// each tape keeps its order, and a tape is opened only when its turn comes.
func TestByTime(t *testing.T) {
	rng := testkit.Random(t)
	for range 200 {
		reverse, ordered := rng.IntN(2) == 0, rng.IntN(2) == 0
		open, most := 0, 0
		var sources []query.Source
		var all []layout.Entry
		for tape := range 1 + rng.IntN(6) {
			list := randomTape(rng, string(rune('a'+tape)), ordered)
			if reverse {
				slices.Reverse(list)
			}
			all = append(all, list...)
			sources = append(sources, query.Source{From: bound(list, reverse), Entries: func(yield func(layout.Entry, error) bool) {
				if open++; open > most {
					most = open
				}
				defer func() { open-- }()
				for _, e := range list {
					if !yield(e, nil) {
						return
					}
				}
			}})
		}
		got := collect(t, query.ByTime(sources, reverse))
		if open != 0 {
			t.Fatal("a tape stays open")
		}
		check(t, got, all, reverse, ordered)
	}
}

func randomTape(rng *rand.Rand, name string, ordered bool) (list []layout.Entry) {
	at := time.Date(2026, 1, 1, rng.IntN(5), 0, 0, 0, time.UTC)
	for id := range rng.IntN(8) {
		step := time.Duration(rng.IntN(90)) * time.Minute
		if !ordered && rng.IntN(3) == 0 {
			step = -step
		}
		at = at.Add(step)
		list = append(list, layout.Entry{ID: int64(id + 1), Tape: name, Date: layout.FormatDate(at)})
	}
	return list
}

// bound returns the first date of a tape, or the last one if last.
func bound(list []layout.Entry, last bool) (out time.Time) {
	for _, e := range list {
		if at, _ := e.Time(); out.IsZero() || last && at.After(out) || !last && at.Before(out) {
			out = at
		}
	}
	return out
}

func collect(t *testing.T, entries iter.Seq2[layout.Entry, error]) (out []layout.Entry) {
	t.Helper()
	for e, err := range entries {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func check(t *testing.T, got, all []layout.Entry, reverse, ordered bool) {
	t.Helper()
	last := map[string]int64{}
	for i, e := range got {
		if before := last[e.Tape]; before != 0 && (e.ID == before+1) == reverse {
			t.Fatalf("tape %s: entry %d comes after %d", e.Tape, e.ID, before)
		}
		last[e.Tape] = e.ID
		if !ordered || i == 0 {
			continue
		}
		if c := cmp.Compare(got[i-1].Date, e.Date); c != 0 && c > 0 != reverse {
			t.Fatalf("%s comes after %s", e.Date, got[i-1].Date)
		}
	}
	if len(got) != len(all) {
		t.Fatalf("ByTime yields %d of %d entries", len(got), len(all))
	}
}
