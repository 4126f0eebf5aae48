package rewrite_test

import (
	"tape/internal/git/gitstore"
	"tape/internal/store/purge"
	"tape/internal/store/rewrite"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// A recorded purge is distinguished from any other change of history.
func TestCheckPurged(t *testing.T) {
	m, theirs, next := storetest.PurgedCopy(t, repo.PurgeOptions{Rules: []string{purge.AllRules}})
	check := func(what string, old, next gitstore.Hash, want bool) {
		t.Helper()
		ok, err := rewrite.CheckPurged(t.Context(), storetest.InnerTape(m).Store(), storetest.LeakFinder{}, old, next)
		if err != nil || ok != want {
			t.Errorf("%s: CheckPurged returned %v, %v; want %v", what, ok, err, want)
		}
	}
	head := storetest.Head(t, m)
	before, err := storetest.Inner(m.Store()).Git().Commit(head)
	storetest.Must(t, err)
	check("the whole", head, next, true)
	check("an older commit", before.Parents[0], next, true)
	check("the other way round", next, head, false)
	check("the same", next, next, false)
	check("the tape goes on", head, head, false)
	storetest.Healthy(t, m.Store().Dir())

	storetest.Append(t, theirs, repo.Message("user", "after the purge, "+storetest.Leak(3)))
	storetest.Handoff(t, theirs, "more")
	next = storetest.FetchFrom(t, m, theirs)
	check("entries after the purge", head, next, true)
	storetest.Purge(t, theirs, repo.PurgeOptions{Fingerprints: []string{storetest.LeakPrint(storetest.Leak(3))}})
	next = storetest.FetchFrom(t, m, theirs)
	check("two purges", head, next, true)

	storetest.Append(t, m, repo.Message("user", "and ours went on"))
	storetest.Checkpoint(t, m)
	check("both went on", storetest.Head(t, m), next, false)

	for _, c := range []struct {
		what         string
		ours, theirs gitstore.Hash
		want         bool
	}{
		{"the purged history", next, head, true}, {"its continuation", next, storetest.Head(t, m), true}, {"an older part of it", next, before.Parents[0], true},
		{"the other way round", head, next, false}, {"the same", next, next, false}, {"no purge", head, before.Parents[0], false},
	} {
		if _, got, err := rewrite.WasPurged(t.Context(), storetest.InnerTape(m).Store(), c.ours, c.theirs); err != nil || got != c.want {
			t.Errorf("%s: WasPurged returned %v, %v; want %v", c.what, got, err, c.want)
		}
	}
}

// A history in which more was changed than the purge's record says is not accepted as purged.
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
		if ok, err := rewrite.CheckPurged(t.Context(), storetest.Inner(m.Store()), storetest.LeakFinder{}, storetest.Head(t, m), r.To(next)); err != nil || ok {
			t.Errorf("%s: CheckPurged returned %v, %v; want false", name, ok, err)
		}
	}
}
