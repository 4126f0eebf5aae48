package models

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tape/hooks"
)

// TestForms: streams that differ a little from what is documented give the answer that was meant.
func TestForms(t *testing.T) {
	use := func(index, id, more string) string {
		return `data: {"type":"content_block_start"` + index + `,"content_block":{"type":"tool_use","id":"` + id + `","name":"bash"` + more + `}}`
	}
	input := func(index, cmd string) string {
		return `data: {"type":"content_block_delta"` + index + `,"delta":{"type":"input_json_delta","partial_json":"{\"cmd\":\"` + cmd + `\"}"}}`
	}
	say := func(text string) string {
		return `data: {"type":"content_block_start","content_block":{"type":"text","text":"` + text + `"}}`
	}
	used := `data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}`
	item := func(event, id, arguments string) string {
		return `data: {"type":"response.output_item.` + event + `","item":{"type":"function_call","id":"fc_` + id + `","call_id":"` + id + `","name":"bash","arguments":"` + arguments + `"}}`
	}
	arguments := func(event, id, member, cmd string) string {
		return `data: {"type":"response.function_call_arguments.` + event + `","item_id":"fc_` + id + `","` + member + `":"{\"cmd\":\"` + cmd + `\"}"}`
	}
	const completed = `data: {"type":"response.completed","response":{"status":"completed"}}`
	for name, c := range map[string]struct {
		model  string
		events []string
		want   string // the text, then "id arguments" of each call
	}{
		// chat completions
		"all that was said in each chunk": {"openai:x", []string{`data: {"choices":[{"delta":{"content":"Hel"},"message":{"content":"Hel"}}]}`, `data: {"choices":[{"delta":{"content":"lo"},"message":{"content":"Hello"},"finish_reason":"stop"}]}`}, "Hello"},
		"and at the end":                  {"openai:x", append(chat("", `{"content":"Hello"}`)[:1], `data: {"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}`), "Hello"},
		"an error of nothing":             {"openai:x", []string{`data: {"error":{"message":"","code":null},"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}`}, "Hello"},
		"space after the end":             {"openai:x", append(chat("", `{"content":"Hello"}`)[:1], "data: [DONE] "), "Hello"},
		"a character in halves":           {"openai:x", chat("stop", `{"content":"a\ud83d"}`, `{"content":"\ude00b"}`), "a😀b"},
		"a character in bytes":            {"openai:x", chat("stop", "{\"content\":\"a\xe8\"}", "{\"content\":\"\x82\"}", "{\"content\":\"\xa1b\"}"), "a股b"},
		"a broken character":              {"openai:x", chat("stop", "{\"content\":\"caf\xe9 x\"}", "{\"content\":\"y\xa1z\"}"), "caf\uFFFD xy\uFFFDz"},
		"carriage returns":                {"openai:x", []string{strings.Join(chat("stop", `{"content":"Hel"}`, `{"content":"lo"}`), "\r\r")}, "Hello"},
		// messages
		"blocks without numbers": {"anthropic:x", []string{use("", "a", ""), input("", "A"), use("", "b", ""), input("", "B"), used}, `|a {"cmd":"A"}|b {"cmd":"B"}`},
		"null as input":          {"anthropic:x", []string{use(`,"index":0`, "a", `,"input":null`), used}, "|a "},
		"a text after a call":    {"anthropic:x", []string{say("I look."), use(`,"index":1`, "a", `,"input":{}`), say("Then."), used}, "I look.\n\nThen.|a "},
		"a text in pieces":       {"anthropic:x", []string{say("It is "), say("so."), used}, "It is so."},
		"nothing after the end":  {"anthropic:x", []string{say("Hello"), `data: {"type":"message_stop"}`, `data: {"error":{"message":"late"}}`}, "Hello"},
		// responses
		"items by their ids":     {"r:x", []string{item("added", "a", ""), item("added", "b", ""), arguments("delta", "a", "delta", "A"), arguments("delta", "b", "delta", "B"), completed}, `|a {"cmd":"A"}|b {"cmd":"B"}`},
		"arguments at the end":   {"r:x", []string{item("added", "a", ""), arguments("done", "a", "arguments", "A"), completed}, `|a {"cmd":"A"}`},
		"whole when it is added": {"r:x", []string{item("added", "a", `{\"cmd\":\"A\"}`), completed}, `|a {"cmd":"A"}`},
		"twice":                  {"r:x", []string{item("added", "a", `{\"cmd\":\"A\"}`), arguments("delta", "a", "delta", "A"), item("done", "a", `{\"cmd\":\"A\"}`), completed}, `|a {"cmd":"A"}`},
		"the output at the end":  {"r:x", []string{`data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hello"}]},{"type":"function_call","call_id":"a","name":"bash","arguments":"{}"}]}}`}, "Hello|a {}"},
		"a text that is done":    {"r:x", []string{`data: {"type":"response.output_text.done","text":"Hello"}`, `data: {"type":"response.done","response":{"status":"completed"}}`}, "Hello"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ int) { stream(w, 1<<20, c.events...) })
			config := Config{APIs: map[string]string{"r": "responses"}, BaseURLs: map[string]string{"r": s.URL}}
			said, calls := "", ""
			for e, err := range client(t, s, nil, config).Stream(t.Context(), Request{Model: c.model, Tools: []hooks.Tool{{Name: "bash"}}}) {
				if err != nil {
					t.Fatal(err)
				}
				switch e.Kind {
				case hooks.EventText:
					said += e.Data["delta"].(string)
				case hooks.EventToolCall:
					calls += fmt.Sprintf("|%s %s", e.Data["id"], e.Data["arguments"])
				}
			}
			if got := said + calls; got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// A server that leaves out the last event and breaks off, or keeps the connection, has answered.
func TestBrokenAfterTheAnswer(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ int) {
		stream(w, 1<<20, chat("stop", `{"content":"Hello"}`)[:2]...)
		panic(http.ErrAbortHandler)
	})
	if got, err := ask(t.Context(), client(t, s, nil, Config{}), "openai:x"); err != nil || s.calls.Load() != 1 {
		t.Errorf("%v, %v", got, err)
	}
	calls := serve(t, func(w http.ResponseWriter, _ int) { // NVIDIA's GLM: earendil-works/pi#6225
		stream(w, 1<<20, chat("", piece("0", "a", "bash", `{"cmd":"ls"}`))[:1]...)
	})
	if got, err := ask(t.Context(), client(t, calls, nil, Config{}), "openai:x"); err != nil || calls.calls.Load() != 1 {
		t.Errorf("%v, %v", got, err)
	}
	ends := make(chan struct{})
	kept := serve(t, func(w http.ResponseWriter, _ int) {
		stream(w, 1<<20, messagesAnswer...)
		<-ends
	})
	if got, err := ask(t.Context(), client(t, kept, nil, Config{}), "anthropic:x"); err != nil {
		t.Errorf("%v, %v", got, err)
	}
	close(ends)
}

// Usage is in different places: Moonshot's choices (earendil-works/pi#2017), Groq's x_groq.
func TestPlacesOfUsage(t *testing.T) {
	for _, last := range []string{`{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":7,"completion_tokens":3}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":7,"completion_tokens":3}},"usage":null}`} {
		s := serve(t, func(w http.ResponseWriter, _ int) {
			stream(w, 1<<20, chat("", `{"content":"Hello"}`)[0], "data: "+last)
		})
		if got, err := ask(t.Context(), client(t, s, nil, Config{}), "openai:x"); err != nil || !strings.Contains(strings.Join(got, " "), `"input_tokens":7`) {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// Thoughts between calls go back in the place where they were: providers refuse them in another order.
// (NousResearch/hermes-agent#35586, UKGovernmentBEIS/inspect_ai#4922)
func TestKeptInOrder(t *testing.T) {
	claude := []string{`data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"T1","signature":"S1"}}`, `data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":"I look."}}`,
		`data: {"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"S2"}}`, `data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"a","name":"bash","input":{}}}`,
		`data: {"type":"content_block_start","index":4,"content_block":{"type":"thinking","thinking":"gone"}}`, `data: {"type":"content_block_start","index":5,"content_block":{"type":"thinking","thinking":"T3"}}`, `data: {"type":"content_block_delta","index":5,"delta":{"type":"signature_delta","signature":"S3"}}`,
		`data: {"type":"content_block_start","index":5,"content_block":{"type":"text","text":"So."}}`, `data: {"type":"content_block_start","index":6,"content_block":{"type":"tool_use","id":"b","name":"bash","input":{}}}`, `data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}`}
	item := func(n string, more string) string {
		return `data: {"type":"response.output_item.done","output_index":` + n + `,"item":{` + more + `}}`
	}
	openai := []string{item("0", `"type":"reasoning","id":"r1","summary":[],"encrypted_content":"S1"`), item("1", `"type":"message","phase":"commentary","content":[{"type":"output_text","text":"I look."}]`), item("2", `"type":"reasoning","id":"r2","summary":[],"encrypted_content":"S2"`),
		item("3", `"type":"function_call","id":"x","call_id":"a","name":"bash","arguments":"{}"`), item("4", `"type":"reasoning","id":"r3","summary":[],"encrypted_content":"S3"`), item("4", `"type":"message","content":[{"type":"output_text","text":"So."}]`), item("5", `"type":"function_call","id":"y","call_id":"b","name":"bash","arguments":"{}"`),
		`data: {"type":"response.completed","response":{"status":"completed"}}`}
	for model, events := range map[string][]string{"anthropic:x": claude, "r:x": openai} {
		s := serve(t, func(w http.ResponseWriter, _ int) { stream(w, 1<<20, events...) })
		c := client(t, s, nil, Config{APIs: map[string]string{"r": "responses"}, BaseURLs: map[string]string{"r": s.URL}})
		var kept Kept
		messages := messagesOf(`{"role":"user","content":"hi"}`, `{"role":"assistant","content":"I look.\n\nSo.","tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"bash","arguments":"{}"}}]}`)
		if model == "anthropic:x" {
			messages = messagesOf(`{"role":"user","content":"hi"}`, `{"role":"assistant","content":[{"type":"text","text":"I look.\n\nSo."},{"type":"tool_use","id":"a","name":"bash","input":{}},{"type":"tool_use","id":"b","name":"bash","input":{}}]}`)
		}
		for range 2 {
			for e, err := range c.Stream(t.Context(), Request{Model: model, Messages: messages, Kept: []Kept{kept}}) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind == hooks.EventFinal {
					kept, _ = e.Data[FinalKept].(Kept)
				}
			}
		}
		at := -1
		for _, words := range []string{`"S1"`, `"I look."`, `"S2"`, `"a"`, `"S3"`, `"So."`, `"b"`} {
			next := strings.Index(string(s.body), words)
			if next <= at || strings.Contains(string(s.body), "gone") {
				t.Errorf("%s: %s is at %d, after %d: %s", model, words, next, at, s.body)
			}
			at = next
		}
		if want := map[string]int{"r:x": 1}[model]; strings.Count(string(s.body), `"phase":"commentary"`) != want { // openai/codex#19832
			t.Errorf("%s: want the phase %d times: %s", model, want, s.body)
		}
	}
}

func messagesOf(list ...string) (out []json.RawMessage) {
	for _, m := range list {
		out = append(out, json.RawMessage(m))
	}
	return out
}
