package remotes_test

import (
	"strings"
	"testing"

	"tape/hooks/githooks"
	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/purge"
	"tape/internal/store/remotes"
	storetest "tape/internal/testkit/store"
	"tape/merge"
	"tape/repo"
)

const forgottenWord = "xylophone-7391"

// forgettable returns a store with a pushed tape that has a fork of a fork. The names of tape and fork differ from their
// slugs.
func forgettable(t *testing.T) (s *repo.Store, remote string) {
	t.Helper()
	s = storetest.New(t, nil)
	m, err := s.CreateTape(t.Context(), "Gone")
	storetest.Must(t, err)
	storetest.Append(t, m, repo.Message("user", forgottenWord))
	x := storetest.Fork(t, m, "X y", "")
	storetest.Append(t, x, repo.Message("user", "x "+forgottenWord))
	storetest.Handoff(t, x, "in the fork")
	y := storetest.Fork(t, x, "z", "")
	storetest.Append(t, y, repo.Message("user", "z "+forgottenWord))
	storetest.Handoff(t, y, "in its fork")
	remote = storetest.Remote(t, s)
	storetest.Push(t, s, &repo.PushOptions{All: true})
	return s, remote
}

// A tape that was forgotten here is not even fetched, nor are its forks.
func TestFetchLeavesOutWhatWasForgotten(t *testing.T) {
	s, remote := forgettable(t)
	_, err := purge.Forget(t.Context(), storetest.Inner(s), "Gone", purge.ForgetOptions{})
	storetest.Must(t, err)
	other := storetest.Clone(t, remote)
	storetest.Append(t, storetest.Tape(t, other, "main"), repo.Message("user", "news"))
	storetest.Append(t, storetest.Tape(t, other, "Gone"), repo.Message("user", "more "+forgottenWord))
	storetest.Push(t, other, &repo.PushOptions{All: true})
	_, err = merge.Pull(t.Context(), s, "origin", &merge.PullOptions{Archives: true})
	storetest.Must(t, err)
	storetest.WantTexts(t, storetest.Tape(t, s, "main"), "session/start news")
	storetest.WantNowhere(t, s.Dir(), forgottenWord)
	_, err = s.Fetch(t.Context(), "origin", &repo.FetchOptions{Tapes: []string{"Gone/X y"}})
	storetest.WantIs(t, err, repo.ErrConflict)
}

// Forgetting a tape at a remote deletes it with its forks, tags and archives, also where hooks guard tapes, and other
// clones learn of it.
func TestForgetAtARemote(t *testing.T) {
	s, remote := forgettable(t)
	other := storetest.Clone(t, remote)
	deletions := func(more string) error {
		const zero = "0000000000000000000000000000000000000000 "
		lines := storetest.Git(t, remote, "for-each-ref", "--format=%(objectname) "+zero+"%(refname)", "refs/heads/tape/Gone*", "refs/heads/fork", "refs/tags/anchor/Gone*")
		return githooks.PreReceive(t.Context(), remote, strings.NewReader(lines+"\n"+more))
	}
	mark, _ := layout.ForgottenMark()
	storetest.WantIs(t, deletions(""), repo.ErrConflict)
	storetest.Must(t, deletions("0000000000000000000000000000000000000000 "+mark.String()+" "+layout.ForgottenPrefix+layout.ForgottenID(layout.TapeSlug("Gone"))+"\n"))
	done, err := purge.Forget(t.Context(), storetest.Inner(s), "Gone", purge.ForgetOptions{})
	storetest.Must(t, err)
	branch := "refs/heads/tape/" + layout.TapeSlug("Gone")
	storetest.Git(t, remote, "symbolic-ref", "HEAD", branch)
	storetest.Git(t, remote, "config", "receive.denyDeletes", "true")
	_, err = remotes.Forget(t.Context(), storetest.Inner(s), "origin", "Gone", remotes.ForgetOptions{Slugs: done.Slugs})
	storetest.WantIs(t, err, repo.ErrConflict)
	if head := storetest.Git(t, remote, "symbolic-ref", "HEAD"); head != branch {
		t.Errorf("after a refusal, the remote's HEAD is %s, want %s", head, branch)
	}
	storetest.Git(t, remote, "config", "receive.denyDeletes", "false")
	for i, want := range []bool{true, false} {
		was, err := remotes.Forget(t.Context(), storetest.Inner(s), "origin", "Gone", remotes.ForgetOptions{Slugs: done.Slugs})
		storetest.Must(t, err)
		if was != want {
			t.Errorf("call %d reports %v, want %v", i, was, want)
		}
	}
	for ref := range strings.Lines(storetest.Git(t, remote, "for-each-ref", "--format=%(refname)")) {
		if !strings.Contains(ref, "/main") && !strings.HasPrefix(ref, "refs/tape/forgotten/") {
			t.Errorf("the remote still has %s", ref)
		}
	}
	if head := storetest.Git(t, remote, "symbolic-ref", "HEAD"); head != "refs/heads/tape/main" {
		t.Errorf("the remote's HEAD is %s, want main", head)
	}
	_, err = merge.Pull(t.Context(), other, "origin", nil)
	storetest.Must(t, err)
	names, err := remotes.ForgottenAt(t.Context(), storetest.Inner(other), "origin")
	storetest.Must(t, err)
	if len(names) != 1 || names[0] != "Gone" {
		t.Errorf("forgotten at the remote are %q, want Gone", names)
	}
	statuses, err := other.Push(t.Context(), "origin", &repo.PushOptions{All: true})
	storetest.Must(t, err)
	for _, status := range statuses {
		if strings.HasPrefix(status.Tape, "Gone") && status.Status != repo.RefRejected {
			t.Errorf("pushing the forgotten %s: %s, want it rejected", status.Tape, status.Status)
		}
	}
	storetest.Must(t, projects.KeepForgotten(t.Context(), storetest.Inner(other), "Gone"))
	if names, err = remotes.ForgottenAt(t.Context(), storetest.Inner(other), "origin"); err != nil || len(names) > 0 {
		t.Errorf("after Keep, forgotten tapes are %q, %v; want none", names, err)
	}
	storetest.Healthy(t, other.Dir())
}
