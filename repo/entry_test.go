package repo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"tape/internal/store/layout"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// TestBytesSurvive: parts of a payload that the program does not know keep their bytes, through
// files, commits, and a clone by git.
func TestBytesSurvive(t *testing.T) {
	payloads := []string{
		`{"role":"user","content":"x","n":1.0}`, `{"n":1e400}`, `{"n":-0}`, `{"n":-0.0E+00}`, `{"n":123456789012345678901234567890}`,
		`{"future":{"deep":[1,[2,{"x":null}]]},"role":"user"}`, `{"dup":1,"dup":2}`, `{"":"empty key"}`,
		`{"s":"tab\tnewline\nquote\"backslash\\slash/"}`, `{"s":"\u2028\u2029"}`, `{"s":"<script>&amp;"}`, `{"s":"\u0000"}`,
		`{"s":"阶段 é 🙂"}`, `{"s":"\ud83d\ude42"}`, `{"s":"lone \ud83d half"}`, `{}`,
	}
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	for i, p := range payloads {
		payloads[i] = strings.Replace(`{"role":"user","content":"",`+p[1:], ",}", "}", 1)
		storetest.Append(t, tp, repo.Draft{Kind: repo.KindMessage, Payload: []byte(payloads[i]), Meta: []byte(`{"x":1.50}`)})
	}
	var batch []repo.Draft
	for _, p := range payloads {
		batch = append(batch, repo.Draft{Kind: "odd", Payload: []byte(p)})
	}
	storetest.Append(t, tp, batch...)
	check := func(what string, tp *repo.Tape) {
		t.Helper()
		got := storetest.Entries(t, tp, repo.Query{SkipFirst: true, Limit: repo.N(2 * len(payloads))})
		if len(got) != 2*len(payloads) {
			t.Fatalf("%s: %d entries, want %d", what, len(got), 2*len(payloads))
		}
		for i, e := range got {
			want := payloads[i%len(payloads)]
			if unescaped(t, e.Payload) != unescaped(t, []byte(want)) {
				t.Errorf("%s: the payload %s became %s", what, want, e.Payload)
			}
			if !json.Valid(e.Raw) || !bytes.HasPrefix(e.Raw, fmt.Appendf(nil, `{"id":%d,"kind":"`, i+2)) {
				t.Errorf("%s: the line is %s", what, e.Raw)
			}
			if i < len(payloads) && string(e.Meta) != `{"x":1.50}` {
				t.Errorf("%s: the meta became %s", what, e.Meta)
			}
		}
	}
	check("from the files", tp)
	before := storetest.Lines(storetest.Entries(t, tp, repo.Query{}))
	storetest.Handoff(t, tp, "next")
	storetest.Git(t, s.Dir(), "gc", "--quiet")
	dir := filepath.Join(t.TempDir(), "clone")
	storetest.Git(t, s.Dir(), "clone", "--quiet", "--no-checkout", s.Dir(), dir)
	storetest.Git(t, dir, "checkout", "--quiet", "--detach")
	storetest.Mkdir(t, dir, ".git", "tape")
	there := storetest.Tape(t, storetest.Reopen(t, dir), "main")
	check("from a clone's commit", there)
	for i, line := range storetest.Lines(storetest.Entries(t, there, repo.Query{Limit: repo.N(len(before))})) {
		if line != before[i] {
			t.Errorf("line %d became %s, was %s", i+1, line, before[i])
		}
	}

	// The same for a line that is stored as it is, with unknown members and in an odd order.
	again := storetest.Tape(t, storetest.New(t, nil), "")
	odd := `{"kind":"message","x":1.0,"id":2,"payload":{"role":"user","content":"\u00e9"},"date":"2026-01-01T00:00:00Z"}`
	d, err := layout.StoredLine([]byte(odd))
	storetest.Must(t, err)
	if e := storetest.Append(t, again, d)[0]; string(e.Raw) != odd {
		t.Errorf("the line became %s, want %s", e.Raw, odd)
	}
	if got := storetest.Entries(t, again, repo.Query{Tail: repo.N(1)}); len(got) != 1 || string(got[0].Raw) != odd {
		t.Errorf("the line is read as %s, want %s", storetest.Lines(got), odd)
	}
	e := storetest.Append(t, again, d)[0]
	if !bytes.Contains(e.Raw, []byte(`"x":1.0`)) || e.ID != 3 {
		t.Errorf("the line became %s, want the id 3 and x as it was", e.Raw)
	}
}

// TestOutputComesBack: nothing that output adds to an entry is stored when the output is appended.
func TestOutputComesBack(t *testing.T) {
	tp := storetest.Tape(t, storetest.New(t, nil), "")
	e := storetest.Append(t, tp, repo.Message("user", "hello"))[0]
	want := string(e.Raw)
	for i := range reflect.TypeFor[repo.Entry]().NumField() { // some members are only added if there is a value
		if f := reflect.ValueOf(&e).Elem().Field(i); f.Kind() == reflect.String && f.IsZero() {
			f.SetString("x")
		}
	}
	d, err := repo.ParseDraft(e.JSON())
	storetest.Must(t, err)
	if got := string(storetest.Append(t, tp, d)[0].Raw); got != strings.Replace(want, `"id":2`, `"id":3`, 1) {
		t.Errorf("%s was appended as %s", e.JSON(), got)
	}
}

// unescaped returns the tokens of JSON with strings decoded, because stored lines have no needless escapes.
// Numbers stay as they are written.
func unescaped(t *testing.T, raw []byte) string {
	t.Helper()
	var b strings.Builder
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if err != nil {
			return b.String()
		}
		fmt.Fprintf(&b, "%T %v|", tok, tok)
	}
}

// TestRefusedEntries: entries that cannot be stored are refused, and nothing is written.
func TestRefusedEntries(t *testing.T) {
	s := storetest.New(t, nil)
	storetest.Must(t, s.SetSetting("max_line", "2048"))
	tp := storetest.Tape(t, s, "")
	deep := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	for name, d := range map[string]repo.Draft{
		"no kind":           {Payload: []byte(`{}`)},
		"no payload":        {Kind: "event"},
		"payload an array":  {Kind: "event", Payload: []byte(`[]`)},
		"payload a string":  {Kind: "event", Payload: []byte(`"x"`)},
		"payload cut off":   {Kind: "event", Payload: []byte(`{"a":1`)},
		"payload and more":  {Kind: "event", Payload: []byte(`{} {}`)},
		"payload not UTF-8": {Kind: "event", Payload: []byte("{\"a\":\"\xff\"}")},
		"payload too deep":  {Kind: "event", Payload: []byte(deep)},
		"kind not UTF-8":    {Kind: "\xff", Payload: []byte(`{}`)},
		"meta an array":     {Kind: "event", Payload: []byte(`{"name":"x"}`), Meta: []byte(`[]`)},
		"meta not UTF-8":    {Kind: "event", Payload: []byte(`{"name":"x"}`), Meta: []byte("{\"\xff\":1}")},
		"not a date":        {Kind: "event", Payload: []byte(`{"name":"x"}`), Date: "soon"},
		"too long":          storetest.Big(3000, ""),
		"an anchor":         {Kind: repo.KindAnchor, Payload: []byte(`{"name":"x"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			before := storetest.EntryFiles(t, s.Dir())
			_, err := tp.Append(t.Context(), nil, d)
			storetest.WantIs(t, err, repo.ErrInvalid)
			_, err = tp.Append(t.Context(), nil, repo.Message("user", "fine"), d, repo.Message("user", "fine"))
			storetest.WantIs(t, err, repo.ErrInvalid)
			if storetest.EntryFiles(t, s.Dir()) != before {
				t.Error("something was written")
			}
		})
	}
	for name, a := range map[string]repo.Anchor{
		"state an array": {Name: "x", State: []byte(`[]`)},
		"state cut off":  {Name: "x", State: []byte(`{"a"`)},
		"two summaries":  {Name: "x", State: []byte(`{"summary":"a"}`), Summary: "b"},
		"not UTF-8":      {Name: "x", Summary: "\xff"},
		"too long":       {Name: "x", Summary: strings.Repeat("s", 3000)},
		"not a date":     {Name: "x", Date: "2026-13-01"},
	} {
		t.Run("handoff: "+name, func(t *testing.T) {
			before := storetest.EntryFiles(t, s.Dir())
			_, err := tp.Handoff(t.Context(), a)
			storetest.WantIs(t, err, repo.ErrInvalid)
			if storetest.EntryFiles(t, s.Dir()) != before {
				t.Error("something was written")
			}
		})
	}
	if e := storetest.Append(t, tp, repo.Message("user", "after all that")); e[0].ID != 2 {
		t.Errorf("the next id is %d, want 2", e[0].ID)
	}
}

// TestAssertAnchor: an append that names another phase than the open one writes nothing.
func TestAssertAnchor(t *testing.T) {
	tp := storetest.Tape(t, storetest.New(t, nil), "")
	storetest.Handoff(t, tp, "plan/a")
	for _, anchor := range []string{"plan/a", "002", "002_plan-a"} {
		if _, err := tp.Append(t.Context(), &repo.AppendOptions{Anchor: anchor}, repo.Message("user", "x")); err != nil {
			t.Errorf("%s: %v", anchor, err)
		}
	}
	for _, anchor := range []string{"session/start", "plan", "001", "003"} {
		for _, drafts := range [][]repo.Draft{{repo.Message("user", "x")}, {repo.Message("user", "x"), repo.Message("user", "y")}} {
			_, err := tp.Append(t.Context(), &repo.AppendOptions{Anchor: anchor}, drafts...)
			storetest.WantIs(t, err, repo.ErrConflict)
		}
	}
	if got := len(storetest.Entries(t, tp, repo.Query{})); got != 5 {
		t.Errorf("%d entries, want 5", got)
	}
}

// TestCancelled: a call with a cancelled context changes nothing.
func TestCancelled(t *testing.T) {
	tp := storetest.Tape(t, storetest.New(t, nil), "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tp.Append(ctx, nil, repo.Message("user", "a"), repo.Message("user", "b"))
	storetest.WantIs(t, err, context.Canceled)
	_, err = tp.Handoff(ctx, repo.Anchor{Name: "x"})
	storetest.WantIs(t, err, context.Canceled)
	_, err = storetest.Collect(ctx, tp, repo.Query{})
	storetest.WantIs(t, err, context.Canceled)
	if got := len(storetest.Entries(t, tp, repo.Query{})); got != 1 {
		t.Errorf("%d entries, want 1", got)
	}
}
