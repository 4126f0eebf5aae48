package resolve_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"tape/internal/git/gitstore"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

func at(t *testing.T, s *repo.Store, h gitstore.Hash) *snapshot.Snapshot {
	t.Helper()
	v, err := snapshot.AtCommit(storetest.Inner(s), h)
	storetest.Must(t, err)
	return v
}

// grow adds to a tape, and commits.
func grow(t *testing.T, rng *rand.Rand, tp *repo.Tape, steps int) gitstore.Hash {
	t.Helper()
	for i := range steps {
		switch rng.IntN(6) {
		case 0:
			storetest.Handoff(t, tp, fmt.Sprint("phase ", rng.IntN(3)))
		case 1:
			storetest.Append(t, tp, repo.Event("ran", nil), repo.Draft{Kind: repo.KindToolCall, Payload: []byte(`{"calls":[]}`)})
		case 2:
			storetest.Append(t, tp, storetest.Big(60_000, tp.Name()))
		default:
			storetest.Append(t, tp, repo.Message("user", fmt.Sprint(tp.Name(), " ", i)))
		}
	}
	storetest.Append(t, tp, repo.Message("user", "the last one of "+tp.Name()))
	storetest.Checkpoint(t, tp)
	return storetest.Head(t, tp)
}

// A Builder that adds the lines of a later commit to an earlier one builds the tree that the writer made: both divide and
// seal files in the same way.
func TestBuilderWritesWhatTheWriterDoes(t *testing.T) {
	rng := testkit.Random(t)
	for range testkit.Size(4, 60) {
		s := storetest.New(t, nil)
		m := storetest.Tape(t, s, "main")
		from := at(t, s, grow(t, rng, m, rng.IntN(8)))
		to := at(t, s, grow(t, rng, m, rng.IntN(30)))
		b, err := resolve.NewBuilder(from, gitstore.HashObject)
		storetest.Must(t, err)
		if b.Tree() != from.RootTree {
			t.Errorf("with nothing added, the tree is %s, want %s", b.Tree(), from.RootTree)
		}
		half, added := (*resolve.Builder)(nil), 0
		for e, err := range to.After(t.Context(), from, "main") {
			storetest.Must(t, err)
			if half == nil && rng.IntN(4) == 0 {
				half, err = b.Clone()
				storetest.Must(t, err)
			}
			if half != nil { // the copy continues independently
				storetest.Must(t, half.AddLine(e.Raw))
			}
			storetest.Must(t, b.AddLine(e.Raw))
			added++
		}
		if got := b.Tree(); got != to.RootTree || b.Added != int64(added) {
			t.Errorf("adding %d of %d entries gives the tree %s, want %s", b.Added, added, got, to.RootTree)
		}
		if half != nil && half.Tree() != to.RootTree {
			t.Errorf("a clone made on the way gives the tree %s, want %s", half.Tree(), to.RootTree)
		}
	}
}

// merged returns the computed lines of merging theirs into a tape.
func merged(t *testing.T, m *repo.Tape, theirs gitstore.Hash, name string) ([][]byte, error) {
	t.Helper()
	head := storetest.Head(t, m)
	in, err := resolve.InputsOf(storetest.InnerTape(m), resolve.Side{Head: head, View: at(t, m.Store(), head)}, theirs, name)
	if err != nil {
		return nil, err
	}
	lines, err := in.Lines(t.Context())
	storetest.Must(t, err)
	return lines, nil
}

// The computed result of a merge is what the real merge then gives: the bytes of its lines and the tree of its commit. The
// tree of a merge commit made by git does not matter.
func TestComputedMergeIsTheMerge(t *testing.T) {
	rng := testkit.Random(t)
	for range testkit.Size(3, 60) {
		s := storetest.New(t, nil)
		m := storetest.Tape(t, s, "main")
		grow(t, rng, m, rng.IntN(6))
		f := storetest.Fork(t, m, "x", "")
		theirs := grow(t, rng, f, 1+rng.IntN(12))
		ours := grow(t, rng, m, rng.IntN(12))
		before := storetest.History(t, s.Dir())
		lines, err := merged(t, m, theirs, "main/x")
		storetest.Must(t, err)
		unnamed, err := merged(t, m, theirs, "") // found by the commits
		if err != nil || !bytes.Equal(bytes.Join(unnamed, nil), bytes.Join(lines, nil)) {
			t.Errorf("without the fork's name there are %d lines, want %d; %v", len(unnamed), len(lines), err)
		}
		byGit := storetest.Hash(t, storetest.Git(t, s.Dir(), "-c", "user.name=T", "-c", "user.email=t@example.org",
			"commit-tree", "tape/main^{tree}", "-p", ours.String(), "-p", theirs.String(), "-m", "Merge"))
		r, err := resolve.Resolve(t.Context(), storetest.InnerTape(m), byGit, gitstore.HashObject)
		storetest.Must(t, err)
		if after := storetest.History(t, s.Dir()); after != before {
			t.Fatalf("computing the merge changed refs from\n%s\nto\n%s", before, after)
		}
		storetest.Merge(t, f, join.Options{})
		now := storetest.Entries(t, m, repo.Query{Tail: repo.N(len(lines))})
		for i, e := range now {
			if !bytes.Equal(e.Raw, lines[i]) {
				t.Errorf("entry %d is\n%.200s, computed\n%.200s", e.ID, e.Raw, lines[i])
			}
		}
		head := storetest.Head(t, m)
		c, err := storetest.Inner(s).Git().Commit(head)
		storetest.Must(t, err)
		if !r.Raw || r.Good.Commit != ours || r.B.Tree() != c.Tree {
			t.Errorf("a merge by git gives raw %v on %s with the tree %s, want raw on %s with %s", r.Raw, r.Good.Commit, r.B.Tree(), ours, c.Tree)
		}
		if tree, err := resolve.MergedTree(t.Context(), storetest.InnerTape(m), c); err != nil || tree != c.Tree {
			t.Errorf("recomputed, the merge has the tree %s, want %s; %v", tree, c.Tree, err)
		}
		own, err := resolve.Resolve(t.Context(), storetest.InnerTape(m), head, gitstore.HashObject)
		if err != nil || own.Raw || own.Good.Commit != head {
			t.Errorf("our own merge gives raw %v on %s, %v; want it to need no completion", own.Raw, own.Good.Commit, err)
		}
		if again, err := merged(t, m, theirs, "main/x"); err != nil || len(again) > 0 {
			t.Errorf("merging again gives %d lines, %v; want none", len(again), err)
		}
	}
}

// A side whose history was changed is refused, and the error has the first difference.
func TestChangedHistoryIsRefused(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "one"))
	f := storetest.Fork(t, m, "x", "")
	storetest.Append(t, f, repo.Message("user", "own"))
	storetest.Checkpoint(t, f)
	theirs, head := storetest.Head(t, f), storetest.Head(t, m)
	first := storetest.Git(t, s.Dir(), "rev-list", "--max-parents=0", "tape/main")
	changed := storetest.Hash(t, storetest.Git(t, s.Dir(), "-c", "user.name=T", "-c", "user.email=t@example.org",
		"commit-tree", first+"^{tree}", "-p", head.String(), "-m", "an entry is gone"))
	for name, c := range map[string]struct{ ours, theirs gitstore.Hash }{"main": {changed, theirs}, "main/x": {head, changed}} {
		other := ""
		if name == "main" {
			other = "main/x"
		}
		_, err := resolve.InputsOf(storetest.InnerTape(m), resolve.Side{Head: c.ours, View: at(t, s, c.ours)}, c.theirs, other)
		var rewritten *resolve.RewrittenError
		if !errors.As(err, &rewritten) || !errors.Is(err, layout.ErrConflict) || len(layout.Hints(err)) == 0 {
			t.Fatalf("%s: %v, want a RewrittenError with hints", name, err)
		}
		if !bytes.Contains(rewritten.Base[0], []byte(`"one"`)) || rewritten.Base[1] != nil {
			t.Errorf("%s: the first difference is %s, now %s; want \"one\", now missing", name, rewritten.Base[0], rewritten.Base[1])
		}
	}
	strange := storetest.Hash(t, storetest.Git(t, s.Dir(), "-c", "user.name=T", "-c", "user.email=t@example.org",
		"commit-tree", first+"^{tree}", "-m", "of its own"))
	if _, err := merged(t, m, strange, ""); !errors.Is(err, layout.ErrConflict) {
		t.Errorf("merging an unrelated history: %v, want ErrConflict", err)
	}
}

// Before a completion comes the newest commit that needs none: the completed merge is skipped.
func TestPrevious(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.CommittedSides(t, s)
	ours := storetest.Head(t, m)
	storetest.MergeWithGit(t, s.Dir(), "host, our tree")
	storetest.Entries(t, m, repo.Query{}) // completes the merge
	in := storetest.InnerTape(m)
	c, err := in.Store().Git().Commit(storetest.Head(t, m))
	storetest.Must(t, err)
	if h, ok, err := resolve.Previous(in, c); err != nil || !ok || h != ours {
		t.Errorf("before the completion is %s, %v, %v; want %s", h, ok, err, ours)
	}
	first, err := in.Store().Git().Commit(storetest.Hash(t, storetest.Git(t, s.Dir(), "rev-list", "--max-parents=0", "tape/main")))
	storetest.Must(t, err)
	if h, ok, err := resolve.Previous(in, first); err != nil || ok {
		t.Errorf("before the first commit is %s, %v; want none", h, err)
	}
}
