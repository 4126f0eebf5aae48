package reports

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/git/projectgit"
	"tape/internal/sessions/trace"
)

// TestShow: the first lines of a commit are followed by the turn that led to it, and by how certain that is. The last
// line names the command that shows more.
func TestShow(t *testing.T) {
	out := &bytes.Buffer{}
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	o := &view{file: "a.go", Streams: &stdio.Streams{Stdin: strings.NewReader(""), Stdout: out, Stderr: out, Out: bufio.NewWriter(out), Now: func() time.Time { return at }}}
	c := &projectgit.Commit{ID: strings.Repeat("ab", 20), Subject: "add it", Author: "Ada", Authored: at}
	turn := trace.Turn{Tape: "main", Title: "A title", Prompt: "do it", First: 2, Last: 5, How: trace.Probably}
	list := []blamed{
		{Run: projectgit.Run{First: 1, Last: 2, Commit: c}, turns: []trace.Turn{turn}},
		{Run: projectgit.Run{First: 3, Last: 3, Commit: &projectgit.Commit{}}, unknown: unknownCommit{"not_committed", "not committed yet"}},
		{Run: projectgit.Run{First: 10, Last: 10, Commit: c}, turns: []trace.Turn{turn}},
	}
	if err := o.show(list); err != nil {
		t.Fatal(err)
	}
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	const want = `1-2  abababababab  2026-11-20  add it
     > do it
     tape main  @2 to @5  A title
     probably: the commit was rebased or amended since
10   abababababab  2026-11-20  add it
1 line without a session: not committed yet
tape log --commit abababababab shows all that was said before the commit
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	const object = `{"file":"a.go","first_line":3,"last_line":3,"commit":null,"turns":[],"unknown":"not_committed"}`
	if got := string(stdio.Marshal(list[1].object("a.go"))); got != object {
		t.Errorf("got  %s\nwant %s", got, object)
	}
}
