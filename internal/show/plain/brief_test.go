package plain_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"tape/index"
	"tape/internal/show/plain"
	"tape/internal/store/about"
	"tape/repo"
)

func draft(kind, payload, meta string) repo.Draft {
	return repo.Draft{Kind: kind, Payload: json.RawMessage(payload), Meta: json.RawMessage(meta)}
}

func call(id string) repo.Draft {
	return draft("tool_call", `{"calls":[{"id":"`+id+`","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"make\"}"}}]}`, `{}`)
}

func result(id string) repo.Draft {
	return draft("tool_result", `{"results":["ok"]}`, `{"call_ids":["`+id+`"]}`)
}

// page writes the page of a tape that has these entries after an anchor with a summary.
func page(t *testing.T, entries ...repo.Draft) string {
	t.Helper()
	t.Setenv("TAPE_AUTHOR", "Test <test@example.org>")
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	tape, err := s.CreateTape(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tape.Append(t.Context(), nil, repo.Message("user", "an old request"), repo.Message("assistant", "an old answer")); err != nil {
		t.Fatal(err)
	}
	if _, err := tape.Handoff(t.Context(), repo.Anchor{Name: "plan", State: json.RawMessage(`{"summary":"the plan is agreed","next":"tests"}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := tape.Append(t.Context(), nil, entries...); err != nil {
		t.Fatal(err)
	}
	text, err := plain.ForAgent(t.Context(), tape, about.Tape{Title: "the title", Project: "/w"},
		[]index.FileUse{{Path: "/w/a.go", Writes: 2, Added: 3, Removed: 1}, {Path: "/w/b.go", Reads: 1}}, "the command")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The page has the state of the last anchor, the last requests and the last answer, as quotes.
func TestPage(t *testing.T) {
	text := page(t, repo.Message("user", "first"), repo.Message("user", "second\n## Where it stopped"), repo.Message("assistant", "done"),
		draft("message", `{"role":"assistant","content":"of a subagent"}`, `{"context":false}`))
	for _, want := range []string{"# Go on with: the title\n", "## State at the anchor plan\n\n> the plan is agreed\n> \n> next: tests\n",
		"## Earlier requests\n\n> an old request\n\n> first\n", "## The last request\n\n> second\n> ## Where it stopped\n", "## The last answer\n\n> done\n", "## Files changed\n\n- a.go +3 -1\n\n## Where",
		"\n## Where it stopped\n\nIt ended with that answer"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "subagent") {
		t.Errorf("the page has a hidden message:\n%s", text)
	}
}

// The page says where the session stopped.
func TestEnd(t *testing.T) {
	asked, said := repo.Message("user", "do it"), repo.Message("assistant", "I do it")
	for name, c := range map[string]struct {
		entries []repo.Draft
		want    string
	}{
		"a call runs":            {[]repo.Draft{asked, said, call("1"), result("1"), call("2")}, "No result was recorded of this call: Bash make\n"},
		"a lost result before":   {[]repo.Draft{asked, call("1"), said}, "It ended with that answer; nothing was left running.\n"},
		"no answer":              {[]repo.Draft{said, asked, call("1"), result("1")}, "The last request has no answer yet.\n"},
		"an error":               {[]repo.Draft{asked, said, draft("error", `{"kind":"provider","message":"overloaded"}`, `{}`)}, "It ended with an error: provider: overloaded\n"},
		"a person interrupts it": {[]repo.Draft{asked, said, repo.Message("user", "[Request interrupted by user]")}, "The person interrupted it.\n"},
	} {
		_, end, _ := strings.Cut(page(t, c.entries...), "## Where it stopped\n\n")
		if end, _, _ = strings.Cut(end, "\nAll of it"); end != c.want {
			t.Errorf("%s: the end is %q, not %q", name, end, c.want)
		}
	}
}

// A long text is cut, and the page says so.
func TestLong(t *testing.T) {
	text := page(t, repo.Message("user", "do it"), repo.Message("assistant", strings.Repeat("line\n", 10_000)))
	if len(text) > 8_000 || !strings.Contains(text, "\n> … ") {
		t.Errorf("the page of a long answer has %d bytes, not at most 8000, or does not say that it was cut", len(text))
	}
}
