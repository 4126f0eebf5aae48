package repo

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
	"testing"
)

// A secret that was pushed is purged by one, replaced at the remote, and purged by the other
// when she pulls. It comes back to nobody.
func TestPullPurged(t *testing.T) {
	ctx, secret := t.Context(), testSecret("1")
	ada := testStore(t, nil)
	remote := published(t, ada, false)
	mustDo(t, joined(ctx, ada))
	m := openTape(t, ada, "main")
	mustAppend(t, m, Message("user", "the key is "+secret))
	mustHandoff(t, m, "leaked")
	f := mustFork(t, m, "x", "")
	mustAppend(t, f, Message("user", "in the fork"))
	_, err := ada.Push(ctx, "origin", nil)
	var stopped *SecretsError
	if !errors.As(err, &stopped) || len(stopped.Findings) != 1 {
		t.Fatalf("the push says %v", err)
	}
	print := stopped.Findings[0].Fingerprint
	gone := mustFork(t, m, "gone", "")
	mustPush(t, ada, &PushOptions{Forks: true, Allow: []string{print}})
	mustDo(t, ada.in().DisallowSecret(print))
	mustDo(t, gone.Discard(ctx))
	stamp := "refs/tape/archive/main/20261120T093000Z"
	runGit(t, ada.Dir(), "push", "-q", "--no-verify", "origin", "tape/main:"+stamp)
	bob := mustClone(t, remote)
	mustAppend(t, openTape(t, bob, "main"), Message("user", "of bob"))

	done, err := m.Purge(ctx, PurgeOptions{Rules: []string{purge.AllRules}})
	mustDo(t, err)
	if len(done.Remotes) == 0 {
		t.Error("it names no remote that has it still")
	}
	wantNowhere(t, ada.Dir(), secret)
	// As long as the remote has it, it does not come back.
	statuses, err := ada.Fetch(ctx, "origin", nil)
	mustDo(t, err)
	for _, ref := range []string{"refs/heads/tape/main", stamp} {
		i := slices.IndexFunc(statuses, func(s RefStatus) bool { return s.Ref == ref && s.Status == RefRejected })
		if i < 0 || !strings.Contains(fmt.Sprint(Hints(statuses[i].Err)), "--force-with-lease") {
			t.Fatalf("the fetch says nothing of %s: %+v", ref, statuses)
		}
	}
	if got := saidIn(t, m); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, secret) }) {
		t.Fatalf("the tape has %q", got)
	}
	accepted, err := remotes.KnownRefs(ada.in(), layout.AcceptedRefs("origin"))
	mustDo(t, err)
	for ref := range accepted {
		if !strings.HasPrefix(ref, layout.TagPrefix) {
			t.Errorf("%s is accepted", ref)
		}
	}
	runGit(t, ada.Dir(), "push", "-q", "--no-verify", "--force", "origin", "tape/main", "fork/main/x", "refs/tags/anchor/*:refs/tags/anchor/*")
	statuses, err = ada.Fetch(ctx, "origin", nil)
	mustDo(t, err)
	for _, ref := range []string{"refs/heads/fork/main/gone", stamp} {
		i := slices.IndexFunc(statuses, func(s RefStatus) bool { return s.Ref == ref && s.Status == RefRejected })
		if i < 0 || !strings.Contains(fmt.Sprint(Hints(statuses[i].Err)), "delete it there") {
			t.Fatalf("the fetch says nothing of %s: %+v", ref, statuses)
		}
	}
	runGit(t, ada.Dir(), "push", "-q", "--no-verify", "origin", ":fork/main/gone", ":"+stamp)

	statuses, err = bob.Fetch(ctx, "origin", nil)
	mustDo(t, err)
	i := slices.IndexFunc(statuses, func(s RefStatus) bool { return s.Tape == "main" && s.Status == RefRejected })
	if i < 0 || !errors.Is(statuses[i].Err, ErrConflict) || !strings.Contains(fmt.Sprint(Hints(statuses[i].Err)), "pull-purge") {
		t.Fatalf("bob's fetch says %+v", statuses)
	}
	statuses, err = bob.Fetch(ctx, "origin", &FetchOptions{Purges: true})
	mustDo(t, err)
	for _, s := range statuses {
		mustDo(t, s.Err)
	}
	for _, name := range []string{"main", "main/x"} {
		status, err := join.Join(ctx, bob.in(), "origin", name)
		mustDo(t, errors.Join(err, status.Err))
	}
	wantNowhere(t, bob.Dir(), secret)
	got := saidIn(t, openTape(t, bob, "main"))
	if got[len(got)-1] != "of bob" || len(got) != len(saidIn(t, m))+1 {
		t.Errorf("bob has %q, ada %q", got, saidIn(t, m))
	}
	mustPush(t, bob, &PushOptions{Forks: true})
	_, err = ada.Fetch(ctx, "origin", nil)
	mustDo(t, err)
	mustDo(t, joined(ctx, ada))
	if ours, theirs := saidIn(t, m), saidIn(t, openTape(t, bob, "main")); !slices.Equal(ours, theirs) {
		t.Errorf("ada has %q, bob %q", ours, theirs)
	}
	wantNowhere(t, remoteGone(t, remote), secret)
}

// remoteGone is the remote without what nothing names any more.
func remoteGone(t *testing.T, remote string) string {
	t.Helper()
	runGit(t, remote, "reflog", "expire", "--expire=now", "--all")
	runGit(t, remote, "gc", "-q", "--prune=now")
	return remote
}

// leaking is a workspace with a remote and a secret in its tape, from which a fork begins.
func leaking(t *testing.T, secret string) (s *Store, remote string, m, x *Tape) {
	t.Helper()
	s = testStore(t, nil)
	remote = published(t, s, false)
	mustDo(t, joined(t.Context(), s))
	m = openTape(t, s, "main")
	mustAppend(t, m, Message("user", "the key is "+secret))
	mustHandoff(t, m, "leaked")
	return s, remote, m, mustFork(t, m, "x", "")
}

// mustPushSecret has a push stopped by a secret, and then let it through.
func mustPushSecret(t *testing.T, s *Store) {
	t.Helper()
	_, err := s.Push(t.Context(), "origin", &PushOptions{Forks: true})
	var stopped *SecretsError
	if !errors.As(err, &stopped) {
		t.Fatalf("the push says %v", err)
	}
	fingerprint := stopped.Findings[0].Fingerprint
	mustPush(t, s, &PushOptions{Forks: true, Allow: []string{fingerprint}})
	mustDo(t, s.in().DisallowSecret(fingerprint))
}

// TestSoakPullPurgeCutOff makes all disk operations of a pull that follows a purge fail from the
// N-th on, as if it was killed there. The next pull brings it to its end, asked to or not, also
// behind what somebody has recorded meanwhile: no entry is lost or doubled, no secret is left.
func TestSoakPullPurgeCutOff(t *testing.T) {
	rng := testkit.Random(t)
	secret := testSecret("2")
	ada, remote, m, x := leaking(t, secret)
	mustAppend(t, x, Message("user", "in x "+secret))
	mustPushSecret(t, ada)
	bob := mustClone(t, remote)
	mustAppend(t, openTape(t, bob, "main"), Message("user", "of bob"))
	mustHandoff(t, openTape(t, bob, "main"), "bob's")
	mustAppend(t, openTape(t, bob, "main/x"), Message("user", "of bob, in x"))
	mustAppend(t, mustFork(t, openTape(t, bob, "main"), "y", ""), Message("user", "in y "+secret))
	_, err := m.Purge(t.Context(), PurgeOptions{Rules: []string{purge.AllRules}})
	mustDo(t, err)
	runGit(t, ada.Dir(), "push", "-q", "--no-verify", "--force", "origin", "tape/main", "fork/main/x", "refs/tags/anchor/*:refs/tags/anchor/*")

	// It is put back in its place: the working tree of a fork names that.
	dir, kept := bob.Dir(), filepath.Join(t.TempDir(), "ws")
	copyTree(t, dir, kept)
	mustDo(t, pullPurge(t, bob, true))
	want := saidInAll(t, bob)
	if records := recordsIn(t, openTape(t, bob, "main")); records != 1 {
		t.Errorf("following a purge leaves %d records, and one was made", records)
	}
	step := testkit.Size(250, 9) // each begins elsewhere
	for n := 1 + rng.IntN(step); ; n += step {
		mustDo(t, os.RemoveAll(dir))
		copyTree(t, kept, dir)
		if pullPurgeContinued(t, dir, n, rng.IntN(3) == 0, secret, want) || t.Failed() {
			t.Logf("about %d operations", n)
			break
		}
	}
}

func pullPurgeContinued(t *testing.T, dir string, n int, goOn bool, secret string, want map[string][]string) (over bool) {
	f := &faulty{n: n, gap: 1}
	err := pullPurge(t, openFaulty(t, dir, f), true)
	s := openFaulty(t, dir, nil)
	began := isPurging(t, s)
	defer func() {
		if t.Failed() {
			t.Logf("operation %d failed, gone on: %v, begun: %v; the call returned %v", n, goOn, began, err)
		}
	}()
	want = maps.Clone(want)
	if goOn {
		mustAppend(t, openTape(t, s, "main"), Message("user", "meanwhile"))
		mustCheckpoint(t, openTape(t, s, "main"))
		want["main"] = append(slices.Clone(want["main"]), "meanwhile")
	}
	derived := 0
	mustDo(t, purge.FinishPurge(t.Context(), s.in(), func(context.Context) error { derived++; return nil }))
	if began && derived == 0 {
		t.Error("what is derived was not made anew")
	}
	if err := pullPurge(t, s, !began); err != nil {
		t.Errorf("pulling again: %v", err)
	}
	if got := saidInAll(t, s); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("it has\n%q\nwant\n%q", got, want)
	}
	if records := recordsIn(t, openTape(t, s, "main")); records != 1 {
		t.Errorf("%d records of one purge", records)
	}
	wantNowhere(t, dir, secret)
	if isPurging(t, s) {
		t.Error("it is not over")
	}
	healthy(t, dir)
	wantClean(t, dir)
	return !f.hit()
}

// pullPurge makes the calls of a pull.
func pullPurge(t *testing.T, s *Store, purges bool) error {
	t.Helper()
	ctx := t.Context()
	if err := purge.FinishPurge(ctx, s.in(), nil); err != nil {
		return err
	}
	done, err := s.Fetch(ctx, "origin", &FetchOptions{Purges: purges})
	for _, status := range done {
		err = errors.Join(err, status.Err)
	}
	if err != nil {
		return err
	}
	return joinAll(ctx, s)
}

// recordsIn counts the records of purges.
func recordsIn(t *testing.T, tp *Tape) (n int) {
	t.Helper()
	for _, e := range entriesOf(t, tp, Query{}) {
		if strings.Contains(string(e.Payload), rewrite.PurgedEvent) {
			n++
		}
	}
	return n
}

// saidInAll is what all tapes and forks have.
func saidInAll(t *testing.T, s *Store) map[string][]string {
	t.Helper()
	all, err := tapesAndForks(t.Context(), s)
	mustDo(t, err)
	out := map[string][]string{}
	for _, tp := range all {
		out[tp.Name()] = saidIn(t, tp)
	}
	return out
}

// TestPullPurgeForged pulls what says that it was purged, and has something else changed: it is
// told apart from a purge, and nothing changes here, whether purges are followed or not.
func TestPullPurgeForged(t *testing.T) {
	secret := testSecret("5")
	ada, remote, m, _ := leaking(t, secret)
	mustPushSecret(t, ada)
	bob := mustClone(t, remote)
	was := headOf(t, openTape(t, bob, "main"))
	_, err := m.Purge(t.Context(), PurgeOptions{Rules: []string{purge.AllRules}})
	mustDo(t, err)
	forged := forgedHistory(t, ada, headOf(t, m), func(n int, c *gitstore.Commit) {
		if n == 0 {
			c.Author.Name = "Somebody Else"
		}
	})
	runGit(t, ada.Dir(), "push", "-q", "--no-verify", "--force", "origin", forged.String()+":refs/heads/tape/main")
	for _, purges := range []bool{false, true} {
		statuses, err := bob.Fetch(t.Context(), "origin", &FetchOptions{Purges: purges})
		mustDo(t, err)
		i := slices.IndexFunc(statuses, func(s RefStatus) bool { return s.Tape == "main" && s.Status == RefRejected })
		if i < 0 || !errors.Is(statuses[i].Err, ErrConflict) || !strings.Contains(fmt.Sprint(Hints(statuses[i].Err)), "another version of tape") {
			t.Errorf("bob's fetch says %+v", statuses)
		}
		if now := headOf(t, openTape(t, bob, "main")); now != was {
			t.Errorf("the tape was %s, and is %s", was, now)
		}
	}
}

// TestPullBeforeReplaced pulls after a purge while the remote still has what it was before: no
// ref names any of that, not of forks and their handoffs either, and once it is replaced all
// is well.
func TestPullBeforeReplaced(t *testing.T) {
	secret := testSecret("4")
	ada, remote, m, x := leaking(t, secret)
	mustAppend(t, x, Message("user", "of x"))
	mustHandoff(t, x, "of x")
	y := mustFork(t, x, "y", "")
	mustHandoff(t, y, "of y")
	mustPushSecret(t, ada)
	_, err := m.Purge(t.Context(), PurgeOptions{Rules: []string{purge.AllRules}})
	mustDo(t, err)
	for range 2 {
		statuses, err := ada.Fetch(t.Context(), "origin", nil)
		mustDo(t, err)
		if len(statuses) != 1 || statuses[0].Tape != "main" || statuses[0].Status != RefRejected {
			t.Errorf("the fetch says %+v", statuses)
		}
		if strings.Contains(runGit(t, ada.Dir(), "log", "-p", "--all", "--no-textconv"), secret) {
			t.Error("refs name what was purged")
		}
	}
	runGit(t, ada.Dir(), "push", "-q", "--no-verify", "--force", "origin", "refs/heads/*", "refs/tags/anchor/*")
	for _, status := range mustFetch(t, ada) {
		mustDo(t, status.Err)
	}
	mustDo(t, joinAll(t.Context(), ada))
	bob := mustClone(t, remoteGone(t, remote))
	wantNowhere(t, bob.Dir(), secret)
	healthy(t, ada.Dir())
}

func mustFetch(t *testing.T, s *Store) []RefStatus {
	t.Helper()
	done, err := s.Fetch(t.Context(), "origin", nil)
	mustDo(t, err)
	return done
}
