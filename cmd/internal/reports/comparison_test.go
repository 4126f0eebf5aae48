package reports

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/show/display"
	"tape/internal/store/about"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

func side(t *testing.T, s *repo.Store, name string, touches []index.Touch, drafts ...repo.Draft) ComparedSide {
	t.Helper()
	tp, err := s.CreateTape(t.Context(), name)
	storetest.Must(t, err)
	storetest.Append(t, tp, drafts...)
	r, err := s.Revision(t.Context(), tp, "")
	storetest.Must(t, err)
	return ComparedSide{Revision: r, Facts: about.Tape{Title: "Session " + name, Agent: "codex", Project: "/p"}, Touches: touches}
}

// show shows what differs, on a screen of a number of cells; 0: in a pipe.
func show(t *testing.T, width int, a, b ComparedSide) (string, bool) {
	t.Helper()
	out := &bytes.Buffer{}
	s := &stdio.Streams{Stdout: out, Stderr: out, Out: bufio.NewWriter(out), Getenv: func(string) string { return "" }, Now: time.Now}
	s.Screen().Width = width
	differ, err := ShowComparison(t.Context(), s, a, b)
	storetest.Must(t, err)
	storetest.Must(t, s.Flush())
	return out.String(), differ
}

// An equal prompt is shown once, with both answers; other prompts have a sign. Files are compared by their place in the
// project.
func TestShowComparison(t *testing.T) {
	s := storetest.New(t, nil)
	user, model := func(text string) repo.Draft { return repo.Message("user", text) }, func(text string) repo.Draft { return repo.Message("assistant", text) }
	a := side(t, s, "a", []index.Touch{{Path: "/p/x.go", Entry: 2, Writes: 1, Added: 3}, {Path: "/p/both.go", Entry: 2, Writes: 1, Added: 1, Removed: 1}, {Path: "/p/read.go", Entry: 2, Reads: 1}},
		user("fix it"), model("I look."), model("Done."), user("only here"), model("yes"), user("bye  now"), model("bye"))
	b := side(t, s, "b", []index.Touch{{Path: "/p/both.go", Entry: 2, Writes: 1, Added: 1, Removed: 1}, {Path: "/p/late.go", Entry: 99, Writes: 1}},
		user("fix it"), model("Not possible.\x1b[2J"), user("bye now"), model("bye"))
	const want = `--- Session a
    a: codex, 3 turns
+++ Session b
    b: codex, 2 turns

         fix it
- @4     Done.
+ @3     Not possible.\x1b[2J

- @5     only here
- @6     yes

         bye  now
         bye

files changed
  both.go  +1 -1
- x.go  +3 -0
`
	got, differ := show(t, 0, a, b)
	if got != want || !differ {
		t.Errorf("they differ: %v\n%s\nnot\n%s", differ, got, want)
	}
	if _, differ := show(t, 0, a, a); differ {
		t.Error("a session differs from itself")
	}
}

// On a screen, no line is wider than it.
func TestNarrow(t *testing.T) {
	s := storetest.New(t, nil)
	path := "/p/" + strings.Repeat("folder/", 10) + "x.go"
	a := side(t, s, "a", []index.Touch{{Path: path, Writes: 1, Added: 3}}, repo.Message("user", strings.Repeat("fix it ", 10)))
	b := side(t, s, "b", []index.Touch{{Path: path, Writes: 1, Added: 4}}, repo.Message("user", "stop"))
	got, _ := show(t, 40, a, b)
	for line := range strings.Lines(got) {
		if n := display.Width(strings.TrimSuffix(line, "\n")); n > 40 {
			t.Errorf("a line has %d cells on a screen of 40: %s", n, line)
		}
	}
	if strings.Count(got, " folder/") != 2 {
		t.Errorf("not the file of both sides:\n%s", got)
	}
}

// A session without a prompt, and one with thousands of turns, are compared, too.
func TestUneven(t *testing.T) {
	s := storetest.New(t, nil)
	none := side(t, s, "none", nil, repo.Event("run", nil))
	var drafts []repo.Draft
	for range 2100 {
		drafts = append(drafts, repo.Message("user", "again"))
	}
	many := side(t, s, "many", nil, drafts...)
	if got, differ := show(t, 0, none, many); !differ || bytes.Count([]byte(got), []byte("again")) != 2100 {
		t.Errorf("they differ: %v, %d turns; want 2100", differ, bytes.Count([]byte(got), []byte("again")))
	}
}
