package stdio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/git/disk"
)

// streams returns streams to a screen of so many cells; 0: to a pipe.
func streams(cells int) (s *Streams, out *bytes.Buffer) {
	out = &bytes.Buffer{}
	s = &Streams{Stdin: strings.NewReader(""), Stdout: out, Stderr: out, Out: bufio.NewWriter(out)}
	s.term = &terminal{Out: cells > 0, Width: cells}
	return s, out
}

// For people, a list is a table with numbers at the right, and with long names cut only on a screen. For programs, it
// is objects with their members in order.
func TestListing(t *testing.T) {
	type thing struct {
		name string
		n    int
	}
	list := Listing[thing]{Head: []string{"NAME", ">SIZE", "END"}, None: "nothing",
		Object: func(x thing) Object {
			return Object{{"name", x.name}, {"size", x.n}, {"all", []string(nil)}, {"none", OrNull("")}}.With("end", "").With("more", "<b>")
		},
		Row: func(x thing, add func(cells ...any)) { add(x.name, x.n, "e\x1b") }}
	long := strings.Repeat("x", 60)
	for _, c := range []struct {
		cells int
		json  bool
		items []thing
		want  string
	}{
		{0, false, nil, "nothing\n"},
		{0, true, nil, ""},
		{0, false, []thing{{"a", 1}, {"b", 200}}, "NAME  SIZE  END\na        1  e\\x1b\nb      200  e\\x1b\n"},
		{0, false, []thing{{long, 1}}, "NAME" + strings.Repeat(" ", 58) + "SIZE  END\n" + long + "     1  e\\x1b\n"},
		{100, false, []thing{{long, 1}}, "NAME" + strings.Repeat(" ", 46) + "SIZE  END\n" + long[:47] + "…     1  e\\x1b\n"},
		{0, true, []thing{{"a", 1}}, `{"name":"a","size":1,"all":[],"none":null,"more":"<b>"}` + "\n"},
	} {
		s, out := streams(c.cells)
		s.JSON = c.json
		if err := errors.Join(list.Show(s, c.items, nil), s.Flush()); err != nil || out.String() != c.want {
			t.Errorf("%+v: %v\n%s\nnot\n%s", c, err, out, c.want)
		}
	}
}

// On a narrow screen, a table leaves out the columns that are marked for that, and the others have room.
func TestNarrow(t *testing.T) {
	for cells, want := range map[int]string{
		0:  "NAME  N  DATE        COMMIT      TAG                             SUMMARY\nplan  7  2026-11-20  3ba9fb1971  anchor/a-long-name/002_compact  what was agreed on yesterday\n",
		90: "NAME  N  DATE        COMMIT      TAG                             SUMMARY\nplan  7  2026-11-20  3ba9fb1971  anchor/a-long-name/002_compact  what was agreed on yeste…\n",
		80: "NAME  N  DATE        COMMIT      SUMMARY\nplan  7  2026-11-20  3ba9fb1971  what was agreed on yesterday\n",
		50: "NAME  N  DATE        SUMMARY\nplan  7  2026-11-20  what was agreed on yesterday\n",
		40: "NAME  N  DATE        SUMMARY\nplan  7  2026-11-20  what was agreed on…\n",
	} {
		s, out := streams(cells)
		table := NewTable("~NAME", ">N", "DATE", "?COMMIT", "??TAG", "SUMMARY")
		table.Add("plan", 7, "2026-11-20", "3ba9fb1971", "anchor/a-long-name/002_compact", "what was agreed on yesterday")
		table.Write(s)
		if err := s.Flush(); err != nil || out.String() != want {
			t.Errorf("%d cells: %v\n%s\nnot\n%s", cells, err, out, want)
		}
	}
}

// Any answer but yes stops the command.
func TestConfirm(t *testing.T) {
	for answer, yes := range map[string]bool{"y\n": true, " Yes \n": true, "n\n": false, "\n": false, "": false, "yes": true} {
		s, out := streams(0)
		s.Stdin = strings.NewReader(answer)
		if err := s.Confirm(t.Context(), "Go %s?", "on"); (err == nil) != yes || !strings.HasPrefix(out.String(), "Go on? [y/N] ") {
			t.Errorf("the answer %q: %v after %q, want yes %v", answer, err, out, yes)
		}
	}
}

// A failed write leaves the old file, and nothing else. A successful one is durable, with its name.
func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	var did []disk.Op
	fail := disk.Op("")
	d := &disk.FS{Fault: func(op disk.Op, _ string) error {
		did = append(did, op)
		if op == fail {
			return errors.New("no")
		}
		return nil
	}}
	write := func(text string, err error) error {
		return ReplaceFile(d, name, func(w io.Writer) error {
			_, _ = w.Write([]byte(text))
			return err
		})
	}
	if err := write("one", nil); err != nil {
		t.Fatal(err)
	}
	if want := []disk.Op{disk.OpOpen, disk.OpWrite, disk.OpSync, disk.OpRename, disk.OpSyncDir}; !slices.Equal(did, want) {
		t.Errorf("it did %v, not %v", did, want)
	}
	if err := write("two", errors.New("no")); err == nil {
		t.Fatal("the error is lost")
	}
	want := "one"
	for _, fail = range []disk.Op{disk.OpWrite, disk.OpSync, disk.OpRename, disk.OpSyncDir} {
		if err := write("three", nil); err == nil {
			t.Errorf("the error of %s is lost", fail)
		}
		if fail == disk.OpSyncDir {
			want = "three" // it is there, though maybe not after a power cut
		}
		got, err := os.ReadFile(name)
		names, _ := os.ReadDir(dir)
		if string(got) != want || err != nil || len(names) != 1 {
			t.Errorf("after a failed %s the file has %q, %v, in a folder with %v; want %q alone", fail, got, err, names, want)
		}
	}
}

// An interrupted read of standard input returns, though nothing comes.
func TestInputInterrupted(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	in, end := NewInput(ctx, r)
	defer end()
	if _, err := in.Read(make([]byte, 10)); !errors.Is(err, context.Canceled) {
		t.Errorf("the interrupted read returns %v, want %v", err, context.Canceled)
	}
}

func TestReadDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"12h": 12 * time.Hour, "90d": 90 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "1h30m": 90 * time.Minute,
		"": 0, "d": 0, "-1d": 0, "0d": 0, "1.5d": 0, "99999999999999d": 0, "530w": 0, "soon": 0, "3": 0} {
		if got, err := ReadDuration(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}
