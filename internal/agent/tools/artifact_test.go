//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tape/hooks"
)

func newArtifacts(t *testing.T) (*env, *memory) {
	m := &memory{all: map[string][]byte{}}
	return newEnv(t, func(o *Options) {
		o.Artifacts = func(context.Context, hooks.ToolContext) (Artifacts, error) { return m, nil }
	}), m
}

func (e *env) keep(text string) string {
	text, _ = e.Keep(e.t.Context(), hooks.ToolContext{Session: "s"}, "bash", text)
	return text
}

func TestKeep(t *testing.T) {
	t.Parallel()
	e, m := newArtifacts(t)
	for _, text := range []string{"", "short", strings.Repeat("ä", LongestResult)} {
		if got := e.keep(text); got != text {
			t.Errorf("%q", clip(got, 200))
		}
	}
	if len(m.all) != 0 {
		t.Error("short results are artifacts")
	}
	// Tokens of a known form, in text and in JSON.
	token := "ghp_" + "q3Rt7Yw9ZxCvBnMaSdFgHjKl4pOiUy2TrE1W"
	text := "begin " + token + strings.Repeat(" ä\n", LongestResult/2) + `{"token":"` + token + `"} end`
	got := e.keep(text)
	contains(t, got, "begin [redacted:github-token:", "artifact a1", "artifact.read", "end", "[… ")
	if stored := string(m.all["a1"]); strings.Contains(stored, token) || strings.Count(stored, "[redacted:") != 2 || !strings.HasSuffix(stored, "end") {
		t.Errorf("%s … %s", stored[:200], stored[len(stored)-200:])
	}
	if n := utf8.RuneCountInString(got); n > previewChars+400 {
		t.Errorf("%d characters", n)
	}
	if again := e.keep(got); again != got {
		t.Error("a preview is kept again")
	}
	if _, a := e.Keep(t.Context(), hooks.ToolContext{}, "bash", text); a == nil || a.ID != "a2" || a.Name != "bash" || a.Size != int64(len(m.all["a2"])) {
		t.Errorf("%+v", a)
	}
	m.err = errors.New("the disk is full")
	contains(t, e.keep(text), "could not be kept: the disk is full", "begin [redacted:")
	contains(t, newEnv(t, nil).keep(text), "keeps no artifacts", "begin [redacted:")
}

// However large the pieces are that are read, they give the whole, and what is found is where
// the search says.
func TestReadArtifact(t *testing.T) {
	t.Parallel()
	e, m := newArtifacts(t)
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "line %d %s\n", i, strings.Repeat(string([]rune("aä€😀")[random.IntN(4)]), random.IntN(20)))
	}
	want := b.String()
	contains(t, e.keep(want), "artifact a1")
	for _, length := range []int{0, 1, 5, 14_999, 1 << 40} {
		var got strings.Builder
		for offset, n := 0, 0; offset >= 0 && n < 100; n++ {
			head, piece, _ := strings.Cut(e.must("artifact.read", obj("id", "a1", "offset", offset, "length", max(length, 1))), "\n")
			got.WriteString(piece)
			if len(piece) > pageBytes {
				t.Fatalf("%d bytes", len(piece))
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
	out := e.must("artifact.search", `{"id":"a1","query":"LINE 1234\\b","ignore_case":true}`)
	contains(t, out, "1 lines match")
	var offset int
	if _, err := fmt.Sscanf(strings.SplitN(out, "\n", 2)[1], "offset %d:", &offset); err != nil || !strings.HasPrefix(want[offset:], "line 1234 ") {
		t.Errorf("%v %q", err, out)
	}
	out = e.must("artifact.search", `{"id":"a1","query":"line","limit":200}`)
	if contains(t, out, "20000 lines match"); len(out) > pageBytes {
		t.Errorf("%d bytes", len(out))
	}
	contains(t, e.must("artifact.search", `{"id":"a1","query":"nowhere"}`), "0 lines match")
	e.fails("artifact.search", `{"id":"a1","query":"("}`, "query")
	e.fails("artifact.read", `{"id":"a1","offset":999999999}`, "behind the end")
	e.fails("artifact.read", `{"id":"a1","offset":-1}`, "minimum")
	e.fails("artifact.read", `{"id":"../a1"}`, "no artifact")
	m.all["p"] = []byte("\x89PNG\r\n\x1a\n")
	e.fails("artifact.read", `{"id":"p"}`, "image/png")
	m.all["one"] = []byte(strings.Repeat("x", 1<<20) + "needle")
	contains(t, e.must("artifact.search", `{"id":"one","query":"needle"}`), "1 lines match", "needle")
}

// The largest output of a command is masked while a person waits.
func TestKeepLargest(t *testing.T) {
	t.Parallel()
	e, _ := newArtifacts(t)
	began := time.Now()
	contains(t, e.keep(strings.Repeat("key = value; token: abc\n", 8<<20/24)), "artifact a1")
	t.Logf("%s", time.Since(began))
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
			t.Errorf("%d bytes", len(text))
		}
	}
	contains(t, e.must("bash", `{"cmd":"echo x","timeout_seconds":"5","background":"false"}`), "x")
	broken := Checked(hooks.Tool{Name: "broken", Schema: []byte(`{"type":"object"}`), Run: func(context.Context, hooks.ToolContext, json.RawMessage) (string, error) { panic("oh") }})
	if _, err := broken.Run(t.Context(), hooks.ToolContext{}, nil); err == nil || !strings.Contains(err.Error(), "oh") {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	list := []hooks.Tool{{Name: "fs.read"}, {Name: "fs_read"}, {Name: "a b"}, {Name: strings.Repeat("x", 100)}, {Name: "FS.read", Description: "other"}}
	if got := Distinct(list); len(got) != 3 {
		t.Errorf("%v", got)
	}
	for name, want := range map[string]string{"fs.read": "fs.read", "fs_read": "fs_read", "FS_READ": "fs.read", " fs.read ": "fs.read", "a_b": "a b", "none": "", "": ""} {
		if got, ok := Find(list, name); got.Name != want || ok != (want != "") {
			t.Errorf("%q: %q", name, got.Name)
		}
	}
}
