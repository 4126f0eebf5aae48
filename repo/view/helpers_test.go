package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/repo"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// tape makes entries from lines "KIND PAYLOAD" or "KIND PAYLOAD\tMETA".
func tape(lines ...string) []repo.Entry {
	var out []repo.Entry
	for i, line := range lines {
		kind, payload, _ := strings.Cut(line, " ")
		payload, meta, ok := strings.Cut(payload, "\t")
		if !ok {
			meta = "{}"
		}
		out = append(out, repo.Entry{ID: int64(i + 1), Kind: kind, Payload: json.RawMessage(payload), Meta: json.RawMessage(meta)})
	}
	return out
}

func mustMessages(t testing.TB, entries []repo.Entry, o Options) *Context {
	t.Helper()
	c, err := Messages(entries, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// message is a message of the array, as a provider reads it.
type message struct {
	Role       string
	Content    json.RawMessage
	Refusal    string
	ToolCallID *string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID string
	} `json:"tool_calls"`
}

type blockJSON struct {
	Type, ID  string
	Text      string
	ToolUseID string `json:"tool_use_id"`
	Input     json.RawMessage
}

// breaks lists the rules of the provider that an array breaks.
func breaks(array []byte, format Format) []string {
	var messages []message
	if err := json.Unmarshal(array, &messages); err != nil {
		return []string{err.Error()}
	}
	if format == Anthropic {
		return breaksAnthropic(messages)
	}
	var out []string
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		switch {
		case m.Role == roleTool:
			out = append(out, fmt.Sprintf("message %d is a result without its call", i))
		case m.Role == roleAssistant && string(m.Content) == `""` && m.Refusal == "" && m.ToolCalls == nil:
			out = append(out, fmt.Sprintf("message %d says nothing", i))
		case (m.Content == nil || string(m.Content) == "null") && m.Refusal == "" && m.ToolCalls == nil:
			out = append(out, fmt.Sprintf("message %d has no content", i))
		}
		var want, got []string
		for _, c := range m.ToolCalls {
			want = append(want, c.ID)
		}
		for i+1 < len(messages) && m.ToolCalls != nil && messages[i+1].Role == roleTool && messages[i+1].ToolCallID != nil {
			i++
			got = append(got, *messages[i].ToolCallID)
		}
		if !slices.Equal(want, got) || len(slices.Compact(slices.Sorted(slices.Values(want)))) != len(want) {
			out = append(out, fmt.Sprintf("the calls are %q, the results %q", want, got))
		}
	}
	return out
}

func breaksAnthropic(messages []message) []string {
	var out []string
	var open []string
	seen := map[string]bool{}
	for i, m := range messages {
		if before := slices.Concat([]string{roleAssistant}, rolesOf(messages[:i])); before[len(before)-1] == m.Role {
			out = append(out, fmt.Sprintf("message %d has the role %s, as the one before or as the first", i, m.Role))
		}
		var blocks []blockJSON
		if err := json.Unmarshal(m.Content, &blocks); err != nil || len(blocks) == 0 {
			out = append(out, fmt.Sprintf("message %d has no blocks (%v)", i, err))
		}
		var calls, results []string
		last := ""
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				calls = append(calls, b.ID)
				if seen[b.ID] || !bytes.HasPrefix(b.Input, []byte("{")) {
					out = append(out, fmt.Sprintf("call %s is duplicated or has the input %s", b.ID, b.Input))
				}
				seen[b.ID] = true
			case "tool_result":
				if results = append(results, b.ToolUseID); last != "" && last != b.Type {
					out = append(out, fmt.Sprintf("message %d has a result after a %s", i, last))
				}
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					out = append(out, fmt.Sprintf("message %d has a blank text", i))
				}
			}
			last = b.Type
		}
		if last == "thinking" {
			out = append(out, fmt.Sprintf("message %d ends with reasoning", i))
		}
		if !slices.Equal(open, results) {
			out = append(out, fmt.Sprintf("the calls are %q, the results %q", open, results))
		}
		open = calls
	}
	if open != nil {
		out = append(out, fmt.Sprintf("the calls %q have no results", open))
	}
	return out
}

func rolesOf(messages []message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, m.Role)
	}
	return out
}

func wantRules(t testing.TB, c *Context, format Format) {
	t.Helper()
	for _, what := range breaks(c.JSON(), format) {
		t.Errorf("%s: %s\n%s", format, what, c.JSON())
	}
}

// sameJSON compares values, not their spelling.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
