package repo

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
	"testing"
)

func headOf(t testing.TB, tp *Tape) gitstore.Hash {
	t.Helper()
	h, err := tp.in().Head()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// purgedCopy is a workspace, and a copy of it that was purged and whose history the first
// one has fetched.
func purgedCopy(t *testing.T, o PurgeOptions) (m, theirs *Tape, fetched gitstore.Hash) {
	t.Helper()
	s := testStore(t, nil)
	m = openTape(t, s, "main")
	mustAppend(t, m, Message("user", "one"), Message("user", leak(1)))
	mustHandoff(t, m, "to "+leak(1))
	x := mustFork(t, m, "x", "")
	mustAppend(t, x, Message("user", "in the fork "+leak(2)))
	mustMerge(t, x, join.Options{})
	y := mustFork(t, m, "y", "")
	mustAppend(t, y, Message("user", "and there "+leak(1)))
	mustMerge(t, y, join.Options{Summary: "tried"})
	mustAppend(t, m, Message("user", "two"))
	mustCheckpoint(t, m)
	dir := filepath.Join(t.TempDir(), "theirs")
	copyTree(t, s.Dir(), dir)
	healthyAtEnd(t, dir)
	theirs = openTape(t, reopen(t, dir), "main")
	mustPurge(t, theirs, o)
	return m, theirs, fetchFrom(t, m, theirs)
}

func fetchFrom(t testing.TB, m, theirs *Tape) gitstore.Hash {
	t.Helper()
	runGit(t, m.Store().Dir(), "fetch", "-q", "--no-tags", theirs.Store().Dir(), "+refs/heads/tape/main:refs/tape/remotes/o/heads/tape/main")
	h, err := m.Store().in().Git().Ref("refs/tape/remotes/o/heads/tape/main")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A purge that is recorded is told from any other change of history.
func TestCheckPurged(t *testing.T) {
	m, theirs, next := purgedCopy(t, PurgeOptions{Rules: []string{purge.AllRules}})
	check := func(what string, old, next gitstore.Hash, want []int64, wantOK bool) {
		t.Helper()
		made, ok, err := rewrite.CheckPurged(t.Context(), m.in().Store(), nil, old, next)
		if err != nil || ok != wantOK || !slices.Equal(made.Ids, want) {
			t.Errorf("%s: %v %v %v, want %v %v", what, made.Ids, ok, err, want, wantOK)
		}
	}
	head := headOf(t, m)
	before, err := m.Store().in().Git().Commit(head)
	if err != nil {
		t.Fatal(err)
	}
	check("the whole", head, next, []int64{3, 4, 5}, true)
	check("what was older", before.Parents[0], next, []int64{3, 4, 5}, true)
	check("the other way round", next, head, nil, false)
	check("the same", next, next, nil, false)
	check("the tape goes on", head, head, nil, false)
	verified(t, m.Store().Dir())

	mustAppend(t, theirs, Message("user", "after the purge, "+leak(3)))
	mustHandoff(t, theirs, "more")
	next = fetchFrom(t, m, theirs)
	check("what came behind", head, next, []int64{3, 4, 5}, true)
	mustPurge(t, theirs, PurgeOptions{Fingerprints: []string{leakPrint(leak(3))}})
	next = fetchFrom(t, m, theirs)
	check("two purges", head, next, []int64{3, 4, 5}, true)

	mustAppend(t, m, Message("user", "and ours went on"))
	mustCheckpoint(t, m)
	check("both went on", headOf(t, m), next, nil, false)

	for _, c := range []struct {
		what         string
		ours, theirs gitstore.Hash
		want         bool
	}{
		{"what was purged", next, head, true}, {"what goes on from it", next, headOf(t, m), true}, {"some of it", next, before.Parents[0], true},
		{"the other way round", head, next, false}, {"the same", next, next, false}, {"no purge", head, before.Parents[0], false},
	} {
		if got, err := rewrite.WasPurged(t.Context(), m.in().Store(), c.ours, c.theirs); err != nil || got != c.want {
			t.Errorf("%s: %v %v", c.what, got, err)
		}
	}
}

// More than the record says was changed.
func TestCheckPurgedForged(t *testing.T) {
	m, theirs, next := purgedCopy(t, PurgeOptions{Rules: []string{purge.AllRules}})
	for name, forge := range map[string]func(k *rewrite.Masker, e Entry){
		"another entry":       func(k *rewrite.Masker, e Entry) { k.Whole[rewrite.DigestOf(e)] = e.ID == 2 },
		"a masked one, whole": func(k *rewrite.Masker, e Entry) { k.Whole[rewrite.DigestOf(e)] = e.ID == 3 },
	} {
		k := rewrite.NewMasker(leakFinder{})
		for _, e := range entriesOf(t, theirs, Query{}) {
			forge(k, e)
		}
		batch := theirs.Store().in().Git().NewBatch()
		r := rewrite.NewRewriter(theirs.Store().in(), k, batch.Put)
		if err := r.History(t.Context(), next, false); err != nil {
			t.Fatal(err)
		}
		if err := batch.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.To(next) == next {
			t.Fatalf("%s: nothing was changed", name)
		}
		runGit(t, m.Store().Dir(), "fetch", "-q", "--no-tags", theirs.Store().Dir(), "+refs/heads/tape/main:refs/heads/mine")
		runGit(t, theirs.Store().Dir(), "branch", "-f", "forged", r.To(next).String())
		runGit(t, m.Store().Dir(), "fetch", "-q", "--no-tags", theirs.Store().Dir(), "+refs/heads/forged:refs/heads/forged")
		if _, ok, err := rewrite.CheckPurged(t.Context(), m.Store().in(), nil, headOf(t, m), r.To(next)); err != nil || ok {
			t.Errorf("%s: %v %v", name, ok, err)
		}
		// Where the old commits are known, verify tells.
		problems, err := audit.Problems(t.Context(), m.Store().in(), m.in(), r.To(next), true)
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
	for name, o := range map[string]PurgeOptions{"secrets": {Rules: []string{purge.AllRules}}, "whole": {IDs: []int64{3}, Whole: true}} {
		t.Run(name, func(t *testing.T) {
			m, theirs, _ := purgedCopy(t, o)
			old := headOf(t, m)
			f := mustFork(t, m, "mine", "")
			mustAppend(t, f, Message("user", "in a fork that only we have"))
			mustAppend(t, m, Message("user", "ours went on"))
			mustAppend(t, theirs, Message("user", "theirs, too"))
			mustCheckpoint(t, theirs)
			next := fetchFrom(t, m, theirs)

			mustDo(t, purge.FollowPurge(t.Context(), m.in(), old, next, PurgeOptions{Find: leakFinder{}}))
			wantClean(t, m.Store().Dir())
			wantNowhere(t, m.Store().Dir(), leak(1))
			healthy(t, m.Store().Dir())
			common, err := lineage.CommonCommit(m.Store().in(), headOf(t, m), next)
			if err != nil {
				t.Fatal(err)
			}
			at, err := snapshot.LastOf(m.Store().in(), common)
			if last := entriesOf(t, m, Query{}); err != nil || at != last[len(last)-1].ID-1 {
				t.Errorf("they part at entry %d: %v", at, err)
			}
			mustMerge(t, openTape(t, m.Store(), "main/mine"), join.Options{})

			err = purge.FollowPurge(t.Context(), m.in(), headOf(t, m), next, PurgeOptions{Find: leakFinder{}})
			wantIs(t, err, ErrConflict)
		})
	}
}
