package purge_test

import (
	"path/filepath"
	"tape/internal/store/join"
	"tape/internal/store/lineage"
	"tape/internal/store/purge"
	"tape/internal/store/snapshot"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// A purge made elsewhere is repeated here. Then the histories differ only in what each side added, and nothing of
// the secret is left here.
func TestFollowPurge(t *testing.T) {
	for name, o := range map[string]repo.PurgeOptions{"secrets": {Rules: []string{purge.AllRules}}, "whole": {IDs: []int64{3}, Whole: true}} {
		t.Run(name, func(t *testing.T) {
			m, theirs, _ := storetest.PurgedCopy(t, o)
			old := storetest.Head(t, m)
			f := storetest.Fork(t, m, "mine", "")
			storetest.Append(t, f, repo.Message("user", "in a fork that only we have"))
			storetest.Append(t, m, repo.Message("user", "ours went on"))
			storetest.Append(t, theirs, repo.Message("user", "theirs, too"))
			storetest.Checkpoint(t, theirs)
			next := storetest.FetchFrom(t, m, theirs)

			storetest.Must(t, purge.FollowPurge(t.Context(), storetest.InnerTape(m), old, next, repo.PurgeOptions{Find: storetest.LeakFinder{}}))
			storetest.WantClean(t, m.Store().Dir())
			storetest.WantNowhere(t, m.Store().Dir(), storetest.Leak(1))
			storetest.Healthy(t, m.Store().Dir())
			common, err := lineage.CommonCommit(storetest.Inner(m.Store()), storetest.Head(t, m), next)
			storetest.Must(t, err)
			at, err := snapshot.LastOf(storetest.Inner(m.Store()), common)
			if last := storetest.Entries(t, m, repo.Query{}); err != nil || at != last[len(last)-1].ID-1 {
				t.Errorf("the histories part after entry %d of %d: %v", at, len(last), err)
			}
			storetest.Merge(t, storetest.Tape(t, m.Store(), "main/mine"), join.Options{})

			err = purge.FollowPurge(t.Context(), storetest.InnerTape(m), storetest.Head(t, m), next, repo.PurgeOptions{Find: storetest.LeakFinder{}})
			storetest.WantIs(t, err, repo.ErrConflict)
		})
	}
}

// If one entry shows that a text is a secret, all its copies are purged, also when the purge is repeated elsewhere.
// A scanner that does not find the secret cannot repeat the purge, and changes nothing.
func TestFollowPurgeOfTexts(t *testing.T) {
	theirs, secret := manyCopies(t)
	storetest.Git(t, theirs.Store().Dir(), "branch", "-D", "-q", "mine")
	dir := filepath.Join(t.TempDir(), "ours")
	storetest.Git(t, "/", "clone", "-q", "-b", "tape/main", theirs.Store().Dir(), dir)
	s := storetest.Reopen(t, dir)
	storetest.HealthyAtEnd(t, dir)
	m := storetest.Tape(t, s, "main")
	old := storetest.Head(t, m)
	purgeKeys(t, theirs, repo.PurgeOptions{Rules: []string{purge.AllRules}})
	next := storetest.FetchFrom(t, m, theirs)
	storetest.WantIs(t, purge.FollowPurge(t.Context(), storetest.InnerTape(m), old, next, repo.PurgeOptions{Find: storetest.LeakFinder{}}), repo.ErrConflict)
	if now := storetest.Head(t, m); now != old {
		t.Errorf("the refused call moved the tape from %s to %s", old, now)
	}
	storetest.Must(t, purge.FollowPurge(t.Context(), storetest.InnerTape(m), old, next, repo.PurgeOptions{Find: keyFinder{}}))
	storetest.WantNowhere(t, dir, secret)
	storetest.WantClean(t, dir)
}
