package remotes_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/purge"
	"tape/internal/store/remotes"
	"tape/internal/store/rewrite"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// One user purges a pushed secret and replaces it at the remote; the other repeats the purge in a pull. The secret
// comes back to neither.
func TestPullPurged(t *testing.T) {
	ctx, secret := t.Context(), storetest.Secret("1")
	ada := storetest.New(t, nil)
	remote := storetest.Published(t, ada, false)
	storetest.Must(t, storetest.Join(ctx, ada))
	m := storetest.Tape(t, ada, "main")
	storetest.Append(t, m, repo.Message("user", "the key is "+secret))
	storetest.Handoff(t, m, "leaked")
	f := storetest.Fork(t, m, "x", "")
	storetest.Append(t, f, repo.Message("user", "in the fork"))
	_, err := ada.Push(ctx, "origin", nil)
	var stopped *repo.SecretsError
	if !errors.As(err, &stopped) || len(stopped.Findings) != 1 {
		t.Fatalf("the push says %v, want one secret found", err)
	}
	fingerprint := stopped.Findings[0].Fingerprint
	gone := storetest.Fork(t, m, "gone", "")
	storetest.Push(t, ada, &repo.PushOptions{Forks: true, Allow: []string{fingerprint}})
	storetest.Must(t, storetest.Inner(ada).DisallowSecret(fingerprint))
	storetest.Must(t, gone.Discard(ctx))
	stamp := "refs/tape/archive/main/20261120T093000Z"
	storetest.Git(t, ada.Dir(), "push", "-q", "--no-verify", "origin", "tape/main:"+stamp)
	bob := storetest.Clone(t, remote)
	storetest.Append(t, storetest.Tape(t, bob, "main"), repo.Message("user", "of bob"))

	done, err := m.Purge(ctx, repo.PurgeOptions{Rules: []string{purge.AllRules}})
	storetest.Must(t, err)
	if len(done.Remotes) == 0 {
		t.Error("purge names no remote that still has the secret")
	}
	storetest.WantNowhere(t, ada.Dir(), secret)
	// While the remote still has the secret, a fetch does not bring it back.
	statuses, err := ada.Fetch(ctx, "origin", nil)
	storetest.Must(t, err)
	for _, ref := range []string{"refs/heads/tape/main", stamp} {
		i := slices.IndexFunc(statuses, func(s repo.RefStatus) bool { return s.Ref == ref && s.Status == repo.RefRejected })
		if i < 0 || !strings.Contains(fmt.Sprint(repo.Hints(statuses[i].Err)), "--force-with-lease") {
			t.Fatalf("the fetch should reject %s with a hint: %+v", ref, statuses)
		}
	}
	if got := storetest.Said(t, m); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, secret) }) {
		t.Fatalf("the tape has %q", got)
	}
	accepted, err := remotes.KnownRefs(storetest.Inner(ada), layout.AcceptedRefs("origin"))
	storetest.Must(t, err)
	for ref := range accepted {
		if !strings.HasPrefix(ref, layout.TagPrefix) {
			t.Errorf("%s was accepted, want only tags accepted", ref)
		}
	}
	storetest.Git(t, ada.Dir(), "push", "-q", "--no-verify", "--force", "origin", "tape/main", "fork/main/x", "refs/tags/anchor/*:refs/tags/anchor/*")
	statuses, err = ada.Fetch(ctx, "origin", nil)
	storetest.Must(t, err)
	for _, ref := range []string{"refs/heads/fork/main/gone", stamp} {
		i := slices.IndexFunc(statuses, func(s repo.RefStatus) bool { return s.Ref == ref && s.Status == repo.RefRejected })
		if i < 0 || !strings.Contains(fmt.Sprint(repo.Hints(statuses[i].Err)), "delete it there") {
			t.Fatalf("the fetch should reject %s with a hint: %+v", ref, statuses)
		}
	}
	storetest.Git(t, ada.Dir(), "push", "-q", "--no-verify", "origin", ":fork/main/gone", ":"+stamp)

	statuses, err = bob.Fetch(ctx, "origin", nil)
	storetest.Must(t, err)
	i := slices.IndexFunc(statuses, func(s repo.RefStatus) bool { return s.Tape == "main" && s.Status == repo.RefRejected })
	if i < 0 || !errors.Is(statuses[i].Err, repo.ErrConflict) || !strings.Contains(fmt.Sprint(repo.Hints(statuses[i].Err)), "pull-purge") {
		t.Fatalf("bob's fetch returned %+v, want main rejected with the hint pull-purge", statuses)
	}
	statuses, err = bob.Fetch(ctx, "origin", &repo.FetchOptions{Purges: true})
	storetest.Must(t, err)
	for _, s := range statuses {
		storetest.Must(t, s.Err)
	}
	for _, name := range []string{"main", "main/x"} {
		status, err := join.Join(ctx, storetest.Inner(bob), "origin", name)
		storetest.Must(t, errors.Join(err, status.Err))
	}
	storetest.WantNowhere(t, bob.Dir(), secret)
	got := storetest.Said(t, storetest.Tape(t, bob, "main"))
	if got[len(got)-1] != "of bob" || len(got) != len(storetest.Said(t, m))+1 {
		t.Errorf("bob has %q, ada %q", got, storetest.Said(t, m))
	}
	storetest.Push(t, bob, &repo.PushOptions{Forks: true})
	_, err = ada.Fetch(ctx, "origin", nil)
	storetest.Must(t, err)
	storetest.Must(t, storetest.Join(ctx, ada))
	if ours, theirs := storetest.Said(t, m), storetest.Said(t, storetest.Tape(t, bob, "main")); !slices.Equal(ours, theirs) {
		t.Errorf("ada has %q, bob %q", ours, theirs)
	}
	storetest.WantNowhere(t, pruned(t, remote), secret)
}

// pruned removes the unreachable objects of a remote, and returns its path.
func pruned(t *testing.T, remote string) string {
	t.Helper()
	storetest.Git(t, remote, "reflog", "expire", "--expire=now", "--all")
	storetest.Git(t, remote, "gc", "-q", "--prune=now")
	return remote
}

// leaking returns a workspace with a remote, its tape m, which has an unpushed secret, and the fork x of m.
func leaking(t *testing.T, secret string) (s *repo.Store, remote string, m, x *repo.Tape) {
	t.Helper()
	s = storetest.New(t, nil)
	remote = storetest.Published(t, s, false)
	storetest.Must(t, storetest.Join(t.Context(), s))
	m = storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "the key is "+secret))
	storetest.Handoff(t, m, "leaked")
	return s, remote, m, storetest.Fork(t, m, "x", "")
}

// mustPushSecret checks that a push stops at a secret, and pushes with the secret allowed.
func mustPushSecret(t *testing.T, s *repo.Store) {
	t.Helper()
	_, err := s.Push(t.Context(), "origin", &repo.PushOptions{Forks: true})
	var stopped *repo.SecretsError
	if !errors.As(err, &stopped) {
		t.Fatalf("the push says %v", err)
	}
	fingerprint := stopped.Findings[0].Fingerprint
	storetest.Push(t, s, &repo.PushOptions{Forks: true, Allow: []string{fingerprint}})
	storetest.Must(t, storetest.Inner(s).DisallowSecret(fingerprint))
}

// TestSoakPullPurgeCutOff makes all disk operations of a pull with a purge fail from the N-th on, as if it was killed. The
// next pull finishes it, with --purge or without, also after somebody has recorded more: no entry is lost or doubled, and
// no secret is left.
func TestSoakPullPurgeCutOff(t *testing.T) {
	rng := testkit.Random(t)
	secret := storetest.Secret("2")
	ada, remote, m, x := leaking(t, secret)
	storetest.Append(t, x, repo.Message("user", "in x "+secret))
	mustPushSecret(t, ada)
	bob := storetest.Clone(t, remote)
	storetest.Append(t, storetest.Tape(t, bob, "main"), repo.Message("user", "of bob"))
	storetest.Handoff(t, storetest.Tape(t, bob, "main"), "bob's")
	storetest.Append(t, storetest.Tape(t, bob, "main/x"), repo.Message("user", "of bob, in x"))
	storetest.Append(t, storetest.Fork(t, storetest.Tape(t, bob, "main"), "y", ""), repo.Message("user", "in y "+secret))
	_, err := m.Purge(t.Context(), repo.PurgeOptions{Rules: []string{purge.AllRules}})
	storetest.Must(t, err)
	storetest.Git(t, ada.Dir(), "push", "-q", "--no-verify", "--force", "origin", "tape/main", "fork/main/x", "refs/tags/anchor/*:refs/tags/anchor/*")

	// It is restored at the same path, which the working tree of a fork names.
	dir, kept := bob.Dir(), filepath.Join(t.TempDir(), "ws")
	storetest.CopyTree(t, dir, kept)
	storetest.Must(t, pullPurge(t, bob, true))
	want := saidInAll(t, bob)
	if records := recordsIn(t, storetest.Tape(t, bob, "main")); records != 1 {
		t.Errorf("after repeating the purge there are %d records, want 1", records)
	}
	continued := func(n int, goOn bool) (over bool) {
		storetest.Must(t, os.RemoveAll(dir))
		storetest.CopyTree(t, kept, dir)
		return pullPurgeContinued(t, dir, n, goOn, secret, want)
	}
	continued(1295, false) // this one once left tags and the index behind the branch
	step := testkit.Size(250, 9)
	for n := 1 + rng.IntN(step); ; n += step {
		if continued(n, rng.IntN(3) == 0) || t.Failed() {
			t.Logf("about %d operations", n)
			break
		}
	}
}

// pullPurgeContinued cuts off a pull with a purge at operation n, and checks that the next pull completes it. If goOn is
// set, an entry is added in between. It returns true once n is higher than the number of operations.
func pullPurgeContinued(t *testing.T, dir string, n int, goOn bool, secret string, want map[string][]string) (over bool) {
	f := &storetest.Faulty{N: n, Gap: 1}
	err := pullPurge(t, storetest.OpenFaulty(t, dir, f), true)
	s := storetest.OpenFaulty(t, dir, nil)
	began := storetest.IsPurging(t, s)
	if !began {
		storetest.Healthy(t, dir) // an unfinished purge would be reported
	}
	defer func() {
		if t.Failed() {
			t.Logf("operation %d failed, gone on: %v, begun: %v; the call returned %v", n, goOn, began, err)
		}
	}()
	want = maps.Clone(want)
	if goOn {
		storetest.Append(t, storetest.Tape(t, s, "main"), repo.Message("user", "meanwhile"))
		storetest.Checkpoint(t, storetest.Tape(t, s, "main"))
		want["main"] = append(slices.Clone(want["main"]), "meanwhile")
	}
	derived := 0
	storetest.Must(t, purge.FinishPurge(t.Context(), storetest.Inner(s), func(context.Context) error { derived++; return nil }))
	if began && derived == 0 {
		t.Error("finishing the purge did not rebuild derived files")
	}
	if err := pullPurge(t, s, !began); err != nil {
		t.Errorf("pulling again: %v", err)
	}
	if got := saidInAll(t, s); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("tapes and forks have\n%q\nwant\n%q", got, want)
	}
	if records := recordsIn(t, storetest.Tape(t, s, "main")); records != 1 {
		t.Errorf("%d records of the purge, want 1", records)
	}
	storetest.WantNowhere(t, dir, secret)
	if storetest.IsPurging(t, s) {
		t.Error("the purge is still under way")
	}
	storetest.Healthy(t, dir)
	storetest.WantClean(t, dir)
	return !f.Hit()
}

// pullPurge makes the calls of a pull.
func pullPurge(t *testing.T, s *repo.Store, purges bool) error {
	t.Helper()
	ctx := t.Context()
	if err := purge.FinishPurge(ctx, storetest.Inner(s), nil); err != nil {
		return err
	}
	done, err := s.Fetch(ctx, "origin", &repo.FetchOptions{Purges: purges})
	for _, status := range done {
		err = errors.Join(err, status.Err)
	}
	if err != nil {
		return err
	}
	return joinAll(ctx, s)
}

// recordsIn counts the records of purges.
func recordsIn(t *testing.T, tp *repo.Tape) (n int) {
	t.Helper()
	for _, e := range storetest.Entries(t, tp, repo.Query{}) {
		if strings.Contains(string(e.Payload), rewrite.PurgedEvent) {
			n++
		}
	}
	return n
}

// saidInAll returns the texts of all tapes and forks, by name.
func saidInAll(t *testing.T, s *repo.Store) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, tp := range storetest.TapesAndForks(t, s) {
		out[tp.Name()] = storetest.Said(t, tp)
	}
	return out
}

// TestPullPurgeForged pulls a history that claims to be purged but has other changes: it is not accepted, and nothing
// changes here, with --purge or without.
func TestPullPurgeForged(t *testing.T) {
	secret := storetest.Secret("5")
	ada, remote, m, _ := leaking(t, secret)
	mustPushSecret(t, ada)
	bob := storetest.Clone(t, remote)
	was := storetest.Head(t, storetest.Tape(t, bob, "main"))
	_, err := m.Purge(t.Context(), repo.PurgeOptions{Rules: []string{purge.AllRules}})
	storetest.Must(t, err)
	forged := storetest.ForgedHistory(t, ada, storetest.Head(t, m), func(n int, c *gitstore.Commit) {
		if n == 0 {
			c.Author.Name = "Somebody Else"
		}
	})
	storetest.Git(t, ada.Dir(), "push", "-q", "--no-verify", "--force", "origin", forged.String()+":refs/heads/tape/main")
	for _, purges := range []bool{false, true} {
		statuses, err := bob.Fetch(t.Context(), "origin", &repo.FetchOptions{Purges: purges})
		storetest.Must(t, err)
		i := slices.IndexFunc(statuses, func(s repo.RefStatus) bool { return s.Tape == "main" && s.Status == repo.RefRejected })
		if i < 0 || !errors.Is(statuses[i].Err, repo.ErrConflict) || purges && !strings.Contains(fmt.Sprint(repo.Hints(statuses[i].Err)), "another version of tape") {
			t.Errorf("bob's fetch returned %+v, want main rejected with a hint", statuses)
		}
		if now := storetest.Head(t, storetest.Tape(t, bob, "main")); now != was {
			t.Errorf("main was at %s, and is now at %s", was, now)
		}
	}
}

// TestPullBeforeReplaced pulls after a purge while the remote still has the old history: no ref gets any of it, nor of its
// forks and their handoffs. Once the old history is replaced, the pull works.
func TestPullBeforeReplaced(t *testing.T) {
	secret := storetest.Secret("4")
	ada, remote, m, x := leaking(t, secret)
	storetest.Append(t, x, repo.Message("user", "of x"))
	storetest.Handoff(t, x, "of x")
	y := storetest.Fork(t, x, "y", "")
	storetest.Handoff(t, y, "of y")
	mustPushSecret(t, ada)
	_, err := m.Purge(t.Context(), repo.PurgeOptions{Rules: []string{purge.AllRules}})
	storetest.Must(t, err)
	for range 2 {
		statuses, err := ada.Fetch(t.Context(), "origin", nil)
		storetest.Must(t, err)
		if len(statuses) != 1 || statuses[0].Tape != "main" || statuses[0].Status != repo.RefRejected {
			t.Errorf("the fetch returned %+v, want only main, rejected", statuses)
		}
		if strings.Contains(storetest.Git(t, ada.Dir(), "log", "-p", "--all", "--no-textconv"), secret) {
			t.Error("the purged secret is reachable from refs")
		}
	}
	storetest.Git(t, ada.Dir(), "push", "-q", "--no-verify", "--force", "origin", "refs/heads/*", "refs/tags/anchor/*")
	for _, status := range mustFetch(t, ada) {
		storetest.Must(t, status.Err)
	}
	storetest.Must(t, joinAll(t.Context(), ada))
	bob := storetest.Clone(t, pruned(t, remote))
	storetest.WantNowhere(t, bob.Dir(), secret)
	storetest.Healthy(t, ada.Dir())
}

func mustFetch(t *testing.T, s *repo.Store) []repo.RefStatus {
	t.Helper()
	done, err := s.Fetch(t.Context(), "origin", nil)
	storetest.Must(t, err)
	return done
}
