package merge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/testkit/gitjudge"
	"tape/merge"
	"tape/repo"
	"tape/repo/view"
)

// TestContextCases runs testdata/context.txt, which other implementations can run, too.
func TestContextCases(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "context.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range strings.Split(strings.TrimSpace(string(text)), "\n\n")[1:] {
		name, steps, _ := strings.Cut(c, "\n")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contextCase(t, steps)
		})
	}
}

func contextCase(t *testing.T, steps string) {
	steps, want, _ := strings.Cut(steps, "=> ")
	remote := gitjudge.Bare(t)
	ann := begins(t, remote)
	ann.does("pushes")
	users := map[string]*user{"ann": ann, "bob": clones(t, remote)}
	shown := "main" // the tape whose context the case gives
	for line := range strings.Lines(steps) {
		who, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		if tape, ok := strings.CutPrefix(what, "looks "); ok {
			shown = tape
			continue
		}
		users[who].does(what)
	}
	var got []string
	for e, err := range ann.tape(shown).Context(t.Context()) {
		ann.ok(err)
		if e.Kind != repo.KindEvent {
			got = append(got, nameOf(e))
		}
	}
	if got := strings.Join(got, " | "); got != want {
		t.Errorf("the context is\n%s\nwant\n%s", got, want)
	}
	// Whoever has the same commits has the same context.
	ann.does("pulls")
	_, _, err := ann.tape("main").Checkpoint(t.Context())
	ann.ok(err)
	ann.does("pushes")
	ours, theirs := ann.context(), clones(t, remote).context()
	if ours != theirs {
		t.Errorf("the context of main is\n%s\nand in a clone\n%s", ours, theirs)
	}
	sound(t, ann.s.Dir())
}

func (u *user) context() string {
	u.Helper()
	c, err := view.Build(u.Context(), u.tape("main"), view.Options{})
	u.ok(err)
	return string(c.JSON())
}

// does takes a step of a case.
func (u *user) does(what string) {
	u.Helper()
	first, rest, _ := strings.Cut(what, " ")
	verb, text, _ := strings.Cut(rest, " ")
	var err error
	switch {
	case first == "pushes":
		_, err = u.s.Push(u.Context(), "origin", nil)
	case first == "pulls":
		_, err = merge.Pull(u.Context(), u.s, "origin", nil)
	case first == "merges":
		_, err = merge.Back(u.Context(), u.tape(rest))
	case first == "keeps":
		_, err = merge.BackWith(u.Context(), u.tape(rest), merge.Options{Keep: true})
	case first == "sums":
		_, err = merge.BackWith(u.Context(), u.tape(rest), merge.Options{Keep: true, Summary: "summary"})
	case first == "git-merges":
		err = byGit(u.Context(), u.tape(u.tape(rest).Parent()), u.tape(rest))
	case first == "git-updates":
		err = byGit(u.Context(), u.tape(rest), u.tape(u.tape(rest).Parent()))
	case first == "purges":
		_, err = u.tape("main").Purge(u.Context(), repo.PurgeOptions{IDs: []int64{2}, Whole: true})
	case verb == "says":
		u.says(first, text)
	case verb == "hands":
		u.handsOff(first, text)
	case verb == "forks":
		name, at, _ := strings.Cut(text, " ")
		_, err = u.tape(first).ForkAt(u.Context(), name, at)
	default:
		u.Fatalf("unknown step %q", what)
	}
	u.ok(err)
}
