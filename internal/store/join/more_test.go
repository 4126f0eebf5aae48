package join_test

import (
	"errors"
	"tape/internal/store/join"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// A merge that git made is completed even if a change was interrupted before it.
func TestMergeAfterAnInterruptedChange(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	f := storetest.Fork(t, m, "x", "")
	storetest.Append(t, f, repo.Message("user", "theirs"))
	storetest.Checkpoint(t, f)
	storetest.Interrupt(t, m)
	storetest.MergeWithGit(t, s.Dir(), "host, our tree")
	storetest.WantTexts(t, m, "session/start theirs")
	storetest.Append(t, m, repo.Message("user", "after"))
	storetest.Checkpoint(t, m)
	storetest.WantTexts(t, m, "session/start theirs after")
}

// What a commit by hand removes after an incomplete merge comes back when the merge is completed.
func TestMergeThenRemovedByHand(t *testing.T) {
	for _, removed := range []string{"anchors/002_second", "anchors"} {
		s := storetest.New(t, nil)
		storetest.CommittedSides(t, s)
		storetest.MergeWithGit(t, s.Dir(), "host, our tree")
		storetest.Git(t, s.Dir(), "rm", "-rq", removed)
		storetest.Git(t, s.Dir(), "-c", "user.name=Hand", "-c", "user.email=hand@example.org", "commit", "-qm", "by hand")
		storetest.WantTexts(t, storetest.Tape(t, s, "main"), "session/start one second two three x1 x2 in the fork x3")
		storetest.WantClean(t, s.Dir())
	}
}

// Uncommitted entries survive an aborted merge.
func TestAbortKeepsWhatWasRecorded(t *testing.T) {
	m := stoppedAtUncommitted(t)
	if err := join.AbortMerge(t.Context(), storetest.InnerTape(m)); err != nil {
		t.Fatal(err)
	}
	storetest.WantTexts(t, m, "session/start ours loose")
}

// A new fork must not get the forks of an earlier one with the same name.
func TestNameUsedAgain(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	x := storetest.Fork(t, m, "x", "")
	storetest.Append(t, x, repo.Message("user", "x1"))
	y := storetest.Fork(t, x, "y", "")
	storetest.Append(t, y, repo.Message("user", "y1"))
	storetest.Merge(t, x, join.Options{})
	again, err := m.Fork(t.Context(), "x")
	if errors.Is(err, repo.ErrConflict) {
		return // the name may also be refused
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := join.Merge(t.Context(), storetest.InnerTape(y), join.Options{}); err != nil || got.Into != "main" {
		t.Errorf("merged into %q, %v", got.Into, err)
	}
	if err := again.Discard(t.Context()); err != nil {
		t.Errorf("a fork without forks cannot be discarded: %v", err)
	}
}

// After git merged a fork by fast-forward, merging it again adds nothing.
func TestMergeAfterAFastForward(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "one"))
	x := storetest.Fork(t, m, "x", "")
	storetest.Append(t, x, repo.Message("user", "x1"))
	storetest.Handoff(t, x, "inner")
	if out, err := storetest.PlainGit(t, s.Dir(), "merge", "-q", "--ff-only", x.Branch()); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	storetest.WantTexts(t, m, "session/start one x1 inner")
	storetest.Merge(t, x, join.Options{})
	storetest.WantTexts(t, m, "session/start one x1 inner")
	storetest.Append(t, m, repo.Message("user", "more"))
	storetest.Handoff(t, m, "next")
	storetest.WantTags(t, m)
	storetest.WantClean(t, s.Dir())
}
