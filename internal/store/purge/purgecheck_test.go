package purge_test

import (
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/audit"
	"tape/internal/store/join"
	"tape/internal/store/lineage"
	"tape/internal/store/purge"
	"tape/internal/store/rewrite"
	"tape/internal/store/snapshot"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// purgedCopy is a workspace, and a copy of it that was purged and whose history the first
// one has fetched.
func purgedCopy(t *testing.T, o repo.PurgeOptions) (m, theirs *repo.Tape, fetched gitstore.Hash) {
	t.Helper()
	s := storetest.New(t, nil)
	m = storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "one"), repo.Message("user", leak(1)))
	storetest.Handoff(t, m, "to "+leak(1))
	x := storetest.Fork(t, m, "x", "")
	storetest.Append(t, x, repo.Message("user", "in the fork "+leak(2)))
	storetest.Merge(t, x, join.Options{})
	y := storetest.Fork(t, m, "y", "")
	storetest.Append(t, y, repo.Message("user", "and there "+leak(1)))
	storetest.Merge(t, y, join.Options{Summary: "tried"})
	storetest.Append(t, m, repo.Message("user", "two"))
	storetest.Checkpoint(t, m)
	dir := filepath.Join(t.TempDir(), "theirs")
	storetest.CopyTree(t, s.Dir(), dir)
	storetest.HealthyAtEnd(t, dir)
	theirs = storetest.Tape(t, storetest.Reopen(t, dir), "main")
	mustPurge(t, theirs, o)
	return m, theirs, fetchFrom(t, m, theirs)
}

func fetchFrom(t testing.TB, m, theirs *repo.Tape) gitstore.Hash {
	t.Helper()
	storetest.Git(t, m.Store().Dir(), "fetch", "-q", "--no-tags", theirs.Store().Dir(), "+refs/heads/tape/main:refs/tape/remotes/o/heads/tape/main")
	h, err := storetest.Inner(m.Store()).Git().Ref("refs/tape/remotes/o/heads/tape/main")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A purge that is recorded is told from any other change of history.
func TestCheckPurged(t *testing.T) {
	m, theirs, next := purgedCopy(t, repo.PurgeOptions{Rules: []string{purge.AllRules}})
	check := func(what string, old, next gitstore.Hash, want []int64, wantOK bool) {
		t.Helper()
		made, ok, err := rewrite.CheckPurged(t.Context(), storetest.InnerTape(m).Store(), nil, old, next)
		if err != nil || ok != wantOK || !slices.Equal(made.Ids, want) {
			t.Errorf("%s: %v %v %v, want %v %v", what, made.Ids, ok, err, want, wantOK)
		}
	}
	head := storetest.Head(t, m)
	before, err := storetest.Inner(m.Store()).Git().Commit(head)
	if err != nil {
		t.Fatal(err)
	}
	check("the whole", head, next, []int64{3, 4, 5}, true)
	check("what was older", before.Parents[0], next, []int64{3, 4, 5}, true)
	check("the other way round", next, head, nil, false)
	check("the same", next, next, nil, false)
	check("the tape goes on", head, head, nil, false)
	storetest.Verified(t, m.Store().Dir())

	storetest.Append(t, theirs, repo.Message("user", "after the purge, "+leak(3)))
	storetest.Handoff(t, theirs, "more")
	next = fetchFrom(t, m, theirs)
	check("what came behind", head, next, []int64{3, 4, 5}, true)
	mustPurge(t, theirs, repo.PurgeOptions{Fingerprints: []string{leakPrint(leak(3))}})
	next = fetchFrom(t, m, theirs)
	check("two purges", head, next, []int64{3, 4, 5}, true)

	storetest.Append(t, m, repo.Message("user", "and ours went on"))
	storetest.Checkpoint(t, m)
	check("both went on", storetest.Head(t, m), next, nil, false)

	for _, c := range []struct {
		what         string
		ours, theirs gitstore.Hash
		want         bool
	}{
		{"what was purged", next, head, true}, {"what goes on from it", next, storetest.Head(t, m), true}, {"some of it", next, before.Parents[0], true},
		{"the other way round", head, next, false}, {"the same", next, next, false}, {"no purge", head, before.Parents[0], false},
	} {
		if got, err := rewrite.WasPurged(t.Context(), storetest.InnerTape(m).Store(), c.ours, c.theirs); err != nil || got != c.want {
			t.Errorf("%s: %v %v", c.what, got, err)
		}
	}
}

// More than the record says was changed.
func TestCheckPurgedForged(t *testing.T) {
	m, theirs, next := purgedCopy(t, repo.PurgeOptions{Rules: []string{purge.AllRules}})
	for name, forge := range map[string]func(k *rewrite.Masker, e repo.Entry){
		"another entry":       func(k *rewrite.Masker, e repo.Entry) { k.Whole[rewrite.DigestOf(e)] = e.ID == 2 },
		"a masked one, whole": func(k *rewrite.Masker, e repo.Entry) { k.Whole[rewrite.DigestOf(e)] = e.ID == 3 },
	} {
		k := rewrite.NewMasker(leakFinder{})
		for _, e := range storetest.Entries(t, theirs, repo.Query{}) {
			forge(k, e)
		}
		batch := storetest.Inner(theirs.Store()).Git().NewBatch()
		r := rewrite.NewRewriter(storetest.Inner(theirs.Store()), k, batch.Put)
		if err := r.History(t.Context(), next, false); err != nil {
			t.Fatal(err)
		}
		if err := batch.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.To(next) == next {
			t.Fatalf("%s: nothing was changed", name)
		}
		storetest.Git(t, m.Store().Dir(), "fetch", "-q", "--no-tags", theirs.Store().Dir(), "+refs/heads/tape/main:refs/heads/mine")
		storetest.Git(t, theirs.Store().Dir(), "branch", "-f", "forged", r.To(next).String())
		storetest.Git(t, m.Store().Dir(), "fetch", "-q", "--no-tags", theirs.Store().Dir(), "+refs/heads/forged:refs/heads/forged")
		if _, ok, err := rewrite.CheckPurged(t.Context(), storetest.Inner(m.Store()), nil, storetest.Head(t, m), r.To(next)); err != nil || ok {
			t.Errorf("%s: %v %v", name, ok, err)
		}
		// Where the old commits are known, verify tells.
		problems, err := audit.Problems(t.Context(), storetest.Inner(m.Store()), storetest.InnerTape(m), r.To(next), true)
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) != 1 || !strings.Contains(problems[0].Message, "history was rewritten") {
			t.Errorf("%s: verify says %v", name, problems)
		}
	}
}

// What was purged elsewhere is purged here, too: then the other history continues ours,
// and nothing of the secret is left here.
func TestFollowPurge(t *testing.T) {
	for name, o := range map[string]repo.PurgeOptions{"secrets": {Rules: []string{purge.AllRules}}, "whole": {IDs: []int64{3}, Whole: true}} {
		t.Run(name, func(t *testing.T) {
			m, theirs, _ := purgedCopy(t, o)
			old := storetest.Head(t, m)
			f := storetest.Fork(t, m, "mine", "")
			storetest.Append(t, f, repo.Message("user", "in a fork that only we have"))
			storetest.Append(t, m, repo.Message("user", "ours went on"))
			storetest.Append(t, theirs, repo.Message("user", "theirs, too"))
			storetest.Checkpoint(t, theirs)
			next := fetchFrom(t, m, theirs)

			storetest.Must(t, purge.FollowPurge(t.Context(), storetest.InnerTape(m), old, next, repo.PurgeOptions{Find: leakFinder{}}))
			storetest.WantClean(t, m.Store().Dir())
			storetest.WantNowhere(t, m.Store().Dir(), leak(1))
			storetest.Healthy(t, m.Store().Dir())
			common, err := lineage.CommonCommit(storetest.Inner(m.Store()), storetest.Head(t, m), next)
			if err != nil {
				t.Fatal(err)
			}
			at, err := snapshot.LastOf(storetest.Inner(m.Store()), common)
			if last := storetest.Entries(t, m, repo.Query{}); err != nil || at != last[len(last)-1].ID-1 {
				t.Errorf("they part at entry %d: %v", at, err)
			}
			storetest.Merge(t, storetest.Tape(t, m.Store(), "main/mine"), join.Options{})

			err = purge.FollowPurge(t.Context(), storetest.InnerTape(m), storetest.Head(t, m), next, repo.PurgeOptions{Find: leakFinder{}})
			storetest.WantIs(t, err, repo.ErrConflict)
		})
	}
}
