package repo

import (
	"errors"
	"tape/internal/store/join"
	"testing"
)

// A merge that git made behind a change that was cut off is completed all the same.
func TestMergeBehindAnInterruptedChange(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	f := mustFork(t, m, "x", "")
	mustAppend(t, f, Message("user", "theirs"))
	mustCheckpoint(t, f)
	interrupt(t, m)
	mergeWithGit(t, s.Dir(), "host, our tree")
	wantTexts(t, m, "session/start theirs")
	mustAppend(t, m, Message("user", "behind"))
	mustCheckpoint(t, m)
	wantTexts(t, m, "session/start theirs behind")
}

// Entries that were not committed survive a merge that is taken back.
func TestAbortKeepsWhatWasRecorded(t *testing.T) {
	m := stoppedAtLoose(t)
	if err := join.AbortMerge(t.Context(), m.in()); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, m, "session/start ours loose")
}

// A new fork of the name of one that is gone must not take in what was made of that.
func TestNameUsedAgain(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	x := mustFork(t, m, "x", "")
	mustAppend(t, x, Message("user", "x1"))
	y := mustFork(t, x, "y", "")
	mustAppend(t, y, Message("user", "y1"))
	mustMerge(t, x, join.Options{})
	again, err := m.Fork(t.Context(), "x")
	if errors.Is(err, ErrConflict) {
		return // refused is good as well
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := join.Merge(t.Context(), y.in(), join.Options{}); err != nil || got.Into != "main" {
		t.Errorf("merged into %q, %v", got.Into, err)
	}
	if err := again.Discard(t.Context()); err != nil {
		t.Errorf("a fork without forks cannot be discarded: %v", err)
	}
}

// Merging what git merged by fast-forward adds nothing.
func TestMergeAfterAFastForward(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", "one"))
	x := mustFork(t, m, "x", "")
	mustAppend(t, x, Message("user", "x1"))
	mustHandoff(t, x, "inner")
	if out, err := plainGit(t, s.Dir(), "merge", "-q", "--ff-only", x.Branch()); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wantTexts(t, m, "session/start one x1 inner")
	mustMerge(t, x, join.Options{})
	wantTexts(t, m, "session/start one x1 inner")
	mustAppend(t, m, Message("user", "on"))
	mustHandoff(t, m, "next")
	wantTags(t, m)
	wantClean(t, s.Dir())
}

// Tags that a fork has left which was closed are not those of the next one of its name.
func TestForkAgainBesideLeftTags(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	x := mustFork(t, m, "x", "")
	mustAppend(t, x, Message("user", "x"))
	mustHandoff(t, x, "step")
	mustCheckpoint(t, x)
	tag := x.in().TagRef("002_step")
	h, err := s.in().Git().Ref(tag)
	mustDo(t, err)
	mustMerge(t, x, join.Options{})
	runGit(t, s.Dir(), "update-ref", tag, h.String()) // as if it was cut off there
	x = mustFork(t, m, "x", "")
	verified(t, s.Dir())
	mustAppend(t, x, Message("user", "again"))
	mustHandoff(t, x, "again")
	verified(t, s.Dir())
}
