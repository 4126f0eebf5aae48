package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tape/hooks"
	"tape/internal/testkit"
	"tape/repo/view"
)

// server counts the calls and keeps the last request.
type server struct {
	*httptest.Server
	calls  atomic.Int32
	header http.Header
	body   []byte
	path   string
}

// serve starts a server. answer gets the number of the call, counted from 1.
func serve(t *testing.T, answer func(w http.ResponseWriter, call int)) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(s.calls.Add(1))
		s.header, s.path = r.Header, r.URL.Path
		s.body, _ = io.ReadAll(r.Body)
		answer(w, n)
	}))
	t.Cleanup(s.Close)
	return s
}

// stream writes server-sent events in pieces of size bytes, which may end within lines and characters.
func stream(w http.ResponseWriter, size int, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	all := strings.Join(events, "\n\n") + "\n\n"
	for len(all) > 0 {
		n := min(size, len(all))
		_, _ = io.WriteString(w, all[:n])
		w.(http.Flusher).Flush()
		all = all[n:]
	}
}

// client returns a client of a server. env is added to the environment.
func client(t *testing.T, s *server, env map[string]string, c Config) *Client {
	t.Helper()
	return clientWithSilence(t, time.Minute, s, env, c)
}

// clientWithSilence is like client, with the time that the server may send nothing.
func clientWithSilence(t *testing.T, silence time.Duration, s *server, env map[string]string, c Config) *Client {
	t.Helper()
	all := map[string]string{"OPENAI_BASE_URL": s.URL + "/v1", "ANTHROPIC_BASE_URL": s.URL, "OPENAI_API_KEY": "sk-openai-12345", "ANTHROPIC_API_KEY": "sk-ant-12345"}
	for name, value := range env {
		all[name] = value
	}
	settings, err := Load(func(name string) string { return all[name] }, c, filepath.Join(t.TempDir(), "none"))
	if err != nil {
		t.Fatal(err)
	}
	settings.Silence = silence
	return New(settings)
}

// ask calls a model. It returns the events as text, and the error that ended them.
func ask(ctx context.Context, c *Client, model string, tools ...hooks.Tool) (events []string, err error) {
	r := Request{Model: model, System: "be brief", Messages: []json.RawMessage{json.RawMessage(`{"role":"user","content":"hi","odd":1.0}`)}, Tools: tools}
	for e, err := range c.Stream(ctx, r) {
		if err != nil {
			return events, err
		}
		delete(e.Data, FinalKept)
		delete(e.Data, FinalReasoning)
		data, _ := json.Marshal(e.Data)
		events = append(events, e.Kind+" "+string(data))
	}
	return events, nil
}

var (
	chatAnswer = []string{
		`data: {"choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"hm"}}]}`,
		`data: {"choices":[{"index":0,"delta":{"content":"日本"}}]}`,
		`: a comment`,
		`data: : a comment as an event`,
		`data:`,
		`data: {"warning":"provider_did_not_report_usage_on_stream"}`,
		`data: {"choices":[{"index":0,"delta":{"content":"語"}}]}`,
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"fs_read","arguments":""}},{"index":1,"id":"b","function":{"name":"bash","arguments":"{\"c"}}]}}]}`,
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"md\":1}"}},{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
		`data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`,
		`data: [DONE]`,
	}
	messagesAnswer = []string{
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":2,\"output_tokens\":1}}}",
		"event: ping\ndata: {\"type\":\"ping\"}",
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}",
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"日本\"}}",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"語\"}}",
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"fs_read\",\"input\":{}}}",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}",
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"bash\",\"input\":{}}}",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"c\"}}",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"md\\\":1}\"}}",
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":3}}",
		"event: message_stop\ndata: {\"type\":\"message_stop\"}",
	}
)

// Both APIs give the same events, wherever the network cuts the answers.
func TestStream(t *testing.T) {
	tools := []hooks.Tool{{Name: "fs.read", Description: "reads"}, {Name: "bash", Schema: json.RawMessage(`{"type":"object"}`)}}
	want := []string{
		`reasoning {"delta":"hm"}`, `text {"delta":"日本"}`, `text {"delta":"語"}`,
		`tool_call {"arguments":"{}","id":"a","name":"fs.read"}`, `tool_call {"arguments":"{\"cmd\":1}","id":"b","name":"bash"}`,
		`usage {"cached_tokens":%d,"input_tokens":7,"output_tokens":3}`, `final {"model":%q,"ok":true,"text":"日本語"}`,
	}
	for _, model := range []string{"openai:gpt-1", "anthropic:claude-1"} {
		for _, size := range []int{1, 2, 7, 100, 1 << 20} {
			events, cached := chatAnswer, 0
			if strings.HasPrefix(model, "anthropic") {
				events, cached = messagesAnswer, 2
			}
			s := serve(t, func(w http.ResponseWriter, _ int) { stream(w, size, events...) })
			got, err := ask(t.Context(), client(t, s, nil, Config{}), model, tools...)
			if err != nil {
				t.Fatalf("%s, pieces of %d: %v", model, size, err)
			}
			expected := append([]string{}, want...)
			expected[5], expected[6] = fmt.Sprintf(want[5], cached), fmt.Sprintf(want[6], model)
			if !reflect.DeepEqual(got, expected) {
				t.Fatalf("%s, pieces of %d:\n%s\nwant\n%s", model, size, strings.Join(got, "\n"), strings.Join(expected, "\n"))
			}
			if body := string(s.body); !strings.Contains(body, `"odd":1.0`) || !strings.Contains(body, `"fs_read"`) || !strings.Contains(body, "be brief") || !strings.Contains(body, `"stream":true`) {
				t.Errorf("%s was asked: %s", model, body)
			}
		}
	}
}

// TestOverflow tries each form in which servers say that the context is too long, and errors that only look alike.
func TestOverflow(t *testing.T) {
	plain := func(status int, body string) func(http.ResponseWriter, int) {
		return func(w http.ResponseWriter, _ int) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	events := func(list ...string) func(http.ResponseWriter, int) {
		return func(w http.ResponseWriter, _ int) { stream(w, 1<<20, list...) }
	}
	for name, c := range map[string]struct {
		model  string
		answer func(http.ResponseWriter, int)
		want   bool
	}{
		"code":               {"openai:x", plain(400, `{"error":{"message":"too much","type":"invalid_request_error","code":"context_length_exceeded"}}`), true},
		"code in a stream":   {"openai:x", events(`data: {"error":{"message":"too much","code":"context_length_exceeded"}}`), true},
		"maximum length":     {"openai:x", plain(400, `{"error":{"message":"This model's maximum context length is 4 tokens"}}`), true},
		"context window":     {"openai:x", plain(400, `{"error":{"message":"the context window is full"}}`), true},
		"input too long":     {"openai:x", plain(422, `{"error":{"message":"Input is too long for this model"}}`), true},
		"prompt length":      {"openai:x", plain(400, `{"error":{"message":"maximum prompt length is 9"}}`), true},
		"token limit":        {"openai:x", plain(400, `{"error":{"message":"over the token limit"}}`), true},
		"reduce":             {"openai:x", plain(400, `{"error":{"message":"Please reduce the length of the messages"}}`), true},
		"code as a type":     {"openai:x", plain(400, `{"error":{"code":400,"message":"too much","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}}`), true},
		"error as a text":    {"openai:x", plain(400, `{"error":"Trying to keep the first 9 tokens when context the overflows. However, the model is loaded with context length of only 8 tokens, which is not enough."}`), true},
		"error without JSON": {"openai:x", plain(400, `maximum context length`), true},
		"detail":             {"openai:x", plain(400, `{"detail":"prompt too long"}`), true},
		"error text":         {"openai:x", plain(400, `{"error":"no such model"}`), false},
		"429 with the code":  {"openai:x", plain(429, `{"error":{"message":"slow down","code":"context_length_exceeded"}}`), false},
		"prompt too long":    {"anthropic:x", plain(400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`), true},
		"max_tokens":         {"anthropic:x", plain(400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 5 + 6 > 8"}}`), true},
		"too large":          {"anthropic:x", plain(413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`), true},
		"stop reason":        {"anthropic:x", events(messagesAnswer[0], "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"model_context_window_exceeded\"},\"usage\":{\"output_tokens\":3}}"), true},
		"error in a stream":  {"anthropic:x", events(messagesAnswer[0], "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long\"}}"), true},
		"429":                {"openai:x", plain(429, `{"error":{"message":"over the token limit per minute","code":"rate_limit_exceeded"}}`), false},
		"429 of Anthropic":   {"anthropic:x", plain(429, `{"type":"error","error":{"type":"rate_limit_error","message":"this request would exceed the limit of 9 tokens per minute, reduce the length"}}`), false},
		"401":                {"openai:x", plain(401, `{"error":{"message":"Incorrect API key provided: sk-openai-12345"}}`), false},
		"500":                {"anthropic:x", plain(500, `no JSON`), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ask(t.Context(), client(t, serve(t, c.answer), nil, Config{}), c.model)
			if err == nil || errors.Is(err, ErrContextLength) != c.want {
				t.Errorf("error %v, want one that is an overflow: %v", err, c.want)
			}
			for status, way := range map[string]string{"401": "the key of openai was refused: set another one in OPENAI_API_KEY", "500": "tried 3 times"} {
				if name == status && !strings.Contains(err.Error(), way) {
					t.Errorf("no %q in %v", way, err)
				}
			}
			if err != nil && strings.Contains(err.Error(), "12345") {
				t.Errorf("the key is in %v", err)
			}
		})
	}
}

// If a model fails, the next fallback of the same format is called, once.
func TestFallback(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, call int) {
		if call == 1 {
			http.Error(w, `{"error":{"message":"no such model"}}`, http.StatusNotFound)
			return
		}
		stream(w, 1<<20, chatAnswer...)
	})
	c := client(t, s, map[string]string{"TAPE_MODEL": "openai:one", "TAPE_FALLBACK_MODELS": "anthropic:other, openai:two"}, Config{Model: "ollama:x"})
	got, err := ask(t.Context(), c, "")
	if err != nil || len(got) == 0 || !strings.Contains(string(s.body), `"two"`) || s.calls.Load() != 2 || !strings.Contains(got[len(got)-1], `"openai:two"`) {
		t.Errorf("%v, %v after %d calls, want an answer of openai:two to the second; the last call: %s", got, err, s.calls.Load(), s.body)
	}
}

// A fallback that takes another format of messages gets them in that format.
func TestFallbackInAnotherForm(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, call int) {
		if call == 1 {
			http.Error(w, `{"error":{"message":"no such model"}}`, http.StatusNotFound)
			return
		}
		stream(w, 1<<20, messagesAnswer...)
	})
	c := client(t, s, map[string]string{"TAPE_FALLBACK_MODELS": "anthropic:other"}, Config{})
	r := Request{Model: "openai:one", Messages: messagesOf(`{"role":"user","content":"chat"}`), Other: func(form view.Format) ([]json.RawMessage, error) {
		return messagesOf(`{"role":"user","content":"` + string(form) + `"}`), nil
	}}
	for _, err := range c.Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if s.calls.Load() != 2 || !strings.Contains(string(s.body), `"`+string(view.Anthropic)+`"`) || strings.Contains(string(s.body), `"chat"`) {
		t.Errorf("%d calls, the last: %s", s.calls.Load(), s.body)
	}
}

// A server that only keeps the connection is not waited for without end.
func TestOnlyKeptAlive(t *testing.T) {
	for _, kept := range []string{": keep\n\n", "event: ping\ndata: {\"type\":\"ping\"}\n\n"} {
		s := serve(t, nil)
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, kept)
				w.(http.Flusher).Flush()
			}
		})
		if _, err := ask(t.Context(), clientWithSilence(t, 20*time.Millisecond, s, nil, Config{}), "anthropic:x"); err == nil || !strings.Contains(err.Error(), "sends nothing") {
			t.Errorf("error %v", err)
		}
	}
}

// After HTTP 429 the call is repeated at the time that the server names. The encoding "none", with which servers keep proxies
// from packing a stream, is none.
func TestRetry(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, call int) {
		if call == 1 {
			w.Header().Set("Retry-After-Ms", "1")
			http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Encoding", "none")
		stream(w, 1<<20, chatAnswer...)
	})
	if got, err := ask(t.Context(), client(t, s, nil, Config{}), "openai:x"); err != nil || len(got) != 7 || !strings.Contains(string(s.body), `"odd"`) {
		t.Errorf("%v, %v, want the answer to the second call: %s", got, err, s.body)
	}
}

// A broken answer is an error, and the events before are not lost.
func TestBrokenAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(w http.ResponseWriter)
		want string // in the error
	}{
		"silence":    {func(http.ResponseWriter) { testkit.Pause(3 * time.Second) }, "sends nothing for 1s"},
		"not JSON":   {func(w http.ResponseWriter) { stream(w, 9, "data: {") }, ""},
		"error":      {func(w http.ResponseWriter) { stream(w, 9, `data: {"error":{"message":"the server is overloaded"}}`) }, "overloaded"},
		"endless":    {func(w http.ResponseWriter) { endless(w) }, "longer than"},
		"connection": {func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ int) {
				stream(w, 1<<20, chatAnswer[1])
				c.end(w)
			})
			silence := time.Minute
			if name == "silence" {
				silence = time.Second
			}
			got, err := ask(t.Context(), clientWithSilence(t, silence, s, nil, Config{}), "openai:x")
			if err == nil || !strings.Contains(err.Error(), c.want) || len(got) == 0 || got[0] != `text {"delta":"日本"}` {
				t.Errorf("%.200v, %v, want the first event and an error with %q", got, err, c.want)
			}
		})
	}
}

// endless writes an answer until the client closes the connection.
func endless(w http.ResponseWriter) {
	piece := `data: {"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", 1<<16) + "\"}}]}\n\n"
	for {
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
	}
}

// Cancelling ends the call at once, and is not an error of the model.
func TestCancel(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ int) {
		stream(w, 1<<20, chatAnswer[1])
		testkit.Pause(time.Second)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var err error
	for e, e2 := range client(t, s, map[string]string{"TAPE_FALLBACK_MODELS": "openai:two"}, Config{}).Stream(ctx, Request{Model: "openai:x"}) {
		if err = e2; e.Kind == hooks.EventText {
			cancel()
		}
	}
	if !errors.Is(err, context.Canceled) || s.calls.Load() != 1 {
		t.Errorf("%v after %d calls, want that the first one is cancelled", err, s.calls.Load())
	}
}

// TestSettings: invalid models and a file of keys that others can read are refused; keys are not printed.
func TestSettings(t *testing.T) {
	none := func(string) string { return "" }
	dir := t.TempDir()
	if _, err := New(Settings{getenv: none}).Form(""); !errors.Is(err, ErrNoModel) || !errors.Is(err, hooks.ErrNoModel) {
		t.Errorf("no model: %v, want ErrNoModel", err)
	}
	for _, model := range []string{"gpt-5", "openai:", ":x", "nowhere:x"} {
		if _, err := Load(none, Config{Model: model}, filepath.Join(dir, "none")); err == nil {
			t.Errorf("%q is accepted as a model", model)
		}
	}
	file := filepath.Join(dir, "credentials.json")
	if err := os.WriteFile(file, []byte(`{"anthropic":"sk-ant-secret"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(none, Config{}, file); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a file that others can read: %v, want an error without the key", err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GROQ_BASE_URL", "http://127.0.0.1:2")
	for name, c := range map[string]Config{"OPENAI": {}, "GROQ": {}, "MY_OWN": {BaseURLs: map[string]string{"my.own": "http://127.0.0.1:3"}}} {
		t.Setenv(name+"_API_KEY", "key of "+name)
		s, err := Load(os.Getenv, c, filepath.Join(dir, "none"))
		if err != nil || !slices.Contains(s.Keys(), "key of "+name) {
			t.Errorf("the key of %s is not among those to be masked, %v", name, err)
		}
	}
	s, err := Load(none, Config{Model: "anthropic:claude", BaseURLs: map[string]string{"anthropic": "http://127.0.0.1:1"}}, file)
	if err != nil {
		t.Fatal(err)
	}
	p, id, err := s.find("")
	if err != nil || p.key != "sk-ant-secret" || p.baseURL != "http://127.0.0.1:1" || id != "claude" || p.form() != view.Anthropic {
		t.Errorf("find: %+v, id %s, %v", p, id, err)
	}
	if text := fmt.Sprintf("%v %+v", s, New(s)); strings.Contains(text, "sk-ant-secret") {
		t.Errorf("the key is in %s", text)
	}
}

// A redirect to another address gets neither the key nor the conversation.
// What is wrong with a connection for good is said once, with the way out, and the address may be that of the requests.
func TestConnections(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ int) { stream(w, 1<<20, chatAnswer...) })
	secure := httptest.NewTLSServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(secure.Close)
	for address, want := range map[string]string{secure.URL: "SSL_CERT_FILE", strings.Replace(s.URL, "http:", "https:", 1): "with http", s.URL + "/v1/chat/completions": ""} {
		_, err := ask(t.Context(), client(t, s, map[string]string{"OPENAI_BASE_URL": address}, Config{}), "openai:x")
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "times")) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	if s.path != "/v1/chat/completions" {
		t.Errorf("the request went to %s", s.path)
	}
}

func TestRedirectsToOtherHostsAreRefused(t *testing.T) {
	t.Parallel()
	other := serve(t, func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusTeapot) })
	for _, model := range []string{"anthropic:claude", "openai:gpt"} {
		s := serve(t, nil)
		s.Config.Handler = http.RedirectHandler(other.URL+"/v1/messages", http.StatusTemporaryRedirect)
		if _, err := ask(t.Context(), client(t, s, nil, Config{}), model); err == nil || other.calls.Load() > 0 {
			t.Errorf("%s: %v; the other server got %v: %s", model, err, other.header, other.body)
		} else if model == "anthropic:claude" && !strings.Contains(err.Error(), "it redirects to "+other.URL) {
			t.Errorf("error %v, want one that names the other address", err)
		}
	}
	var here *server
	here = serve(t, func(w http.ResponseWriter, call int) {
		if call == 1 {
			w.Header().Set("Location", here.URL+"/v2")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		stream(w, 1000, messagesAnswer...)
	})
	if _, err := ask(t.Context(), client(t, here, nil, Config{}), "anthropic:claude"); err != nil {
		t.Errorf("a redirect on the same host: %v", err)
	}
}
