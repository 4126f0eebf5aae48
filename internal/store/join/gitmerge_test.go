package join_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"tape/internal/store/join"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// However git merges a fork (without conflicts, stopping at them, or with the tree that a host's merge button
// makes), the branch ends with the tree that join.Merge makes.
func TestSoakGitMergeEndsAsOurs(t *testing.T) {
	rng := testkit.Random(t)
	for range testkit.Size(2, 100) {
		dir := filepath.Join(t.TempDir(), "a")
		forkedHistory(t, rng, dir)
		want := mergedTreeOf(t, dir)
		for _, how := range []string{"git merge", "host, their tree", "host, our tree", "host, packed refs"} {
			other := filepath.Join(t.TempDir(), "b")
			storetest.CopyTree(t, dir, other)
			storetest.MergeWithGit(t, other, how)
			s := storetest.Reopen(t, other)
			m := storetest.Tape(t, s, "main")
			if _, err := os.Stat(filepath.Join(other, ".git", "MERGE_HEAD")); err == nil {
				if _, err := storetest.Collect(t.Context(), m, repo.Query{}); err != nil {
					t.Fatalf("reading during a merge: %v", err)
				}
				if _, err := join.ContinueMerge(t.Context(), storetest.InnerTape(m)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := storetest.Collect(t.Context(), m, repo.Query{}); err != nil {
				t.Fatalf("%s: %v", how, err)
			}
			if got := storetest.Git(t, other, "rev-parse", "tape/main^{tree}"); got != want {
				t.Fatalf("%s ends with the tree %s, not with %s:\n%s", how, got, want, storetest.Git(t, other, "diff", "--stat", want, got))
			}
			storetest.WantClean(t, other)
			storetest.Healthy(t, other)
		}
	}
}

// Entries recorded while git waits for somebody to resolve a conflict are kept, before the merged ones.
func TestSoakRecordingDuringAConflict(t *testing.T) {
	rng := testkit.Random(t)
	kept := 0
	for range testkit.Size(4, 60) {
		dir := filepath.Join(t.TempDir(), "a")
		forkedHistory(t, rng, dir)
		storetest.MergeWithGit(t, dir, "git merge")
		if _, err := os.Stat(filepath.Join(dir, ".git", "MERGE_HEAD")); err != nil {
			continue
		}
		s := storetest.Reopen(t, dir)
		m := storetest.Tape(t, s, "main")
		before := len(storetest.Entries(t, m, repo.Query{}))
		if _, err := m.Append(t.Context(), nil, repo.Message("user", "meanwhile")); err != nil {
			storetest.WantIs(t, err, repo.ErrConflict) // git has written into the open phase
		} else {
			kept++
			before++
			if got := storetest.Entries(t, m, repo.Query{Tail: repo.N(1)}); string(got[0].Payload) != `{"role":"user","content":"meanwhile"}` {
				t.Errorf("the last entry is %s", got[0].Raw)
			}
		}
		merged, err := join.ContinueMerge(t.Context(), storetest.InnerTape(m))
		if err != nil {
			t.Fatal(err)
		}
		after := storetest.Entries(t, m, repo.Query{})
		if merged.Merged == 0 || len(after) != before+merged.Merged || merged.FirstID != int64(before)+1 {
			t.Errorf("%d entries became %d, and the merge says %+v", before, len(after), merged)
		}
		storetest.WantClean(t, dir)
		storetest.Healthy(t, dir)
	}
	t.Logf("%d entries were recorded during a conflict", kept)
}

// forkedHistory makes a workspace whose tape main and fork x have diverged.
func forkedHistory(t *testing.T, rng *rand.Rand, dir string) {
	s, _, err := repo.Init(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := storetest.Tape(t, s, "main")
	grow := func(tp *repo.Tape, steps int) {
		for i := range steps {
			switch rng.IntN(6) {
			case 0:
				storetest.Handoff(t, tp, fmt.Sprintf("phase-%d", rng.IntN(3)))
			case 1:
				storetest.Append(t, tp, repo.Event("ran", nil))
			case 2:
				storetest.Append(t, tp, storetest.Big(60_000, tp.Name()))
			case 3:
				storetest.Checkpoint(t, tp)
			default:
				storetest.Append(t, tp, repo.Message("user", fmt.Sprintf("%s %d", tp.Name(), i)))
			}
		}
		storetest.Checkpoint(t, tp)
	}
	grow(m, rng.IntN(10))
	f, err := m.Fork(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	grow(f, 1+rng.IntN(12))
	storetest.Append(t, f, repo.Message("user", "at least this"))
	storetest.Checkpoint(t, f)
	grow(m, rng.IntN(12))
	storetest.Append(t, m, repo.Event("so that git does not just go forward", nil))
	storetest.Checkpoint(t, m)
}

func mergedTreeOf(t *testing.T, dir string) string {
	other := filepath.Join(t.TempDir(), "m")
	storetest.CopyTree(t, dir, other)
	s := storetest.Reopen(t, other)
	if _, err := join.Merge(t.Context(), storetest.InnerTape(storetest.Tape(t, s, "main/x")), join.Options{}); err != nil {
		t.Fatal(err)
	}
	storetest.Healthy(t, other)
	return storetest.Git(t, other, "rev-parse", "tape/main^{tree}")
}
