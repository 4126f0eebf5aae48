package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"tape/internal/store/snapshot"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/internal/text/jsonl"
	"tape/repo"
	"testing"
	"time"
)

// anyPayload is valid for every known kind.
const anyPayload = `{"role":"user","content":"","calls":[],"results":[],"name":"e","kind":"k","message":""}`

// Queries on random tapes agree with a filter that reads everything.
func TestQueriesMatchFilter(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	kinds := []string{repo.KindMessage, repo.KindToolCall, repo.KindEvent, repo.KindError, "custom", repo.KindSystem}
	for range testkit.Size(1, 20) {
		tp := storetest.Tape(t, storetest.New(t, nil), "")
		at := testkit.Clock()
		var drafts []repo.Draft
		for i := range 120 {
			at = at.Add(time.Duration(rng.IntN(7200)) * time.Second)
			if rng.IntN(15) == 0 || i == 119 {
				storetest.Append(t, tp, drafts...)
				drafts = nil
				if _, err := tp.Handoff(t.Context(), repo.Anchor{Name: fmt.Sprint("a", rng.IntN(4)), Date: repo.FormatDate(at)}); err != nil {
					t.Fatal(err)
				}
				continue
			}
			zone := time.FixedZone("", 3600*(rng.IntN(20)-10))
			drafts = append(drafts, repo.Draft{Kind: kinds[rng.IntN(len(kinds))], Payload: []byte(anyPayload), Date: at.In(zone).Format(time.RFC3339Nano)})
		}
		all := storetest.Entries(t, tp, repo.Query{})
		for range testkit.Size(100, 4000) {
			compare(t, tp, all, randomQuery(rng, all))
		}
		for range 20 {
			id := int64(1 + rng.IntN(len(all)))
			if e, err := snapshot.Entry(t.Context(), storetest.InnerTape(tp), id); err != nil || e.ID != id || string(e.Raw) != string(all[id-1].Raw) {
				t.Errorf("Entry(%d) is %s, %v; want %s", id, e.Raw, err, all[id-1].Raw)
			}
		}
		_, err := snapshot.Entry(t.Context(), storetest.InnerTape(tp), int64(len(all)+1))
		storetest.WantIs(t, err, repo.ErrNotFound)
	}
}

func show(q repo.Query) string {
	limit := func(n *int) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	return fmt.Sprintf("after %q, from %q to %q, inclusive %v, phase %q, skip %v, kinds %v, roles %v, since %v, until %v, reverse %v, limit %s, tail %s",
		q.After, q.From, q.To, q.Inclusive, q.Phase, q.SkipFirst, q.Kinds, q.Roles, q.Since, q.Until, q.Reverse, limit(q.Limit), limit(q.Tail))
}

func randomQuery(rng *rand.Rand, all []repo.Entry) repo.Query {
	var q repo.Query
	name := func() string { return fmt.Sprint("a", rng.IntN(5)) } // a4 does not exist
	switch rng.IntN(6) {
	case 0:
		q.After = name()
	case 1:
		q.From, q.To, q.Inclusive = name(), name(), rng.IntN(2) == 0
	case 2:
		q.Phase = name()
	case 3:
		q.After = repo.Latest
	}
	if rng.IntN(3) == 0 {
		q.Kinds = []string{repo.KindMessage, []string{repo.KindAnchor, repo.KindEvent, "none"}[rng.IntN(3)]}
	}
	if rng.IntN(4) == 0 {
		q.Roles = []string{"user", "assistant", "none"}[rng.IntN(3):]
	}
	moment := func() time.Time { at, _ := all[rng.IntN(len(all))].Time(); return at }
	if rng.IntN(3) == 0 {
		q.Since = moment()
	}
	if rng.IntN(3) == 0 {
		q.Until = moment()
	}
	q.SkipFirst, q.Reverse = rng.IntN(3) == 0, rng.IntN(2) == 0
	if rng.IntN(2) == 0 {
		q.Limit = repo.N(rng.IntN(20))
	}
	if rng.IntN(3) == 0 {
		q.Tail = repo.N(rng.IntN(20))
	}
	return q
}

// compare fails unless a query of a tape gives the same entries or error as naive.
func compare(t *testing.T, tp *repo.Tape, all []repo.Entry, q repo.Query) {
	t.Helper()
	got, err := storetest.Collect(t.Context(), tp, q)
	want, wantErr := naive(all, q)
	if (err != nil) != (wantErr != nil) || wantErr != nil && !errors.Is(err, wantErr) {
		t.Fatalf("%s: got the error %v, want %v", show(q), err, wantErr)
	}
	if err == nil && !slices.Equal(storetest.IDs(got), storetest.IDs(want)) {
		t.Fatalf("%s: got %v, want %v", show(q), storetest.IDs(got), storetest.IDs(want))
	}
}

// naive answers a query as the documentation of Query says, by filtering all entries.
func naive(all []repo.Entry, q repo.Query) ([]repo.Entry, error) {
	if !q.Since.IsZero() && !q.Until.IsZero() && q.Since.After(q.Until) {
		return nil, repo.ErrInvalid
	}
	last := func(name string) int {
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].Kind == repo.KindAnchor && (all[i].Anchor == name || name == repo.Latest) {
				return i
			}
		}
		return -1
	}
	end := func(i int) int { // the end of the phase that begins at i
		for i++; i < len(all) && all[i].Kind != repo.KindAnchor; i++ {
			continue
		}
		return i
	}
	from, to := 0, len(all)
	switch {
	case q.After != "":
		if from = last(q.After) + 1; from == 0 {
			return nil, repo.ErrNotFound
		}
	case q.Phase != "":
		if from = last(q.Phase); from < 0 {
			return nil, repo.ErrNotFound
		}
		to = end(from)
	case q.From != "":
		start := last(q.From)
		if start < 0 {
			return nil, repo.ErrNotFound
		}
		to = start
		if !q.Inclusive {
			to++
		}
		for ; to < len(all) && (all[to].Kind != repo.KindAnchor || all[to].Anchor != q.To); to++ {
			continue
		}
		if to == len(all) {
			return nil, repo.ErrNotFound
		}
		from = start + 1
		if q.Inclusive {
			from, to = start, end(to)
		}
	}
	var out []repo.Entry
	for i, e := range all[from:to] {
		at, _ := e.Time()
		switch {
		case q.SkipFirst && from+i == 0,
			!q.Since.IsZero() && at.Before(q.Since), !q.Until.IsZero() && at.After(q.Until),
			len(q.Roles) > 0 && (e.Kind != repo.KindMessage || !slices.Contains(q.Roles, jsonl.GetString(e.Payload, "role"))),
			len(q.Kinds) > 0 && !slices.Contains(q.Kinds, e.Kind):
		default:
			out = append(out, e)
		}
	}
	if q.Tail != nil {
		out = out[len(out)-min(*q.Tail, len(out)):]
	}
	if q.Reverse {
		slices.Reverse(out)
	}
	if q.Limit != nil {
		out = out[:min(*q.Limit, len(out))]
	}
	return out, nil
}

// Queries on a fork, part of whose entries are its parent's, agree with a filter that reads everything.
func TestForkFilters(t *testing.T) {
	rng := testkit.Random(t)
	for range testkit.Size(1, 20) {
		s := storetest.New(t, nil)
		m := storetest.Tape(t, s, "main")
		at := testkit.Clock()
		kinds := []string{repo.KindMessage, repo.KindToolCall, repo.KindEvent, repo.KindError, "custom"}
		grow := func(tp *repo.Tape, n int) {
			for range n {
				at = at.Add(1e9 * 60 * 7)
				if rng.IntN(7) == 0 {
					if _, err := tp.Handoff(t.Context(), repo.Anchor{Name: fmt.Sprint("a", rng.IntN(4)), Date: repo.FormatDate(at)}); err != nil {
						t.Fatal(err)
					}
					continue
				}
				storetest.Append(t, tp, repo.Draft{Kind: kinds[rng.IntN(len(kinds))], Payload: []byte(anyPayload), Date: repo.FormatDate(at)})
			}
		}
		grow(m, 30)
		f := storetest.Fork(t, m, "x", fmt.Sprint("@", 5+rng.IntN(20)))
		grow(m, 5)
		grow(f, 20)
		base, err := f.Base(t.Context())
		storetest.Must(t, err)
		inFork, inMain := storetest.Entries(t, f, repo.Query{}), storetest.Entries(t, m, repo.Query{})
		for i := range int(base.Entry) {
			if !bytes.Equal(inFork[i].Raw, inMain[i].Raw) || inFork[i].Anchor != inMain[i].Anchor {
				t.Fatalf("entry %d is %s in the fork, %s in the tape", i+1, inFork[i].Raw, inMain[i].Raw)
			}
		}
		for range testkit.Size(100, 4000) {
			compare(t, f, inFork, randomQuery(rng, inFork))
		}
	}
}
