package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/workspace"
	"testing"

	"tape/internal/testkit"
	"tape/repo"
)

// drawn draws a history, given as commits with their parents, the newest first. The one
// in capitals is where the tape itself ends.
func drawn(t *testing.T, commits string) string {
	t.Helper()
	a, _, _ := testApp(testkit.Clock())
	l := newLanes(a)
	var out []string
	for _, line := range strings.Split(commits, ";") {
		words := strings.Fields(line)
		id := strings.ToLower(words[0])
		out = append(out, l.arrive(id, id != words[0])...)
		mark, _ := l.mark()
		out = append(out, mark+" "+id)
		out = append(out, l.leave(words[1:])...)
	}
	return strings.Join(out, "\n")
}

func TestLanes(t *testing.T) {
	for _, c := range []struct{ commits, want string }{
		{"B a; a", `
* b
* a`},
		// An open fork, whose end is the newest.
		{"x a; B a; a", `
  * x
* | b
|/
* a`},
		// A merged fork.
		{"M b x; x a; b a; a", `
* m
|\
| * x
* | b
|/
* a`},
		// A fork of a fork, merged into it.
		{"M a x; x f y; y f; f a; a", `
* m
|\
| * x
| |\
| | * y
| |/
| * f
|/
* a`},
		// A lane goes over to one that is not beside it.
		{"x a; y b; D b; z b; b a; a", `
  * x
  | * y
* | | d
| | | * z
| |/ /
|/| |
| |/
|/|
* | b
|/
* a`},
		// Two roots.
		{"x r; B a; a; r", `
  * x
* | b
* | a
 /
* r`},
	} {
		if got := drawn(t, c.commits); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s is drawn as\n%s", c.commits, got)
		}
	}
}

// Of any history, each commit is shown once and before its parents, and no lane is open
// at the end.
func TestGraph(t *testing.T) {
	rnd := testkit.Random(t)
	w, _ := grown(t, rnd, testkit.Size(20, 300), func(tp *repo.Tape, i int) error {
		_, err := tp.Append(t.Context(), nil, repo.Message("user", "text"))
		if err != nil {
			return err
		}
		switch n := rnd.IntN(8); {
		case n == 0 && tp.IsFork():
			_, err = join.Merge(t.Context(), (*workspace.Tape)(tp), join.Options{Keep: rnd.IntN(2) == 0})
		case n < 3:
			_, err = tp.Fork(t.Context(), fmt.Sprint("f", i))
		case n < 5:
			_, err = tp.Handoff(t.Context(), repo.Anchor{Name: "phase"})
		default:
			_, _, err = tp.Checkpoint(t.Context())
		}
		return err
	})
	var shown []string
	for line := range strings.Lines(w.must("log", "--graph", "--json")) {
		var c struct {
			Commit  string
			Parents []string
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Parents {
			if slices.Contains(shown, p) {
				t.Errorf("%s comes after its parent %s", c.Commit, p)
			}
		}
		shown = append(shown, c.Commit)
	}
	out, err := exec.CommandContext(t.Context(), "git", "-C", w.dir, "rev-list", "--branches").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(out))
	first := slices.Clone(shown)
	slices.Sort(all)
	slices.Sort(first)
	if !slices.Equal(all, first) {
		t.Errorf("%d commits are shown, git has %d", len(shown), len(all))
	}
	graph := w.must("log", "--graph")
	if got := strings.Count(graph, "*"); got != len(all) {
		t.Errorf("%d of %d commits are drawn:\n%s", got, len(all), graph)
	}
	rows := strings.Split(strings.TrimRight(graph, "\n"), "\n")
	if last := rows[len(rows)-1]; !strings.HasPrefix(last, "* ") {
		t.Errorf("it ends with %q:\n%s", last, graph)
	}
	if got := strings.Count(w.must("log", "--graph", "-n", "3"), "*"); got != 3 {
		t.Errorf("-n 3 shows %d commits", got)
	}
}

// A fork that is closed while the forks are listed is left out, and the others are shown.
func TestForksClosedBesideTheList(t *testing.T) {
	store, _, err := repo.Init(t.Context(), t.TempDir()+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := store.Tape(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 8; n++ {
		f, err := m.Fork(t.Context(), fmt.Sprintf("x%d", n))
		if err != nil {
			t.Fatal(err)
		}
		ctx := testkit.AtLook(t.Context(), n, func() {
			if err := f.Discard(t.Context()); err != nil {
				t.Error(err)
			}
		})
		a, _, _ := testApp(testkit.Clock())
		stdout := &bytes.Buffer{}
		a.out = bufio.NewWriterSize(stdout, 16)
		o := &forksOptions{App: a, closed: true, all: true}
		if err := o.run(ctx, store, nil); err != nil {
			t.Errorf("closed at look %d: %v", n, err)
		}
		if n > 1 && !strings.Contains(stdout.String(), "main/x1 ") {
			t.Errorf("closed at look %d: the list is\n%s", n, stdout)
		}
	}
}
