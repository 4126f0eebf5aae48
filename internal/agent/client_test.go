package agent

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/agent/models"
)

const testKey = "sk-nobodys-key-of-this-test"

// serveModel is a server for both APIs: it calls a tool, then finds the context too long, and
// answers in the context after the automatic handoff.
func serveModel(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body, anthropic := string(raw), strings.HasSuffix(r.URL.Path, "/messages")
		if key := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key"); !strings.Contains(key, testKey) {
			t.Errorf("the request's key is %q, not the test's", key)
		}
		switch {
		case strings.Contains(body, autoHandoff):
			stream(w, anthropic, "done with "+testKey, "")
		case !strings.Contains(body, "counted"):
			stream(w, anthropic, "", "fs_count")
		case anthropic:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`)
		default:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"too many tokens for `+testKey+`","type":"invalid_request_error","code":"context_length_exceeded"}}`)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// stream answers with a text or with a call of a tool.
func stream(w http.ResponseWriter, anthropic bool, text, call string) {
	w.Header().Set("Content-Type", "text/event-stream")
	if !anthropic {
		delta, why := fmt.Sprintf(`{"role":"assistant","content":%q}`, text), "stop"
		if call != "" {
			delta, why = fmt.Sprintf(`{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":%q,"arguments":"{\"text\":\"x\"}"}}]}`, call), "tool_calls"
		}
		fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta)
		fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n", why)
		fmt.Fprint(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":2,\"total_tokens\":13}}\n\ndata: [DONE]\n\n")
		return
	}
	send := func(kind, rest string) { fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest) }
	send("message_start", `,"message":{"id":"1","type":"message","role":"assistant","content":[],"model":"m","usage":{"input_tokens":11,"output_tokens":0}}`)
	why := "end_turn"
	if call != "" {
		why = "tool_use"
		send("content_block_start", fmt.Sprintf(`,"index":0,"content_block":{"type":"tool_use","id":"c1","name":%q,"input":{}}`, call))
		send("content_block_delta", `,"index":0,"delta":{"type":"input_json_delta","partial_json":"{\"text\":\"x\"}"}`)
	} else {
		send("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
		send("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"text_delta","text":%q}`, text))
	}
	send("content_block_stop", `,"index":0`)
	send("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q},"usage":{"output_tokens":2}`, why))
	send("message_stop", "")
}

// A turn with the real client over both APIs: a tool, the automatic handoff, the answer. The key is
// sent to the server, and is never on the tape.
func TestClient(t *testing.T) {
	for _, model := range []string{"openai:m", "anthropic:m"} {
		t.Run(model, func(t *testing.T) {
			url := serveModel(t)
			env := map[string]string{"OPENAI_BASE_URL": url + "/v1", "ANTHROPIC_BASE_URL": url, "OPENAI_API_KEY": testKey, "ANTHROPIC_API_KEY": testKey}
			settings, err := models.Load(func(name string) string { return env[name] }, models.Config{Model: model}, filepath.Join(t.TempDir(), "none"))
			if err != nil {
				t.Fatal(err)
			}
			counted := &counter{}
			tool := counted.tool()
			tool.Name = "fs.count"
			h := newHost(t, newStore(t), nil, func(o *Options) {
				with(tool)(o)
				o.Model, o.Name, o.Keys = models.New(settings), model, settings.Keys()
			})
			if r := h.mustTurn("m", "work"); r.Output != "done with "+testKey {
				t.Errorf("the output is %q, without the answer after the handoff", r.Output)
			}
			var all []string
			for _, e := range h.entries() {
				all = append(all, strings.TrimSuffix(strings.Split(brief(e), "done with")[0], " "))
				if strings.Contains(string(e.Raw), testKey) {
					t.Errorf("the key is on the tape: %s", e.Raw)
				}
			}
			want := []string{"anchor session/start", "system", "user: work", "call c1", `result counted {"text":"x"}`, "run ok", "loop.step continue",
				"anchor auto_handoff/context_overflow", "loop.step auto_handoff", "user: work", "assistant:", "run ok", "loop.step ok"}
			if got, want := strings.Join(all, "\n"), strings.Join(want, "\n"); got != want {
				t.Errorf("the tape has\n%s\nwant\n%s", got, want)
			}
			tp, err := h.store.Tape(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			if info, err := tp.Info(t.Context()); err != nil || info.Usage.TotalTokens == nil || *info.Usage.TotalTokens != 13 {
				t.Errorf("the usage is %+v, want 13 tokens in all; %v", info.Usage, err)
			}
		})
	}
}
