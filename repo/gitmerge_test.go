package repo

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"tape/internal/store/join"
	"tape/internal/testkit"
	"testing"
)

// However git merges a fork (its own way, stopping at conflicts, or with whatever tree a
// host's merge button makes of it), the branch ends with the tree that Tape.Merge gives.
func TestSoakGitMergeEndsAsOurs(t *testing.T) {
	rng := testkit.Random(t)
	for range testkit.Size(2, 100) {
		dir := filepath.Join(t.TempDir(), "a")
		forkedHistory(t, rng, dir)
		want := mergedTreeOf(t, dir)
		for _, how := range []string{"git merge", "host, their tree", "host, our tree", "before the tool looks"} {
			other := filepath.Join(t.TempDir(), "b")
			copyTree(t, dir, other)
			mergeWithGit(t, other, how)
			s := reopen(t, other)
			m := openTape(t, s, "main")
			if _, err := os.Stat(filepath.Join(other, ".git", "MERGE_HEAD")); err == nil {
				if _, err := collect(t.Context(), m, Query{}); err != nil {
					t.Fatalf("reading during a merge: %v", err)
				}
				if _, err := join.ContinueMerge(t.Context(), m.in()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := collect(t.Context(), m, Query{}); err != nil {
				t.Fatalf("%s: %v", how, err)
			}
			if got := runGit(t, other, "rev-parse", "tape/main^{tree}"); got != want {
				t.Fatalf("%s ends with the tree %s, not with %s:\n%s", how, got, want, runGit(t, other, "diff", "--stat", want, got))
			}
			wantClean(t, other)
			healthy(t, other)
		}
	}
}

// What is recorded while git waits for somebody to resolve a conflict is kept: it comes
// before what is merged.
func TestSoakRecordingDuringAConflict(t *testing.T) {
	rng := testkit.Random(t)
	kept := 0
	for range testkit.Size(4, 60) {
		dir := filepath.Join(t.TempDir(), "a")
		forkedHistory(t, rng, dir)
		mergeWithGit(t, dir, "git merge")
		if _, err := os.Stat(filepath.Join(dir, ".git", "MERGE_HEAD")); err != nil {
			continue
		}
		s := reopen(t, dir)
		m := openTape(t, s, "main")
		before := len(entriesOf(t, m, Query{}))
		if _, err := m.Append(t.Context(), nil, Message("user", "meanwhile")); err != nil {
			wantIs(t, err, ErrConflict) // git has written into the open phase
		} else {
			kept++
			before++
			if got := entriesOf(t, m, Query{Tail: N(1)}); string(got[0].Payload) != `{"role":"user","content":"meanwhile"}` {
				t.Errorf("the last entry is %s", got[0].Raw)
			}
		}
		merged, err := join.ContinueMerge(t.Context(), m.in())
		if err != nil {
			t.Fatal(err)
		}
		after := entriesOf(t, m, Query{})
		if merged.Merged == 0 || len(after) != before+merged.Merged || merged.FirstID != int64(before)+1 {
			t.Errorf("%d entries became %d, %+v", before, len(after), merged)
		}
		wantClean(t, dir)
		healthy(t, dir)
	}
	t.Logf("%d entries were recorded during a conflict", kept)
}

// forkedHistory makes a workspace whose tape main and its fork x have both gone on.
func forkedHistory(t *testing.T, rng *rand.Rand, dir string) {
	s, _, err := Init(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := openTape(t, s, "main")
	grow := func(tp *Tape, steps int) {
		for i := range steps {
			switch rng.IntN(6) {
			case 0:
				mustHandoff(t, tp, fmt.Sprintf("phase-%d", rng.IntN(3)))
			case 1:
				mustAppend(t, tp, Event("ran", nil))
			case 2:
				mustAppend(t, tp, big(60_000, tp.Name()))
			case 3:
				mustCheckpoint(t, tp)
			default:
				mustAppend(t, tp, Message("user", fmt.Sprintf("%s %d", tp.Name(), i)))
			}
		}
		mustCheckpoint(t, tp)
	}
	grow(m, rng.IntN(10))
	f, err := m.Fork(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	grow(f, 1+rng.IntN(12))
	mustAppend(t, f, Message("user", "at least this"))
	mustCheckpoint(t, f)
	grow(m, rng.IntN(12))
	mustAppend(t, m, Event("so that git does not just go forward", nil))
	mustCheckpoint(t, m)
}

func mergedTreeOf(t *testing.T, dir string) string {
	other := filepath.Join(t.TempDir(), "m")
	copyTree(t, dir, other)
	s := reopen(t, other)
	if _, err := join.Merge(t.Context(), openTape(t, s, "main/x").in(), join.Options{}); err != nil {
		t.Fatal(err)
	}
	healthy(t, other)
	return runGit(t, other, "rev-parse", "tape/main^{tree}")
}

func mergeWithGit(t *testing.T, dir, how string) {
	commit := func(tree string) {
		out := runGit(t, dir, "-c", "user.name=Host", "-c", "user.email=host@example.org", "commit-tree", tree, "-p", "tape/main", "-p", "fork/main/x", "-m", "Merge branch 'fork/main/x'")
		runGit(t, dir, "update-ref", "refs/heads/tape/main", out)
	}
	switch how {
	case "host, their tree":
		commit("fork/main/x^{tree}")
		runGit(t, dir, "reset", "-q", "--hard")
	case "host, our tree":
		commit("tape/main^{tree}")
	case "before the tool looks":
		commit("tape/main^{tree}")
		runGit(t, dir, "pack-refs", "--all")
	default:
		// It may stop at a conflict: there is no tape on the PATH to merge files.
		git, err := exec.LookPath("git")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("git", "-c", "user.name=A", "-c", "user.email=a@example.org", "merge", "--no-ff", "-q", "-m", "by hand", "fork/main/x")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(git))
		out, err := cmd.CombinedOutput()
		if err != nil && !strings.Contains(string(out), "CONFLICT") && !strings.Contains(string(out), "conflict") {
			t.Fatalf("git merge: %v\n%s", err, out)
		}
	}
}
