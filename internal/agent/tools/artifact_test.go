//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"tape/hooks"
	"tape/repo"
)

func newArtifacts(t *testing.T) (*env, *repo.Tape) {
	tp := newTape(t)
	return newEnv(t, func(o *Options) {
		o.Tape = func(_ context.Context, c hooks.ToolContext) (*repo.Tape, error) {
			if c.Session != "s" {
				return nil, errors.New("the disk is full")
			}
			return tp, nil
		}
	}), tp
}

func (e *env) keep(text string) string {
	text, _ = e.Keep(e.t.Context(), hooks.ToolContext{Session: "s"}, "bash", text)
	return text
}

func TestKeep(t *testing.T) {
	t.Parallel()
	e, tp := newArtifacts(t)
	for _, text := range []string{"", "short", strings.Repeat("ä", LongestResult)} {
		if got := e.keep(text); got != text {
			t.Errorf("a short result is changed to %q", clip(got, 200))
		}
	}
	if list, err := tp.Artifacts(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("short results are artifacts: %v %v", list, err)
	}
	// Tokens of well-known shapes, in text and in JSON.
	token := "ghp_" + "q3Rt7Yw9ZxCvBnMaSdFgHjKl4pOiUy2TrE1W"
	text := "begin " + token + strings.Repeat(" ä\n", LongestResult/2) + `{"token":"` + token + `"} end`
	got, a := e.Keep(t.Context(), hooks.ToolContext{Session: "s"}, "bash", text)
	contains(t, got, "begin [redacted:github-token:", "artifact "+a.ID[:shownOfID], "artifact.read", "end", "[… ")
	r, err := tp.Artifact(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if stored := string(raw); err != nil || strings.Contains(stored, token) || strings.Count(stored, "[redacted:") != 2 || !strings.HasSuffix(stored, "end") || a.Size != int64(len(stored)) {
		t.Errorf("the artifact has %d bytes, not %d, or its tokens are not masked (%v): %s … %s", len(stored), a.Size, err, stored[:200], stored[len(stored)-200:])
	}
	if n := utf8.RuneCountInString(got); n > previewChars+400 {
		t.Errorf("the preview has %d characters", n)
	}
	if again := e.keep(got); again != got {
		t.Error("a preview became an artifact again")
	}
	// The tape knows an artifact's name and type from the entry that refers to it.
	if _, err := tp.Append(t.Context(), nil, repo.Draft{Kind: repo.KindToolResult, Payload: []byte(`{"results":["x"],"artifact":` + string(a.Reference()) + `}`)}); err != nil {
		t.Fatal(err)
	}
	if list, err := tp.Artifacts(t.Context()); err != nil || len(list) != 1 || list[0].Name != "bash" || !strings.HasPrefix(list[0].MIMEType, "text/plain") {
		t.Errorf("the artifacts of the tape are %v, %v; want one of bash, as text/plain", list, err)
	}
	got, a = e.Keep(t.Context(), hooks.ToolContext{Session: "other"}, "bash", text)
	if contains(t, got, "could not be kept: the disk is full", "begin [redacted:"); a != nil {
		t.Errorf("the artifact could not be stored, and Keep returns %+v", a)
	}
	contains(t, newEnv(t, nil).keep(text), "no tape for it", "begin [redacted:")
}

// Pages of any size together give the whole artifact, and matches are at the offsets that the
// search returns.
func TestReadArtifact(t *testing.T) {
	t.Parallel()
	e, tp := newArtifacts(t)
	add := func(text string) string {
		t.Helper()
		a, err := tp.AddArtifact(t.Context(), repo.Artifact{}, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return a.ID[:shownOfID]
	}
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&b, "line %d %s\n", i, strings.Repeat(string([]rune("aä€😀")[random.IntN(4)]), random.IntN(20)))
	}
	want := b.String()
	id := add(want)
	for _, length := range []int{0, 1, 5, 14_999, 1 << 40} {
		var got strings.Builder
		for offset, n := 0, 0; offset >= 0 && n < 100; n++ {
			head, piece, _ := strings.Cut(e.must("artifact.read", obj("id", id, "offset", offset, "length", max(length, 1))), "\n")
			got.WriteString(piece)
			if len(piece) > pageBytes {
				t.Fatalf("a page has %d bytes, more than %d", len(piece), pageBytes)
			}
			offset = -1
			if _, next, ok := strings.Cut(head, "offset="); ok {
				_, _ = fmt.Sscanf(next, "%d]", &offset)
			}
		}
		if !strings.HasPrefix(want, got.String()) || length > 5 && got.String() != want {
			t.Errorf("length %d: %d bytes, not %d", length, got.Len(), len(want))
		}
	}
	out := e.must("artifact.search", `{"id":"`+id+`","query":"LINE 1234\\b","ignore_case":true}`)
	contains(t, out, "1 lines match")
	var offset int
	if _, err := fmt.Sscanf(strings.SplitN(out, "\n", 2)[1], "offset %d:", &offset); err != nil || !strings.HasPrefix(want[offset:], "line 1234 ") {
		t.Errorf("line 1234 is not at the offset in %q, %v", out, err)
	}
	out = e.must("artifact.search", `{"id":"`+id+`","query":"line","limit":200}`)
	if contains(t, out, "5000 lines match"); len(out) > pageBytes {
		t.Errorf("the matches have %d bytes, more than %d", len(out), pageBytes)
	}
	contains(t, e.must("artifact.search", `{"id":"`+id+`","query":"nowhere"}`), "0 lines match")
	numbers := add("1\n12345\r\n\n123456\n12345")
	contains(t, e.must("artifact.search", obj("id", numbers, "query", "^12345$")), "2 lines match", "offset 2: 12345\n", "offset 17: 12345\n")
	contains(t, e.must("artifact.search", obj("id", numbers, "query", "^$")), "1 lines match", "offset 9: \n")
	e.fails("artifact.search", `{"id":"`+id+`","query":"("}`, "query")
	e.fails("artifact.read", `{"id":"`+id+`","offset":999999999}`, "past the end")
	e.fails("artifact.read", `{"id":"`+id+`","offset":-1}`, "minimum")
	e.fails("artifact.read", `{"id":"../a1"}`, "no artifact")
	e.fails("artifact.read", obj("id", add("\x89PNG\r\n\x1a\n")), "image/png")
	long := add(strings.Repeat("x", 1<<20) + "needle")
	contains(t, e.must("artifact.search", obj("id", long, "query", "needle")), "1 lines match", "needle")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	for args, words := range map[string][]string{
		`{}`:                                 {"cmd", "required", "its arguments are {background?: boolean, cmd: string"},
		`{"cmd":1}`:                          {"cmd", "string"},
		`{"cmd":"x","command":1}`:            {"command"},
		`[]`:                                 {"not a JSON object"},
		`{"cmd":`:                            {"not a JSON object"},
		`null`:                               {"not a JSON object"},
		`{"cmd":"x","background":"perhaps"}`: {"background", "boolean"},
		`{"cmd":"x","timeout_seconds":1e9}`:  {"timeout_seconds", "maximum"},
		`{"cmd":""}`:                         {"cmd", "minLength"},
		obj("cmd", 1, "cwd", strings.Repeat("x", 100_000)): {"bash"},
		strings.Repeat(`{"cmd":`, 20_000):                  {"not a JSON object"},
	} {
		if text := e.fails("bash", args, words...); len(text) > 1500 {
			t.Errorf("the error has %d bytes, more than 1500", len(text))
		}
	}
	contains(t, e.must("bash", `{"cmd":"echo x","timeout_seconds":"5","background":"false"}`), "x")
	broken := Checked(hooks.Tool{Name: "broken", Schema: []byte(`{"type":"object"}`), Run: func(context.Context, hooks.ToolContext, json.RawMessage) (string, error) { panic("oh") }})
	if _, err := broken.Run(t.Context(), hooks.ToolContext{}, nil); err == nil || !strings.Contains(err.Error(), "oh") {
		t.Errorf("a tool that panics returns %v, want an error with the panic", err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	list := []hooks.Tool{{Name: "fs.read"}, {Name: "fs_read"}, {Name: "a b"}, {Name: strings.Repeat("x", 100)}, {Name: "FS.read", Description: "other"}}
	if got := Distinct(list); len(got) != 3 {
		t.Errorf("Distinct returns %v, want the first three that differ", got)
	}
	for name, want := range map[string]string{"fs.read": "fs.read", "fs_read": "fs_read", "FS_READ": "fs.read", " fs.read ": "fs.read", "a_b": "a b", "none": "", "": ""} {
		if got, ok := Find(list, name); got.Name != want || ok != (want != "") {
			t.Errorf("Find(%q) returns %q, %v; want %q", name, got.Name, ok, want)
		}
	}
}

// Of a progress bar the model sees the last state, and the artifact has all of it. A file that is read is not changed so.
func TestProgressBar(t *testing.T) {
	e, _ := newArtifacts(t)
	text := "\r 1 %\r 50 %\r100 %\ndone\n"
	shown, artifact := e.Keep(t.Context(), hooks.ToolContext{Session: "s"}, "bash", text)
	if artifact == nil || artifact.Size != int64(len(text)) || !strings.HasPrefix(shown, "100 %\ndone\n[") || strings.Contains(shown, "\r") {
		t.Errorf("%q, the artifact %+v", shown, artifact)
	}
	for tool, text := range map[string]string{"fs.read": "a\rb\n", "bash": "colours \x1b[31mred\x1b[0m", "x.y": "windows\r\n"} {
		if shown, artifact := e.Keep(t.Context(), hooks.ToolContext{Session: "s"}, tool, text); artifact != nil || tool == "fs.read" && shown != text {
			t.Errorf("%s: %q, %v", tool, shown, artifact)
		}
	}
}
