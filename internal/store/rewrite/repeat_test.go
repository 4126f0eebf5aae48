package rewrite_test

import (
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/audit"
	"tape/internal/store/purge"
	"tape/internal/store/rewrite"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// A recorded purge is distinguished from any other change of history.
func TestCheckPurged(t *testing.T) {
	m, theirs, next := storetest.PurgedCopy(t, repo.PurgeOptions{Rules: []string{purge.AllRules}})
	check := func(what string, old, next gitstore.Hash, want []int64, wantOK bool) {
		t.Helper()
		made, ok, err := rewrite.CheckPurged(t.Context(), storetest.InnerTape(m).Store(), nil, old, next)
		if err != nil || ok != wantOK || !slices.Equal(made.Ids, want) {
			t.Errorf("%s: %v %v %v, want %v %v", what, made.Ids, ok, err, want, wantOK)
		}
	}
	head := storetest.Head(t, m)
	before, err := storetest.Inner(m.Store()).Git().Commit(head)
	storetest.Must(t, err)
	check("the whole", head, next, []int64{3, 4, 5}, true)
	check("what was older", before.Parents[0], next, []int64{3, 4, 5}, true)
	check("the other way round", next, head, nil, false)
	check("the same", next, next, nil, false)
	check("the tape goes on", head, head, nil, false)
	storetest.Verified(t, m.Store().Dir())

	storetest.Append(t, theirs, repo.Message("user", "after the purge, "+storetest.Leak(3)))
	storetest.Handoff(t, theirs, "more")
	next = storetest.FetchFrom(t, m, theirs)
	check("what came after it", head, next, []int64{3, 4, 5}, true)
	storetest.Purge(t, theirs, repo.PurgeOptions{Fingerprints: []string{storetest.LeakPrint(storetest.Leak(3))}})
	next = storetest.FetchFrom(t, m, theirs)
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

// A history in which more was changed than the record says is not accepted as a purge.
func TestCheckPurgedForged(t *testing.T) {
	m, theirs, next := storetest.PurgedCopy(t, repo.PurgeOptions{Rules: []string{purge.AllRules}})
	for name, forge := range map[string]func(k *rewrite.Masker, e repo.Entry){
		"another entry":       func(k *rewrite.Masker, e repo.Entry) { k.Whole[rewrite.DigestOf(e)] = e.ID == 2 },
		"a masked one, whole": func(k *rewrite.Masker, e repo.Entry) { k.Whole[rewrite.DigestOf(e)] = e.ID == 3 },
	} {
		k := rewrite.NewMasker(storetest.LeakFinder{})
		for _, e := range storetest.Entries(t, theirs, repo.Query{}) {
			forge(k, e)
		}
		batch := storetest.Inner(theirs.Store()).Git().NewBatch()
		r := rewrite.NewRewriter(storetest.Inner(theirs.Store()), k, batch.Put)
		storetest.Must(t, r.History(t.Context(), next, false))
		storetest.Must(t, batch.Flush(t.Context()))
		if r.To(next) == next {
			t.Fatalf("%s: nothing was changed", name)
		}
		storetest.Git(t, m.Store().Dir(), "fetch", "-q", "--no-tags", theirs.Store().Dir(), "+refs/heads/tape/main:refs/heads/mine")
		storetest.Git(t, theirs.Store().Dir(), "branch", "-f", "forged", r.To(next).String())
		storetest.Git(t, m.Store().Dir(), "fetch", "-q", "--no-tags", theirs.Store().Dir(), "+refs/heads/forged:refs/heads/forged")
		if _, ok, err := rewrite.CheckPurged(t.Context(), storetest.Inner(m.Store()), nil, storetest.Head(t, m), r.To(next)); err != nil || ok {
			t.Errorf("%s: %v %v", name, ok, err)
		}
		// If the old commits are known, verify reports it.
		problems, err := audit.Problems(t.Context(), storetest.Inner(m.Store()), storetest.InnerTape(m), r.To(next), true)
		storetest.Must(t, err)
		if len(problems) != 1 || !strings.Contains(problems[0].Message, "history was rewritten") {
			t.Errorf("%s: verify says %v", name, problems)
		}
	}
}
