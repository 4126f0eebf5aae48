package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"tape/repo"
)

// The messages of both APIs give the same text; what is not a message is left out, and the length is limited.
func TestTranscript(t *testing.T) {
	openai := []json.RawMessage{json.RawMessage(`{"role":"user","content":"do it"}`),
		json.RawMessage(`{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"bash","arguments":"{\"cmd\":\"ls\"}"}}]}`),
		json.RawMessage(`{"role":"tool","tool_call_id":"c","content":"a.txt"}`), json.RawMessage(`[1]`), json.RawMessage(`{"role":"user","content":[{"type":"image_url","image_url":{}}]}`)}
	anthropic := []json.RawMessage{json.RawMessage(`{"role":"user","content":[{"type":"text","text":"do it"}]}`),
		json.RawMessage(`{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"bash","input":{"cmd":"ls"}}]}`),
		json.RawMessage(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"a.txt"}]}]}`)}
	for _, messages := range [][]json.RawMessage{openai, anthropic} {
		text := transcriptOf(messages, 1000)
		at := -1
		for _, want := range []string{"do it", `calls bash {"cmd":"ls"}`, "a.txt"} {
			next := strings.Index(text, want)
			if next <= at {
				t.Errorf("%q is missing, or not after the texts before it:\n%s", want, text)
			}
			at = next
		}
	}
	for _, limit := range summaryLimits(0) {
		var many []json.RawMessage
		for i := range 2000 {
			many = append(many, json.RawMessage(fmt.Sprintf(`{"role":"user","content":"%d %s"}`, i, strings.Repeat("日本", 100))))
		}
		if text := transcriptOf(many, limit); utf8.RuneCountInString(text) > limit+100 || !strings.Contains(text, "[user]\n0 ") || !strings.Contains(text, "1999 日") {
			t.Errorf("limit %d: %d characters, want the limit, and the first and last message", limit, utf8.RuneCountInString(text))
		}
	}
}

// Each call is shown with its result, in whatever order results came; if there are too many calls, the newest stay.
func TestCalls(t *testing.T) {
	call := func(id, args string) repo.Entry {
		return repo.Entry{Kind: repo.KindToolCall, Payload: json.RawMessage(`{"calls":[{"id":"` + id + `","function":{"name":"bash","arguments":"` + args + `"}}]}`)}
	}
	result := func(id, text string) repo.Entry {
		return repo.Entry{Kind: repo.KindToolResult, Meta: json.RawMessage(`{"call_ids":["` + id + `"]}`), Payload: json.RawMessage(`{"results":["` + text + `"]}`)}
	}
	if got, want := callsAsText([]repo.Entry{call("a", "x"), call("b", "y"), result("b", "two"), result("a", "one"), call("c", "z"), {Kind: repo.KindToolCall, Payload: json.RawMessage(`1`)}}, shownOfCalls),
		"- bash x\none\n- bash y\ntwo\n- bash z\n(it has no result)"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	var many []repo.Entry
	for i := range 100 {
		id := fmt.Sprint("n", i)
		many = append(many, call(id, id), result(id, strings.Repeat("x", 2000)))
	}
	if got := callsAsText(many, shownOfCalls); len(got) > shownOfCalls+2000 || !strings.Contains(got, "- bash n99\n") || strings.Contains(got, "- bash n0\n") || !strings.HasPrefix(got, "(89 earlier calls") {
		t.Errorf("%d bytes, want the newest calls after a note: %.60s", len(got), got)
	}
	if got := callsAsText(nil, 100); got != "" {
		t.Errorf("no entries: %q", got)
	}
}
