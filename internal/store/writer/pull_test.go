package writer_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// sharing makes a workspace, a remote that it pushes to, and a clone of the remote.
func sharing(t *testing.T) (a, b *repo.Store) {
	t.Helper()
	a = storetest.New(t, nil)
	storetest.Append(t, storetest.Tape(t, a, "main"), repo.Message("user", "one"))
	storetest.Handoff(t, storetest.Tape(t, a, "main"), "second")
	remote := storetest.Remote(t, a)
	storetest.Push(t, a, nil)
	return a, storetest.Clone(t, remote)
}

func mustPull(t *testing.T, s *repo.Store) {
	t.Helper()
	_, err := s.Fetch(t.Context(), "origin", nil)
	storetest.Must(t, err)
	storetest.Must(t, storetest.Join(t.Context(), s))
}

// A pull brings artifacts without conflicts, no matter who added them and in which phase.
func TestPullArtifacts(t *testing.T) {
	for _, handoffs := range []bool{false, true} {
		t.Run(fmt.Sprintf("handoffs=%v", handoffs), func(t *testing.T) {
			alice, bob := sharing(t)
			const both = "the same in both"
			var mine [2]repo.Artifact
			for i, s := range []*repo.Store{alice, bob} {
				tp := storetest.Tape(t, s, "main")
				who := fmt.Sprint("who ", i)
				mine[i] = storetest.AddArtifact(t, tp, "own", "content of "+who)
				storetest.Append(t, tp, storetest.ReferTo(who, storetest.AddArtifact(t, tp, "both", both)), storetest.ReferTo(who+" again", mine[i]))
				if handoffs {
					storetest.Handoff(t, tp, who)
					late := storetest.AddArtifact(t, tp, "late", "late content of "+who)
					storetest.Append(t, tp, storetest.ReferTo(who+" late", late, mine[i]))
				}
			}
			storetest.Push(t, alice, nil)
			mustPull(t, bob)
			storetest.Push(t, bob, nil)
			mustPull(t, alice)
			for _, s := range []*repo.Store{alice, bob} {
				tp := storetest.Tape(t, s, "main")
				for i, a := range mine {
					storetest.WantArtifact(t, tp, a, fmt.Sprint("content of who ", i))
				}
				storetest.WantArtifact(t, tp, storetest.ArtifactNamed("both", both), both)
				if out := storetest.Git(t, s.Dir(), "status", "--porcelain"); out != "" {
					t.Errorf("git status: %s", out)
				}
			}
			if got, want := storetest.Picture(t, alice), storetest.Picture(t, bob); got != want {
				t.Errorf("alice has\n%s\nbob has\n%s", got, want)
			}
		})
	}
}

func TestMergeBringsArtifacts(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	old := storetest.AddArtifact(t, m, "old", "from before")
	storetest.Append(t, m, storetest.ReferTo("one", old))
	storetest.Handoff(t, m, "second")
	x := storetest.Fork(t, m, "x", "")
	own := storetest.AddArtifact(t, x, "own", "of the fork")
	storetest.Append(t, x, storetest.ReferTo("two", own), storetest.ReferTo("three", old))
	storetest.AddArtifact(t, x, "loose", "nobody refers to it")
	storetest.Handoff(t, x, "in the fork")
	late := storetest.AddArtifact(t, x, "late", "of its second phase")
	storetest.Append(t, x, storetest.ReferTo("four", late, own))
	storetest.AddArtifact(t, m, "loose", "nobody refers to it here, either")
	storetest.Append(t, m, repo.Message("user", "meanwhile"))
	for range 2 {
		_, err := join.Merge(t.Context(), storetest.InnerTape(x), join.Options{Keep: true})
		storetest.Must(t, err)
		storetest.WantArtifact(t, m, own, "of the fork")
		storetest.WantArtifact(t, m, late, "of its second phase")
	}
	folder := filepath.Join(s.Dir(), layout.AnchorsDir, "003_in-the-fork", layout.ArtifactsDir)
	if names, _ := filepath.Glob(folder + "/*"); len(names) != 2 {
		t.Errorf("the fork's phase has the artifacts %v, want 2", names)
	}
	storetest.Must(t, x.Discard(t.Context()))
	storetest.WantArtifact(t, m, late, "of its second phase")
}

// A merge that was made at a git host brings the artifacts, too, and keeps uncommitted ones.
func TestMergeByGitBringsArtifacts(t *testing.T) {
	s := storetest.New(t, nil)
	storetest.TwoSides(t, s)
	m, x := storetest.Tape(t, s, "main"), storetest.Tape(t, s, "main/x")
	own := storetest.AddArtifact(t, x, "own", "of the fork")
	storetest.Append(t, x, storetest.ReferTo("see", own))
	ours := storetest.AddArtifact(t, m, "ours", "of the tape")
	storetest.Append(t, m, storetest.ReferTo("see", ours))
	storetest.Checkpoint(t, m)
	storetest.Checkpoint(t, x)
	loose := storetest.AddArtifact(t, m, "loose", "not committed when git merged")
	storetest.Append(t, m, storetest.ReferTo("see", loose))
	storetest.MergeWithGit(t, s.Dir(), "host, our tree")
	storetest.WantArtifact(t, m, own, "of the fork")
	storetest.WantArtifact(t, m, ours, "of the tape")
	storetest.WantArtifact(t, m, loose, "not committed when git merged")
}

func TestForkAtAnEntryHasItsArtifacts(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	first := storetest.AddArtifact(t, m, "first", "first content")
	storetest.Append(t, m, storetest.ReferTo("one", first), repo.Message("user", "two"))
	f := storetest.Fork(t, m, "x", "@2")
	storetest.WantArtifact(t, f, first, "first content")
	storetest.Append(t, f, storetest.ReferTo("again", first))
	if _, err := s.GC(t.Context(), &repo.GCOptions{Idle: -1}); err != nil {
		t.Fatal(err)
	}
	storetest.WantArtifact(t, f, first, "first content")
}

// All commits since the first artifact have format 2, so that older versions refuse the tape as too new.
func TestFormatOfTapesWithArtifacts(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	format := func(rev string) string {
		out, err := exec.Command("git", "-C", s.Dir(), "log", "-1", "--format=%(trailers:key=Tape-Format,valueonly)", rev).Output()
		storetest.Must(t, err)
		return strings.TrimSpace(string(out))
	}
	storetest.Append(t, m, repo.Message("user", "without"))
	storetest.Handoff(t, m, "second")
	if got := format("HEAD"); got != "1" {
		t.Errorf("without artifacts the format is %s, want 1", got)
	}
	storetest.Append(t, m, storetest.ReferTo("with", storetest.AddArtifact(t, m, "x", "y")))
	storetest.Fork(t, m, "x", "")
	for _, rev := range []string{"HEAD", "fork/main/x"} {
		if got := format(rev); got != "2" {
			t.Errorf("with artifacts the format of %s is %s, want 2", rev, got)
		}
	}
	storetest.Append(t, m, repo.Message("user", "later"))
	storetest.Handoff(t, m, "third")
	storetest.Handoff(t, m, "fourth")
	if got := format("HEAD"); got != "2" {
		t.Errorf("two phases later the format is %s, want 2", got)
	}
}
