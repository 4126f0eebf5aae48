package remotes_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/store/join"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// TestPushMakesTags creates tapes, each interrupted at a later disk operation than the one before, and pushes all: each
// branch is pushed with its tag.
func TestPushMakesTags(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	remote := storetest.Remote(t, s)
	cut := 0
	for n := 2; ; n++ { // each operation twice: with and without a journal
		name, f := fmt.Sprint("new-", n), &storetest.Faulty{N: n / 2, Gap: 1}
		dying, err := repo.Open(t.Context(), s.Dir(), &repo.Options{Now: testkit.Clock, Fs: &disk.FS{Fault: f.Fault}})
		storetest.Must(t, err)
		made, err := dying.CreateTape(t.Context(), name)
		if !f.Hit() {
			storetest.Must(t, err)
			break
		}
		if _, err := storetest.Inner(s).Git().Ref(layout.BranchPrefix + name); err != nil || len(tagsIn(t, s.Dir(), name)) > 0 {
			continue
		}
		if cut++; n%2 == 0 { // as if the journal's file name was not durable
			storetest.Must(t, os.Remove(journal.LockPath(storetest.InnerTape(made))))
		}
	}
	if cut < 2 {
		t.Fatalf("%d tapes were left without their tags, want at least 2", cut)
	}
	storetest.Push(t, s, &repo.PushOptions{All: true})
	for _, name := range strings.Fields(storetest.Git(t, remote, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/tape")) {
		if tags := tagsIn(t, remote, name); len(tags) == 0 {
			t.Errorf("the remote has %s without a tag", name)
		}
	}
	storetest.Healthy(t, storetest.Clone(t, remote).Dir())
}

// tagsIn lists the tags of a tape in a repository.
func tagsIn(t *testing.T, dir, tape string) []string {
	t.Helper()
	return strings.Fields(storetest.Git(t, dir, "for-each-ref", "--format=%(refname)=%(objectname)", layout.TagPrefix+tape+"/"))
}

// TestTagsMissingAtRemote removes tags at a remote, as if a branch had been pushed by git alone: a pull and a clone make
// the tags nevertheless, and a repair restores them.
func TestTagsMissingAtRemote(t *testing.T) {
	t.Parallel()
	ada := storetest.New(t, nil)
	remote := storetest.Remote(t, ada)
	storetest.Push(t, ada, nil)
	bob := storetest.Clone(t, remote)
	for _, name := range []string{"a", "b"} {
		tp, err := ada.CreateTape(t.Context(), name)
		storetest.Must(t, err)
		storetest.Append(t, tp, repo.Message("user", "one"))
		storetest.Handoff(t, tp, "second")
		storetest.Handoff(t, tp, "third")
	}
	f, err := storetest.Tape(t, ada, "a").Fork(t.Context(), "try")
	storetest.Must(t, err)
	storetest.Append(t, f, repo.Message("user", "mine"))
	storetest.Handoff(t, f, "fourth")
	storetest.Push(t, ada, &repo.PushOptions{All: true})
	want := map[string][]string{}
	for _, slug := range []string{"main", "a", "b", storetest.InnerTape(f).Slug()} {
		want[slug] = tagsIn(t, ada.Dir(), slug)
		for i, tag := range want[slug] {
			if slug != "b" || i > 0 { // the first tag of b stays
				name, _, _ := strings.Cut(tag, "=")
				storetest.Git(t, remote, "update-ref", "-d", name)
			}
		}
	}
	same := func(who string, s *repo.Store) {
		t.Helper()
		for slug, tags := range want {
			if got := tagsIn(t, s.Dir(), slug); !slices.Equal(got, tags) {
				t.Errorf("%s has for %s the tags %v, want %v", who, slug, got, tags)
			}
		}
	}
	same("the clone", storetest.Clone(t, remote))
	_, err = bob.Fetch(t.Context(), "origin", nil)
	storetest.Must(t, err)
	for _, name := range []string{"a", "b", "a/try"} {
		status, err := join.Join(t.Context(), storetest.Inner(bob), "origin", name)
		storetest.Must(t, errors.Join(err, status.Err))
	}
	same("the workspace that pulled", bob)

	for _, tag := range want["a"] { // as after a pull with an earlier version
		name, _, _ := strings.Cut(tag, "=")
		storetest.Git(t, bob.Dir(), "update-ref", "-d", name)
	}
	storetest.Recovered(t, bob.Dir())
	same("the repaired workspace", bob)
	if tree := storetest.Tape(t, bob, "a").WorkTree(); tree != "" {
		t.Errorf("the repair made the working tree %s", tree)
	}
}

// TestPushWhileForksClose closes a fork after a push with All has listed it: the push works, and the fork stays closed.
func TestPushWhileForksClose(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	storetest.Remote(t, s)
	first, err := s.CreateTape(t.Context(), "first")
	storetest.Must(t, err)
	m := storetest.Tape(t, s, "main")
	var forks []*repo.Tape
	for _, name := range []string{"gone", "stays"} {
		f, err := m.Fork(t.Context(), name)
		storetest.Must(t, err)
		storetest.Append(t, f, repo.Message("user", name))
		forks = append(forks, f)
	}
	storetest.Push(t, s, &repo.PushOptions{All: true})
	storetest.Append(t, forks[0], repo.Message("user", "more"))
	storetest.Must(t, os.MkdirAll(filepath.Dir(journal.LockPath(storetest.InnerTape(first))), 0o700))
	lock, err := storetest.Inner(s).FS().Lock(t.Context(), journal.LockPath(storetest.InnerTape(first)), time.Second)
	storetest.Must(t, err)
	pushed := make(chan error)
	go func() {
		done, err := reopened(s).Push(context.WithoutCancel(t.Context()), "origin", &repo.PushOptions{All: true})
		for _, d := range done {
			err = errors.Join(err, d.Err)
		}
		pushed <- err
	}()
	testkit.Pause(300 * time.Millisecond) // the push has listed everything, and waits for the lock of the tape first
	storetest.Must(t, forks[0].Discard(t.Context()))
	storetest.Must(t, lock.Unlock())
	storetest.Must(t, <-pushed)
	storetest.Push(t, s, &repo.PushOptions{All: true})
	if _, err := storetest.Inner(s).Git().Ref(storetest.InnerTape(forks[0]).Ref()); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("the fork is back: %v", err)
	}
}

// reopened returns a second store on the same workspace, for another goroutine.
func reopened(s *repo.Store) *repo.Store {
	again, err := repo.Open(context.Background(), s.Dir(), nil)
	if err != nil {
		panic(err)
	}
	return again
}

// TestPushBesideHandoffs pushes a tape while it gets handoffs: no tag arrives before the commit
// that it names, which the other side would reject.
func TestPushBesideHandoffs(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	remote := storetest.Remote(t, s)
	m, err := reopened(s).Tape(t.Context(), "main")
	storetest.Must(t, err)
	// A push that must list many other refs leaves handoffs the time to come in between.
	archives := filepath.Join(storetest.Inner(s).Git().GitDir(), filepath.FromSlash(layout.ArchivePrefix+"other"))
	storetest.Must(t, os.MkdirAll(archives, 0o700))
	t.Cleanup(func() { storetest.Must(t, os.RemoveAll(archives)) })
	head, err := storetest.InnerTape(m).Head()
	storetest.Must(t, err)
	for n := range 1000 {
		storetest.Must(t, os.WriteFile(filepath.Join(archives, fmt.Sprint("at", n)), []byte(head.String()+"\n"), 0o600))
	}
	for round := range testkit.Size(5, 300) {
		done := make(chan error)
		go func() {
			var err error
			for n := 0; err == nil && n < 8; n++ {
				_, err = m.Handoff(context.WithoutCancel(t.Context()), repo.Anchor{Name: fmt.Sprint("n", round, "-", n)})
			}
			done <- err
		}()
		_, err := s.Push(t.Context(), "origin", &repo.PushOptions{Tapes: []string{"main"}})
		storetest.Must(t, errors.Join(<-done, err))
		ahead := storetest.Git(t, remote, "for-each-ref", "--no-merged=refs/heads/tape/main", "--format=%(refname)", "refs/tags/anchor")
		if ahead != "" {
			t.Fatalf("round %d: the remote has tags whose commits are not on its branch: %s", round, ahead)
		}
	}
}
