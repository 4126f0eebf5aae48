package rows

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/store/about"
	"tape/internal/store/query"
	"tape/repo"
)

func streams() (s *stdio.Streams, out *bytes.Buffer) {
	out = &bytes.Buffer{}
	return &stdio.Streams{Stdin: strings.NewReader(""), Stdout: out, Stderr: out, Out: bufio.NewWriter(out),
		Now: func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }}, out
}

func said(id int64, text string) repo.Entry {
	return repo.Entry{ID: id, Kind: "message", Payload: []byte(`{"role":"user","content":"` + text + `"}`), Date: "2026-11-20T11:00:00Z",
		Anchor: "plan", AnchorSeq: 2, Raw: []byte(`{"id":1,"kind":"message","payload":{"role":"user","content":"` + text + `"},"date":"d"}`)}
}

// A hit is a line with its place, and the snippet below it; in JSON, the entry with more members.
func TestHit(t *testing.T) {
	s, out := streams()
	h := index.Hit{Entry: said(7, "a needle"), Snippet: "a needle\x1b", Spans: [][2]int{{2, 8}}, Similar: 3, Before: []repo.Entry{said(6, "before")}}
	Hit(s, h, "")
	SessionTitle(s, Heading{Title: "A title\x1b"})
	Hit(s, h, "main")
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	const want = `@6 message/user before
@7  message/user  1 hour ago  plan  and 3 like it
  a needle\x1b
A title\x1b
@6 message/user before
main@7  message/user  1 hour ago  plan  and 3 like it
  a needle\x1b
`
	if out.String() != want {
		t.Errorf("%s\nnot\n%s", out, want)
	}
	if got := string(HitJSON(h, "needl", Heading{})); !strings.Contains(got, `"snippet":"a needle\u001b","matches":[[2,8]],"similar":3,"instead":"needl","before":[{`) {
		t.Errorf("as JSON: %s", got)
	}
}

// Changes are below their phase, with a sign before each line; an edited entry has its old and new values.
func TestChanges(t *testing.T) {
	s, out := streams()
	v := &Changes{Streams: s, From: "old", To: "new"}
	for _, c := range []query.Change{{Kind: query.ChangeAdded, Entry: said(7, "more")}, {Kind: query.ChangeEdited, Entry: said(1, "is"), Old: said(1, "was")}} {
		if err := v.Show(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	const want = `--- old
+++ new

002 plan
+ @7     1 hour ago       message/user      more
~ @1     1 hour ago       message/user
    payload.content
    - was
    + is
`
	if out.String() != want {
		t.Errorf("%s\nnot\n%s", out, want)
	}
	if got := strings.Join(changeLines(1, said(1, "was").Raw, said(1, "is").Raw), "\n"); got != "  @1 edited\n    payload.content: \"was\" became \"is\"" {
		t.Errorf("the lines of an edited entry: %s", got)
	}
}

// Projects of one name in several workspaces have the folder above before it.
func TestProjectNames(t *testing.T) {
	tape := func(workspace, project, branch string) *Tape {
		return &Tape{Workspace: workspace, Tape: about.Tape{Project: project, Branch: branch}}
	}
	list := []*Tape{tape("a", "/w/shop", "wip"), tape("b", "/old/shop", "main"), tape("b", "/old/shop/.trees/x", "x"), tape("c", "/w/blog", ""), tape("c", "/w/blog", "")}
	list[2].ProjectLabel = "shop"
	name := projectNames(list)
	var got []string
	for _, one := range list {
		got = append(got, name(one))
	}
	if want := []string{"w/shop (wip)", "old/shop", "shop (x)", "blog", "blog"}; !slices.Equal(got, want) {
		t.Errorf("the projects are %q, not %q", got, want)
	}
}
