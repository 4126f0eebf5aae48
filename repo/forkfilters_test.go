package repo_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// Every filter of a fork gives what it gives on a tape that has the same entries.
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
		if err != nil {
			t.Fatal(err)
		}
		inFork, inMain := storetest.Entries(t, f, repo.Query{}), storetest.Entries(t, m, repo.Query{})
		for i := range int(base.Entry) {
			if !bytes.Equal(inFork[i].Raw, inMain[i].Raw) || inFork[i].Anchor != inMain[i].Anchor {
				t.Fatalf("entry %d is %s in the fork, %s in the tape", i+1, inFork[i].Raw, inMain[i].Raw)
			}
		}
		for range testkit.Size(100, 4000) {
			q := randomQuery(rng, inFork)
			got, err := storetest.Collect(t.Context(), f, q)
			want, wantErr := naive(inFork, q)
			if (err != nil) != (wantErr != nil) || wantErr != nil && !errors.Is(err, wantErr) {
				t.Fatalf("%s: got the error %v, want %v", show(q), err, wantErr)
			}
			if err == nil && !slices.Equal(storetest.IDs(got), storetest.IDs(want)) {
				t.Fatalf("%s: got %v, want %v", show(q), storetest.IDs(got), storetest.IDs(want))
			}
		}
	}
}
