package repo

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"tape/internal/store/join"
	"tape/internal/testkit"
	"testing"
)

func twoSides(t *testing.T, s *Store) {
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", "one"))
	mustHandoff(t, m, "second")
	x := mustFork(t, m, "x", "")
	mustAppend(t, x, Message("user", "x1"), Event("x2", nil))
	mustHandoff(t, x, "in the fork")
	mustAppend(t, x, Message("user", "x3"))
	mustAppend(t, m, Message("user", "two"), Event("three", nil))
}

func committedSides(t *testing.T, s *Store) {
	twoSides(t, s)
	mustCheckpoint(t, openTape(t, s, "main"))
	mustCheckpoint(t, openTape(t, s, "main/x"))
}

// mergedByHost leaves a merge that has to be completed, beside an entry that was not
// committed.
func mergedByHost(t *testing.T, s *Store) {
	committedSides(t, s)
	mustAppend(t, openTape(t, s, "main"), Message("user", "not committed"))
	mergeWithGit(t, s.Dir(), "host, our tree")
}

func forkFaults() []faultCase {
	on := onTape
	merge := func(o join.Options) func(context.Context, *Store) error {
		return on("main/x", func(ctx context.Context, f *Tape) error { _, err := join.Merge(ctx, f.in(), o); return err })
	}
	fork := func(at string) func(context.Context, *Store) error {
		return on("main", func(ctx context.Context, tp *Tape) error { _, err := tp.ForkAt(ctx, "y", at); return err })
	}
	read := on("main", func(ctx context.Context, tp *Tape) error { return join.Complete(ctx, tp.in()) })
	return []faultCase{
		{name: "fork", setup: twoSides, run: fork("")},
		{name: "fork at an entry", setup: committedSides, run: fork("@2")},
		{name: "append in the fork", setup: twoSides, run: on("main/x", func(ctx context.Context, f *Tape) error {
			_, err := f.Append(ctx, nil, Message("user", "x4"), Event("x5", nil), System("x6"))
			return err
		})},
		{name: "first append after gc", setup: func(t *testing.T, s *Store) {
			committedSides(t, s)
			if _, err := s.GC(t.Context(), &GCOptions{Idle: -1, WorktreesOnly: true}); err != nil {
				t.Fatal(err)
			}
		}, run: on("main/x", func(ctx context.Context, f *Tape) error {
			_, err := f.Append(ctx, nil, Message("user", "x4"))
			return err
		})},
		{name: "merge", setup: twoSides, run: merge(join.Options{}), between: merge(join.Options{Keep: true})},
		{name: "merge with artifacts", setup: func(t *testing.T, s *Store) {
			twoSides(t, s)
			withArtifact(t, s)
			addsArtifact(t, openTape(t, s, "main/x"), "of the fork")
		}, run: merge(join.Options{Keep: true})},
		{name: "merge, and keep", setup: twoSides, run: merge(join.Options{Keep: true})},
		{name: "merge a summary", setup: twoSides, run: merge(join.Options{Keep: true, Summary: "tried"})},
		{name: "discard", setup: twoSides, run: on("main/x", func(ctx context.Context, f *Tape) error { return f.Discard(ctx) })},
		{name: "remove", setup: func(t *testing.T, s *Store) {
			other, err := s.CreateTape(t.Context(), "other")
			if err != nil {
				t.Fatal(err)
			}
			mustAppend(t, other, Message("user", "one"))
		}, run: on("other", func(ctx context.Context, tp *Tape) error { _, err := tp.Remove(ctx, true); return err })},
		{name: "complete", setup: mergedByHost, run: read},
		{name: "pull what goes on", setup: func(t *testing.T, s *Store) { published(t, s, false) }, run: joined},
		{name: "pull what went apart", setup: func(t *testing.T, s *Store) { published(t, s, true) }, run: joined},
		{name: "pull artifacts", setup: func(t *testing.T, s *Store) {
			published(t, s, true)
			withArtifact(t, s)
		}, run: joined},
		{name: "push", setup: func(t *testing.T, s *Store) { sharedInside(t, s) }, run: func(ctx context.Context, s *Store) error {
			if err := sent(s.Push(ctx, "origin", &PushOptions{Forks: true})); err != nil {
				return err
			}
			return sent(s.Fetch(ctx, "origin", nil)) // what was sent, but not noted
		}},
		{name: "fetch", setup: func(t *testing.T, s *Store) {
			remote := sharedInside(t, s)
			other := mustClone(t, remote)
			twoSides(t, other)
			mustPush(t, other, &PushOptions{Forks: true})
		}, run: func(ctx context.Context, s *Store) error { return sent(s.Fetch(ctx, "origin", nil)) }},
		{name: "gc", unseen: true, setup: committedSides, run: func(ctx context.Context, s *Store) error {
			_, err := s.GC(ctx, &GCOptions{Idle: -1})
			return err
		}},
		{name: "continue", merging: true, setup: stoppedMerge, run: on("main", func(ctx context.Context, tp *Tape) error { _, err := join.ContinueMerge(ctx, tp.in()); return err })},
	}
}

// sharedInside makes a remote that has the tape as it is, and goes on. It is in the folder of
// the workspace, and so put back with it.
func sharedInside(t *testing.T, s *Store) (remote string) {
	t.Helper()
	remote = filepath.Join(s.Dir(), ".git", "remote.git")
	runGit(t, s.Dir(), "init", "-q", "--bare", remote)
	mustDo(t, s.AddRemote(t.Context(), "origin", remote))
	mustPush(t, s, nil)
	twoSides(t, s)
	return remote
}

func sent(all []RefStatus, err error) error {
	for _, one := range all {
		err = errors.Join(err, one.Err)
	}
	return err
}

// forkPicture is all that a reader can learn of tapes and forks.
func forkPicture(t *testing.T, s *Store) string {
	t.Helper()
	out := mustPicture(t, s)
	forks, err := s.Forks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range forks {
		out += "fork " + f.Name() + "\n" + strings.Join(lines(entriesOf(t, f, Query{})), "\n") + "\n"
	}
	return out
}

// TestSoakForkFaults does what TestSoakFaults does with the changes around forks.
func TestSoakForkFaults(t *testing.T) {
	tryFaults(t, forkFaults(), pace{alone: testkit.Size(60, 1), others: testkit.Size(120, 1), goOn: 1})
}
