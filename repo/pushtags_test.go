package repo

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
	"testing"
	"time"
)

// TestPushMakesTags makes tapes, each cut off one disk operation later, and pushes all: where the
// branch is there, its tag goes with it.
func TestPushMakesTags(t *testing.T) {
	t.Parallel()
	s := testStore(t, nil)
	remote := shared(t, s)
	cut := 0
	for n := 2; ; n++ { // each operation twice
		name, f := fmt.Sprint("new-", n), &faulty{n: n / 2, gap: 1}
		dying, err := Open(t.Context(), s.Dir(), &Options{Now: testkit.Clock, Fs: &disk.FS{Fault: f.fault}})
		mustDo(t, err)
		made, err := dying.CreateTape(t.Context(), name)
		if !f.hit() {
			mustDo(t, err)
			break
		}
		if _, err := s.in().Git().Ref(layout.BranchPrefix + name); err != nil || len(tagsIn(t, s.Dir(), name)) > 0 {
			continue
		}
		if cut++; n%2 == 0 { // the name of the record of it was not durable
			mustDo(t, os.Remove(journal.LockPath(made.in())))
		}
	}
	if cut < 2 {
		t.Fatalf("%d tapes without their tags", cut)
	}
	mustPush(t, s, &PushOptions{All: true})
	for _, name := range strings.Fields(runGit(t, remote, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/tape")) {
		if tags := tagsIn(t, remote, name); len(tags) == 0 {
			t.Errorf("the remote has %s without a tag", name)
		}
	}
	healthy(t, mustClone(t, remote).Dir())
}

// tagsIn lists the tags of a tape in a repository.
func tagsIn(t *testing.T, dir, tape string) []string {
	t.Helper()
	return strings.Fields(runGit(t, dir, "for-each-ref", "--format=%(refname)=%(objectname)", layout.TagPrefix+tape+"/"))
}

// TestTagsMissingAtRemote takes tags away at a remote, as a push by git does not bring them:
// who pulls or clones has them all the same, as they were, and verify makes them again.
func TestTagsMissingAtRemote(t *testing.T) {
	t.Parallel()
	ada := testStore(t, nil)
	remote := shared(t, ada)
	mustPush(t, ada, nil)
	bob := mustClone(t, remote)
	for _, name := range []string{"a", "b"} {
		tp, err := ada.CreateTape(t.Context(), name)
		mustDo(t, err)
		mustAppend(t, tp, Message("user", "one"))
		mustHandoff(t, tp, "second")
		mustHandoff(t, tp, "third")
	}
	f, err := openTape(t, ada, "a").Fork(t.Context(), "try")
	mustDo(t, err)
	mustAppend(t, f, Message("user", "mine"))
	mustHandoff(t, f, "fourth")
	mustPush(t, ada, &PushOptions{All: true})
	want := map[string][]string{}
	for _, slug := range []string{"main", "a", "b", f.in().Slug()} {
		want[slug] = tagsIn(t, ada.Dir(), slug)
		for i, tag := range want[slug] {
			if slug != "b" || i > 0 { // of b the first is there
				name, _, _ := strings.Cut(tag, "=")
				runGit(t, remote, "update-ref", "-d", name)
			}
		}
	}
	same := func(who string, s *Store) {
		t.Helper()
		for slug, tags := range want {
			if got := tagsIn(t, s.Dir(), slug); !slices.Equal(got, tags) {
				t.Errorf("%s has of %s the tags %v, not %v", who, slug, got, tags)
			}
		}
	}
	same("the clone", mustClone(t, remote))
	_, err = bob.Fetch(t.Context(), "origin", nil)
	mustDo(t, err)
	for _, name := range []string{"a", "b", "a/try"} {
		status, err := join.Join(t.Context(), bob.in(), "origin", name)
		mustDo(t, errors.Join(err, status.Err))
	}
	same("who pulled", bob)

	for _, tag := range want["a"] { // as one who pulled with an earlier version
		name, _, _ := strings.Cut(tag, "=")
		runGit(t, bob.Dir(), "update-ref", "-d", name)
	}
	settledAll(t, bob.Dir())
	same("who repaired", bob)
	if tree := openTape(t, bob, "a").WorkTree(); tree != "" {
		t.Errorf("the repair made the working tree %s", tree)
	}
}

// TestPushWhileForksClose closes a fork after a push of all has listed it.
func TestPushWhileForksClose(t *testing.T) {
	t.Parallel()
	s := testStore(t, nil)
	shared(t, s)
	first, err := s.CreateTape(t.Context(), "first")
	mustDo(t, err)
	m := openTape(t, s, "main")
	var forks []*Tape
	for _, name := range []string{"gone", "stays"} {
		f, err := m.Fork(t.Context(), name)
		mustDo(t, err)
		mustAppend(t, f, Message("user", name))
		forks = append(forks, f)
	}
	mustPush(t, s, &PushOptions{All: true})
	mustAppend(t, forks[0], Message("user", "more"))
	mustDo(t, os.MkdirAll(filepath.Dir(journal.LockPath(first.in())), 0o700))
	lock, err := s.in().FS().Lock(t.Context(), journal.LockPath(first.in()), time.Second)
	mustDo(t, err)
	pushed := make(chan error)
	go func() {
		done, err := reopened(s).Push(context.WithoutCancel(t.Context()), "origin", &PushOptions{All: true})
		for _, d := range done {
			err = errors.Join(err, d.Err)
		}
		pushed <- err
	}()
	time.Sleep(300 * time.Millisecond) // it has listed all, and waits for the first
	mustDo(t, forks[0].Discard(t.Context()))
	mustDo(t, lock.Unlock())
	mustDo(t, <-pushed)
	mustPush(t, s, &PushOptions{All: true})
	if _, err := s.in().Git().Ref(forks[0].in().Ref()); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("the fork is back: %v", err)
	}
}

// reopened is a second store on the same workspace, for another goroutine.
func reopened(s *Store) *Store {
	again, err := Open(context.Background(), s.Dir(), nil)
	if err != nil {
		panic(err)
	}
	return again
}

// TestPushBesideHandoffs pushes a tape while it gets handoffs: no tag arrives before the commit
// that it names, which the other side would reject.
func TestPushBesideHandoffs(t *testing.T) {
	t.Parallel()
	s := testStore(t, nil)
	remote := shared(t, s)
	m, err := reopened(s).Tape(t.Context(), "main")
	mustDo(t, err)
	// Other refs to be listed give handoffs the time to come in between.
	archives := filepath.Join(s.in().Git().GitDir(), filepath.FromSlash(layout.ArchivePrefix+"other"))
	mustDo(t, os.MkdirAll(archives, 0o700))
	t.Cleanup(func() { mustDo(t, os.RemoveAll(archives)) })
	head, err := m.in().Head()
	mustDo(t, err)
	for n := range 1000 {
		mustDo(t, os.WriteFile(filepath.Join(archives, fmt.Sprint("at", n)), []byte(head.String()+"\n"), 0o600))
	}
	for round := range testkit.Size(5, 300) {
		done := make(chan error)
		go func() {
			var err error
			for n := 0; err == nil && n < 8; n++ {
				_, err = m.Handoff(context.WithoutCancel(t.Context()), Anchor{Name: fmt.Sprint("n", round, "-", n)})
			}
			done <- err
		}()
		_, err := s.Push(t.Context(), "origin", &PushOptions{Tapes: []string{"main"}})
		mustDo(t, errors.Join(<-done, err))
		ahead := runGit(t, remote, "for-each-ref", "--no-merged=refs/heads/tape/main", "--format=%(refname)", "refs/tags/anchor")
		if ahead != "" {
			t.Fatalf("round %d: the remote has tags of commits that it has not: %s", round, ahead)
		}
	}
}
