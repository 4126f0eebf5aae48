package reports

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/sessions/trace"
)

func used(tape, path string, writes, added int64, day int) FileRow {
	return FileRow{FileUse: index.FileUse{Tape: tape, Path: path, Writes: writes, Added: added, Last: time.Date(2026, 11, day, 9, 0, 0, 0, time.UTC)}, Title: "about " + tape}
}

func streams() (s *stdio.Streams, out, messages *bytes.Buffer) {
	out, messages = &bytes.Buffer{}, &bytes.Buffer{}
	return &stdio.Streams{Out: bufio.NewWriter(out), Stderr: messages, Now: func() time.Time { return time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC) },
		Getenv: func(name string) string { return map[string]string{"HOME": "/home/mei"}[name] }}, out, messages
}

// Each session has one row with the sums of its files; the latest session comes first.
func TestShowFiles(t *testing.T) {
	s, out, _ := streams()
	rows := []FileRow{used("s1", "/p/a.go", 1, 2, 20), used("s2", "/p/a.go", 0, 0, 22), used("s1", "/p/b.go", 2, 3, 21)}
	if err := ShowFiles(s, rows, false, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Out.Flush(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{"SESSION TAPE LAST FILES READ WRITTEN LINES", "about s2 s2 8d ago 1", "about s1 s1 9d ago 2 3 +5"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("it shows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Edits of several workspaces have a column with the project, which a cut path does not hide.
func TestEditsOfProjects(t *testing.T) {
	s, out, _ := streams()
	rows := []FileRow{used("s1", "/p/shop/a.go", 1, 2, 20), used("s2", "/p/blog/a.go", 1, 1, 22)}
	for i, name := range []string{"shop", "blog"} {
		rows[i].Workspace, rows[i].Project, rows[i].name = "/w/"+name, "/p/"+name, name
	}
	if err := ShowFileEdits(s, rows, 20, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Out.Flush(); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	if want := "PROJECT FILE LINES LAST TAPE SESSION blog a.go +1 8d ago s2 about s2 shop a.go +2 10d ago s1 about s1"; got != want {
		t.Errorf("it shows %s\nwant %s", got, want)
	}
}

// If no session used a file, people see those that used files of its name; programs see nothing.
func TestFindByName(t *testing.T) {
	file := &trace.File{Name: "/elsewhere/a.go", Names: []string{"/elsewhere/a.go"}}
	rows := func(f *trace.File) ([][]FileRow, error) {
		var found []FileRow
		for _, r := range []FileRow{used("s1", "/home/mei/p/a.go", 1, 2, 20), used("s1", "/home/mei/p/ba.go", 1, 2, 20)} {
			if f.Is(r.Path) {
				found = append(found, r)
			}
		}
		return [][]FileRow{nil, found}, nil
	}
	s, _, messages := streams()
	found, err := FindFile(s, file, rows)
	if err != nil || len(found) != 1 || found[0].Path != "/home/mei/p/a.go" {
		t.Errorf("found %v, %v; want the use of the file with that name", found, err)
	}
	if want := "no session read or wrote /elsewhere/a.go; files of that name elsewhere: ~/p/a.go\n"; messages.String() != want {
		t.Errorf("it says %q, want %q", messages, want)
	}
	s.JSON = true
	if found, err := FindFile(s, file, rows); err != nil || len(found) != 0 {
		t.Errorf("with --json: %v, %v; want nothing", found, err)
	}
}

// TestEditsOfLongPaths: a path that is cut keeps the name of the file, also on a wide screen.
func TestEditsOfLongPaths(t *testing.T) {
	for _, cells := range []int{80, 120, 200} {
		s, out, _ := streams()
		s.Screen().Width = cells
		row := used("s1", "/p/shop/"+strings.Repeat("folder/", 12)+"cart.go", 1, 2, 20)
		row.Project = "/p/shop"
		if err := ShowFileEdits(s, []FileRow{row}, 20, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Out.Flush(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "/cart.go  +2") {
			t.Errorf("on %d cells it shows\n%s", cells, out)
		}
	}
}

// TestEditsOfLongProjects: the long name of a project leaves room for the other columns.
func TestEditsOfLongProjects(t *testing.T) {
	for _, show := range []func(*stdio.Streams, []FileRow) error{
		func(s *stdio.Streams, rows []FileRow) error { return ShowFileEdits(s, rows, 20, nil) },
		func(s *stdio.Streams, rows []FileRow) error { return ShowFiles(s, rows, false, nil, nil) },
	} {
		s, out, _ := streams()
		s.Screen().Width = 80
		rows := []FileRow{used("s1", "/p/shop/cart.go", 1, 2, 20), used("s2", "/p/blog/cart.go", 1, 1, 22)}
		rows[0].Workspace, rows[0].name = "/w/shop", strings.Repeat("shop-", 20)
		rows[1].Workspace, rows[1].name = "/w/blog", "blog"
		if err := show(s, rows); err != nil {
			t.Fatal(err)
		}
		if err := s.Out.Flush(); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "about s"); n != 2 || !strings.Contains(out.String(), "+2") || !strings.Contains(out.String(), "d ago") {
			t.Errorf("on 80 cells it shows\n%s", out)
		}
	}
}
