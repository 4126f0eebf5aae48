package repo

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/store/join"
	"tape/internal/store/layout"
)

// sharing makes a remote and two workspaces that have the same of it.
func sharing(t *testing.T) (a, b *Store) {
	t.Helper()
	a = testStore(t, nil)
	mustAppend(t, openTape(t, a, "main"), Message("user", "one"))
	mustHandoff(t, openTape(t, a, "main"), "second")
	remote := filepath.Join(t.TempDir(), "remote.git")
	runGit(t, a.Dir(), "init", "-q", "--bare", remote)
	mustDo(t, a.AddRemote(t.Context(), "origin", remote))
	mustPush(t, a, nil)
	return a, mustClone(t, remote)
}

func mustPull(t *testing.T, s *Store) {
	t.Helper()
	_, err := s.Fetch(t.Context(), "origin", nil)
	mustDo(t, err)
	mustDo(t, joined(t.Context(), s))
}

// Whoever has added it, and in whatever phase: who pulls has it, and nobody meets a conflict.
func TestPullArtifacts(t *testing.T) {
	for _, handoffs := range []bool{false, true} {
		t.Run(fmt.Sprintf("handoffs=%v", handoffs), func(t *testing.T) {
			alice, bob := sharing(t)
			const both = "the same in both"
			var mine [2]Artifact
			for i, s := range []*Store{alice, bob} {
				tp := openTape(t, s, "main")
				who := fmt.Sprint("who ", i)
				mine[i] = addArtifact(t, tp, "own", "content of "+who)
				mustAppend(t, tp, referTo(who, addArtifact(t, tp, "both", both)), referTo(who+" again", mine[i]))
				if handoffs {
					mustHandoff(t, tp, who)
					late := addArtifact(t, tp, "late", "late content of "+who)
					mustAppend(t, tp, referTo(who+" late", late, mine[i]))
				}
			}
			mustPush(t, alice, nil)
			mustPull(t, bob)
			mustPush(t, bob, nil)
			mustPull(t, alice)
			for _, s := range []*Store{alice, bob} {
				tp := openTape(t, s, "main")
				for i, a := range mine {
					wantArtifact(t, tp, a, fmt.Sprint("content of who ", i))
				}
				wantArtifact(t, tp, artifactNamed("both", both), both)
				if out := runGit(t, s.Dir(), "status", "--porcelain"); out != "" {
					t.Errorf("git status: %s", out)
				}
			}
			if got, want := mustPicture(t, alice), mustPicture(t, bob); got != want {
				t.Errorf("alice has\n%s\nbob has\n%s", got, want)
			}
		})
	}
}

func TestMergeBringsArtifacts(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	old := addArtifact(t, m, "old", "from before")
	mustAppend(t, m, referTo("one", old))
	mustHandoff(t, m, "second")
	x := mustFork(t, m, "x", "")
	own := addArtifact(t, x, "own", "of the fork")
	mustAppend(t, x, referTo("two", own), referTo("three", old))
	addArtifact(t, x, "loose", "nobody refers to it")
	mustHandoff(t, x, "in the fork")
	late := addArtifact(t, x, "late", "of its second phase")
	mustAppend(t, x, referTo("four", late, own))
	addArtifact(t, m, "loose", "nobody refers to it here, either")
	mustAppend(t, m, Message("user", "meanwhile"))
	for range 2 {
		_, err := join.Merge(t.Context(), x.in(), join.Options{Keep: true})
		mustDo(t, err)
		wantArtifact(t, m, own, "of the fork")
		wantArtifact(t, m, late, "of its second phase")
	}
	folder := filepath.Join(s.Dir(), layout.AnchorsDir, "003_in-the-fork", layout.ArtifactsDir)
	if names, _ := filepath.Glob(folder + "/*"); len(names) != 2 {
		t.Errorf("the fork's phase has %v", names)
	}
	mustDo(t, x.Discard(t.Context()))
	wantArtifact(t, m, late, "of its second phase")
}

// What git merges at a host has the artifacts as well once it is completed.
func TestMergeOfGitsBringsArtifacts(t *testing.T) {
	s := testStore(t, nil)
	twoSides(t, s)
	m, x := openTape(t, s, "main"), openTape(t, s, "main/x")
	own := addArtifact(t, x, "own", "of the fork")
	mustAppend(t, x, referTo("see", own))
	ours := addArtifact(t, m, "ours", "of the tape")
	mustAppend(t, m, referTo("see", ours))
	mustCheckpoint(t, m)
	mustCheckpoint(t, x)
	loose := addArtifact(t, m, "loose", "not committed when git merged")
	mustAppend(t, m, referTo("see", loose))
	mergeWithGit(t, s.Dir(), "host, our tree")
	wantArtifact(t, m, own, "of the fork")
	wantArtifact(t, m, ours, "of the tape")
	wantArtifact(t, m, loose, "not committed when git merged")
}

func TestForkBehindAnEntryHasItsArtifacts(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	first := addArtifact(t, m, "first", "first content")
	mustAppend(t, m, referTo("one", first), Message("user", "two"))
	f := mustFork(t, m, "x", "@2")
	wantArtifact(t, f, first, "first content")
	mustAppend(t, f, referTo("again", first))
	if _, err := s.GC(t.Context(), &GCOptions{Idle: -1}); err != nil {
		t.Fatal(err)
	}
	wantArtifact(t, f, first, "first content")
}

func TestPushFindsSecretsInArtifacts(t *testing.T) {
	alice, _ := sharing(t)
	tp := openTape(t, alice, "main")
	a := addArtifact(t, tp, "log", "line 1\ntoken "+testSecret("7")+"\n")
	mustAppend(t, tp, referTo("see", a))
	_, err := alice.Push(t.Context(), "origin", nil)
	if !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "artifacts/"+a.ID) {
		t.Errorf("push: %v", err)
	}
}

// An older version has to say that the tape is newer, whatever it looks at first.
func TestFormatOfTapesWithArtifacts(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	format := func(rev string) string {
		out, err := exec.Command("git", "-C", s.Dir(), "log", "-1", "--format=%(trailers:key=Tape-Format,valueonly)", rev).Output()
		mustDo(t, err)
		return strings.TrimSpace(string(out))
	}
	mustAppend(t, m, Message("user", "without"))
	mustHandoff(t, m, "second")
	if got := format("HEAD"); got != "1" {
		t.Errorf("without artifacts the format is %s", got)
	}
	mustAppend(t, m, referTo("with", addArtifact(t, m, "x", "y")))
	mustFork(t, m, "x", "")
	for _, rev := range []string{"HEAD", "fork/main/x"} {
		if got := format(rev); got != "2" {
			t.Errorf("with artifacts the format of %s is %s", rev, got)
		}
	}
	mustAppend(t, m, Message("user", "later"))
	mustHandoff(t, m, "third")
	mustHandoff(t, m, "fourth")
	if got := format("HEAD"); got != "2" {
		t.Errorf("behind artifacts the format is %s", got)
	}
}
