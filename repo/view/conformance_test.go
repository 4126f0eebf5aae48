package view

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/text/jsonl"
	"tape/repo"
)

// contextCase is a conformance case, in the form that other implementations read, too.
type contextCase struct {
	Name    string
	Entries []struct {
		Kind          string
		Payload, Meta json.RawMessage
	}
	Context struct {
		From     string
		NoAnchor bool `json:"no_anchor"`
		Raw      bool
	}
	Expect struct{ Messages json.RawMessage }
}

// record makes the tape of a case; an anchor among the entries is a handoff.
func (c contextCase) record(t *testing.T) *repo.Tape {
	t.Helper()
	tp := newTape(t)
	for _, e := range c.Entries {
		var err error
		if e.Kind == repo.KindAnchor {
			_, err = tp.Handoff(t.Context(), repo.Anchor{Name: jsonl.GetString(e.Payload, "name"), State: jsonl.Get(e.Payload, "state"), Meta: e.Meta})
		} else {
			_, err = tp.Append(t.Context(), nil, repo.Draft{Kind: e.Kind, Payload: e.Payload, Meta: e.Meta})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return tp
}

func newTape(t testing.TB) *repo.Tape {
	t.Helper()
	store, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	tp, err := store.Tape(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

func (c contextCase) run(t *testing.T) {
	tp := c.record(t)
	o := Options{From: c.Context.From, NoAnchor: c.Context.NoAnchor, Raw: c.Context.Raw}
	got, err := Build(t.Context(), tp, o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Expect.Messages[0] == '[' {
		if !sameJSON(got.JSON(), c.Expect.Messages) {
			t.Errorf("got  %s\nwant %s", got.JSON(), c.Expect.Messages)
		}
		return
	}
	var rules struct{ Rules []string }
	if err := json.Unmarshal(c.Expect.Messages, &rules); err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules.Rules {
		if found := c.violation(rule, got); found != "" {
			t.Errorf("%s: %s\n%s", rule, found, got.JSON())
		}
	}
}

// violation describes how the messages break a rule that a case names; "" if they follow it.
func (c contextCase) violation(rule string, got *Context) string {
	switch rule {
	case "every tool message answers a call of the assistant message before it", "every call has exactly one tool message":
		return strings.Join(breaks(got.JSON(), OpenAI), "; ")
	case "the text of every result is still there somewhere":
		for _, e := range c.Entries {
			for r := range jsonl.Elements(jsonl.Get(e.Payload, "results")) {
				if text := resultText(r); !strings.Contains(string(got.JSON()), text) {
					return text + " is gone"
				}
			}
		}
		return ""
	}
	if text, ok := strings.CutPrefix(rule, "the last message is the user message "); ok {
		if last := got.Messages[len(got.Messages)-1]; !sameJSON(last, textMessage(roleUser, text)) {
			return string(last)
		}
		return ""
	}
	return "unknown rule"
}

// TestConformance runs the shared cases, if they are beside the project.
func TestConformance(t *testing.T) {
	file := filepath.Join("..", "..", "..", "shared", "conformance", "cases.json")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("the shared cases are not here (%v); TestMapping has the project's own", err)
	}
	var all struct{ Cases []json.RawMessage }
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, raw := range all.Cases {
		var c contextCase
		if !strings.HasPrefix(jsonl.GetString(raw, "name"), "context/") {
			continue
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		ran++
		t.Run(c.Name, c.run)
	}
	if ran == 0 {
		t.Errorf("%s has no context cases", file)
	}
}
