package repo

import (
	"errors"
	"slices"
	"strings"
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
	mustDo(t, ada.DisallowSecret(print))
	mustDo(t, gone.Discard(ctx))
	stamp := "refs/tape/archive/main/20261120T093000Z"
	runGit(t, ada.Dir(), "push", "-q", "--no-verify", "origin", "tape/main:"+stamp)
	bob := mustClone(t, remote)
	mustAppend(t, openTape(t, bob, "main"), Message("user", "of bob"))

	done, err := m.Purge(ctx, PurgeOptions{Rules: []string{AllRules}})
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
		if i < 0 || !strings.Contains(Hint(statuses[i].Err), "--force-with-lease") {
			t.Fatalf("the fetch says nothing of %s: %+v", ref, statuses)
		}
	}
	if got := saidIn(t, m); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, secret) }) {
		t.Fatalf("the tape has %q", got)
	}
	accepted, err := ada.knownRefs(acceptedRefs("origin"))
	mustDo(t, err)
	for ref := range accepted {
		if !strings.HasPrefix(ref, tagPrefix) {
			t.Errorf("%s is accepted", ref)
		}
	}
	runGit(t, ada.Dir(), "push", "-q", "--no-verify", "--force", "origin", "tape/main", "fork/main/x", "refs/tags/anchor/*:refs/tags/anchor/*")
	statuses, err = ada.Fetch(ctx, "origin", nil)
	mustDo(t, err)
	for _, ref := range []string{"refs/heads/fork/main/gone", stamp} {
		i := slices.IndexFunc(statuses, func(s RefStatus) bool { return s.Ref == ref && s.Status == RefRejected })
		if i < 0 || !strings.Contains(Hint(statuses[i].Err), "delete it there") {
			t.Fatalf("the fetch says nothing of %s: %+v", ref, statuses)
		}
	}
	runGit(t, ada.Dir(), "push", "-q", "--no-verify", "origin", ":fork/main/gone", ":"+stamp)

	statuses, err = bob.Fetch(ctx, "origin", nil)
	mustDo(t, err)
	i := slices.IndexFunc(statuses, func(s RefStatus) bool { return s.Tape == "main" && s.Status == RefRejected })
	if i < 0 || !errors.Is(statuses[i].Err, ErrConflict) || !strings.Contains(Hint(statuses[i].Err), "tape pull --purge") {
		t.Fatalf("bob's fetch says %+v", statuses)
	}
	statuses, err = bob.Fetch(ctx, "origin", &FetchOptions{Purges: true})
	mustDo(t, err)
	for _, s := range statuses {
		mustDo(t, s.Err)
	}
	for _, name := range []string{"main", "main/x"} {
		status, err := bob.Join(ctx, "origin", name)
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
