package storetest

import (
	"strings"
	"tape/internal/store/join"
	"tape/internal/text/jsonl"
	"tape/repo"
	"testing"
)

// Fork forks a tape at an anchor or entry; "" is its end.
func Fork(t testing.TB, tp *repo.Tape, name, at string) *repo.Tape {
	t.Helper()
	f, err := tp.ForkAt(t.Context(), name, at)
	Must(t, err)
	return f
}

// Merge merges a fork.
func Merge(t testing.TB, f *repo.Tape, o join.Options) join.Result {
	t.Helper()
	m, err := join.Merge(t.Context(), InnerTape(f), o)
	Must(t, err)
	return m
}

// Texts returns the contents of a tape's messages and the names of its anchors and events, in order. It checks that
// ids count up from 1.
func Texts(t testing.TB, tp *repo.Tape) string {
	t.Helper()
	var out []string
	for i, e := range Entries(t, tp, repo.Query{}) {
		if e.ID != int64(i+1) {
			t.Errorf("%s: entry %d has the id %d", tp.Name(), i+1, e.ID)
		}
		key := "name"
		if e.Kind == repo.KindMessage {
			key = "content"
		}
		out = append(out, jsonl.GetString(e.Payload, key))
	}
	return strings.Join(out, " ")
}

// WantTexts checks that a tape has these Texts.
func WantTexts(t testing.TB, tp *repo.Tape, want string) {
	t.Helper()
	if got := Texts(t, tp); got != want {
		t.Errorf("%s has\n%s\nwant\n%s", tp.Name(), got, want)
	}
}

// TwoSides makes a fork x of main, and appends to both.
func TwoSides(t *testing.T, s *repo.Store) {
	m := Tape(t, s, "main")
	Append(t, m, repo.Message("user", "one"))
	Handoff(t, m, "second")
	x := Fork(t, m, "x", "")
	Append(t, x, repo.Message("user", "x1"), repo.Event("x2", nil))
	Handoff(t, x, "in the fork")
	Append(t, x, repo.Message("user", "x3"))
	Append(t, m, repo.Message("user", "two"), repo.Event("three", nil))
}

// CommittedSides is TwoSides with everything committed.
func CommittedSides(t *testing.T, s *repo.Store) {
	TwoSides(t, s)
	Checkpoint(t, Tape(t, s, "main"))
	Checkpoint(t, Tape(t, s, "main/x"))
}

// MergeWithGit merges fork/main/x into main with git merge, or, if how begins with "host", as the merge button of a
// git host may do it.
func MergeWithGit(t *testing.T, dir, how string) {
	commit := func(tree string) {
		out := Git(t, dir, "-c", "user.name=Host", "-c", "user.email=host@example.org", "commit-tree", tree, "-p", "tape/main", "-p", "fork/main/x", "-m", "Merge branch 'fork/main/x'")
		Git(t, dir, "update-ref", "refs/heads/tape/main", out)
	}
	switch how {
	case "host, their tree":
		commit("fork/main/x^{tree}")
		Git(t, dir, "reset", "-q", "--hard")
	case "host, our tree":
		commit("tape/main^{tree}")
	case "host, packed refs":
		commit("tape/main^{tree}")
		Git(t, dir, "pack-refs", "--all")
	default:
		// It may stop at a conflict: tape, which would merge the files, is not on the PATH.
		out, err := PlainGit(t, dir, "merge", "--no-ff", "-q", "-m", "by hand", "fork/main/x")
		if err != nil && !strings.Contains(strings.ToLower(out), "conflict") {
			t.Fatalf("git merge: %v\n%s", err, out)
		}
	}
}

// ForkedTape is a tape of three phases, the last entry of which is not committed:
//
//	1 session/start  2 one  3 ran         committed with the handoff
//	4 build          5 two  6 three       5 committed by a checkpoint, 6 with the handoff
//	7 test           8 four
func ForkedTape(t *testing.T) (*repo.Store, *repo.Tape) {
	t.Helper()
	s := New(t, nil)
	m := Tape(t, s, "main")
	Append(t, m, repo.Message("user", "one"), repo.Event("ran", nil))
	Handoff(t, m, "build")
	Append(t, m, repo.Message("user", "two"))
	Checkpoint(t, m)
	Append(t, m, repo.Message("user", "three"))
	Handoff(t, m, "test")
	Append(t, m, repo.Message("user", "four"))
	return s, m
}
