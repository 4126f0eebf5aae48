package cli

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/store/layout"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

const (
	one  = `{"kind":"message","payload":{"role":"user","content":"one"}}` + "\n"
	two  = `{"kind":"message","payload":{"role":"user","content":"two"}}` + "\n"
	bad  = `{"kind":"message","payload":[]}` + "\n"
	last = `{"kind":"message","payload":{"role":"user","content":"last"}}` // without a newline
)

func streams(in string) (s *stdio.Streams, out *bytes.Buffer) {
	out = &bytes.Buffer{}
	return &stdio.Streams{Stdin: strings.NewReader(in), Stdout: out, Stderr: out, Out: bufio.NewWriter(out),
		Getenv: func(string) string { return "" }, Now: time.Now, JSON: true}, out
}

// said returns the messages of a tape.
func said(t *testing.T, tp *repo.Tape) string {
	t.Helper()
	return strings.TrimSpace(strings.TrimPrefix(strings.Join(storetest.Said(t, tp), " "), "[session/start]"))
}

func options(partial bool) streamOptions {
	return streamOptions{Partial: partial}
}

// All lines are appended, or none. With Partial the valid ones are, and the others are listed by number.
func TestStream(t *testing.T) {
	for _, c := range []struct {
		in      string
		partial bool
		class   error
		texts   string // on the tape
		out     string
	}{
		{one + "\n" + two + last, false, nil, "one two last", `{"appended":3,"first_id":2,"last_id":4}`},
		{one + bad + two, false, repo.ErrInvalid, "", ""},
		{one + bad + two, true, repo.ErrInvalid, "one two", `"rejected":[{"line":2,"error":`},
		{"", false, nil, "", `{"appended":0,`},
	} {
		s := storetest.New(t, nil)
		tp := storetest.Tape(t, s, "main")
		st, out := streams(c.in)
		if err := appendStream(t.Context(), st, tp, options(c.partial)); !errors.Is(err, c.class) {
			t.Errorf("%q: error %v, want %v", c.in, err, c.class)
		}
		storetest.Must(t, st.Flush())
		if got := said(t, tp); got != c.texts {
			t.Errorf("%q: the tape says %q, not %q", c.in, got, c.texts)
		}
		if !strings.Contains(out.String(), c.out) {
			t.Errorf("%q: the output lacks %s: %s", c.in, c.out, out)
		}
	}
}

// Each line gets its answer, in order, and a bad line does not keep others from being appended.
func TestEach(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	st, out := streams(one + bad + two)
	if err := appendEach(t.Context(), st, tp, options(false)); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("with a bad line the error is %v, not ErrInvalid", err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || lines[0] != `{"id":2}` || !strings.Contains(lines[1], `"error":{"code":"usage","message":"line 2: `) || lines[2] != `{"id":3}` {
		t.Errorf("want the answers @2, an error of line 2, and @3: %s", out)
	}
	if got := said(t, tp); got != "one two" {
		t.Errorf("the tape says %q, not %q", got, "one two")
	}
}

// A file's type is guessed from its content, and a payload gets a reference to the artifact.
func TestArtifact(t *testing.T) {
	for content, want := range map[string]string{
		"plain\n": plainTextType, "\x89PNG\r\n\x1a\n…": "image/png", "\xff\xd8\xff\xe0": "image/jpeg", "GIF89a…": "image/gif", "%PDF-1.7": "application/pdf",
		"a\x00b": layout.AnyType, "text until \xff": layout.AnyType,
	} {
		if got := mediaTypeOf([]byte(content)); got != want {
			t.Errorf("%q is %s, not %s", content, got, want)
		}
	}
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	file := filepath.Join(t.TempDir(), "notes.txt")
	storetest.Must(t, os.WriteFile(file, []byte("plain\n"), 0o600))
	a, err := storeArtifact(t.Context(), tp, file, "")
	storetest.Must(t, err)
	if a.Name != "notes.txt" || a.MIMEType != plainTextType {
		t.Errorf("the artifact is %+v, want the name notes.txt and the type %s", a, plainTextType)
	}
	storetest.Append(t, tp, referTo(repo.Message("user", "see"), a))
	storetest.WantArtifact(t, tp, a, "plain\n")
	for payload, want := range map[string]string{`{}`: `{"artifact":`, `{"a":1} `: `{"a":1,"artifact":`, `[]`: `[]`} {
		if got := string(referTo(repo.Draft{Payload: []byte(payload)}, a).Payload); !strings.HasPrefix(got, want) {
			t.Errorf("%s becomes %s, want %s…", payload, got, want)
		}
	}
	for _, no := range []string{filepath.Dir(file), file + ".gone"} {
		if _, err := storeArtifact(t.Context(), tp, no, ""); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", no, err)
		}
	}
}
