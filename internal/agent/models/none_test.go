package models

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"tape/hooks"
)

// An answer that is none is an error that says why. What may pass is tried again, and a fallback is asked.
// (openclaw/openclaw#84697, zeenie-ai/OpenCompany#114, earendil-works/pi#8462, google/adk-python#6195, letta-ai/letta-code#3508,
// earendil-works/pi#2537, QwenLM/qwen-code#3516, OpenRouterTeam/openrouter-examples#67)
func TestNoAnswer(t *testing.T) {
	plain := func(kind, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		}
	}
	events := func(list ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { stream(w, 1<<20, list...) }
	}
	for name, c := range map[string]struct {
		model  string
		answer func(http.ResponseWriter)
		want   string // words of the error, with | between them
		calls  int
	}{
		"html":           {"openai:x", plain("text/html", "<html><head><title>Log in</title></head></html>"), `/v1/chat/completions|HTML "Log in"|text/html|base_urls`, 1},
		"error, 200":     {"openai:x", plain("application/json", `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`), "Unexpected endpoint|status 200|/v1", 1},
		"overload, 200":  {"openai:x", plain("application/json", `{"error":{"message":"overloaded","code":529}}`), "overloaded|tried 3 times", 3},
		"detail, 200":    {"openai:x", plain("application/json", `{"detail":"Not Found"}`), "Not Found", 1},
		"msg, 200":       {"openai:x", plain("application/json", `{"code":1113,"msg":"the balance is used up","success":false}`), "the balance is used up|status 200", 1},
		"base_resp, 200": {"openai:x", plain("application/json", `{"choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`), "insufficient balance", 1},
		"nothing":        {"openai:x", plain("text/event-stream", ""), "answered with nothing|tried 3 times", 3},
		"done alone":     {"openai:x", events("data: [DONE]"), "answered nothing", 1},
		"empty":          {"openai:x", events(chat("stop", `{"role":"assistant","content":""}`)...), "answered nothing|finish_reason stop|/v1/chat/completions, text/event-stream", 1},
		"blank":          {"openai:x", events(chat("stop", `{"content":" \n"}`)...), "answered nothing", 1},
		"thoughts alone": {"openai:x", events(chat("stop", `{"reasoning_content":"hm"}`)...), "only thought", 1},
		"filter":         {"openai:x", events(chat("content_filter", `{"content":""}`)...), "filter|content_filter|other words", 1},
		"refusal":        {"openai:x", events(chat("stop", `{"refusal":"I will "}`, `{"refusal":"not."}`)...), "refuses to answer: I will not.", 1},
		"reason error":   {"openai:x", events(chat("error", `{"content":""}`)...), "broke the answer off|tried 3 times", 3},
		"text, 200":      {"openai:x", plain("text/plain", "upstream connect error or disconnect"), "upstream connect error|tried 3 times", 3},
		"null, 200":      {"openai:x", plain("application/json", "null"), "no model says: null", 3},
		"{}, 200":        {"openai:x", plain("application/json", "{}"), "status 200: {}", 1},
		"html with mark": {"openai:x", plain("text/html", "\uFEFF<html><title>Log in</title>"), `HTML "Log in"`, 1},
		"broken chunks": {"openai:x", func(w http.ResponseWriter) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nRetry-After-Ms: 1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
				_ = c.Close()
			}
		}, "/v1/chat/completions|tried 3 times", 3},
		"packed": {"openai:x", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "\x8b\x02")
		}, "packed with br|proxy", 1},
		"error in words": {"openai:x", events("event: error\ndata: upstream broke"), "sent an error: upstream broke|tried 3 times", 3},
		"no content":     {"openai:x", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }, "answered with nothing|tried 3 times", 3},
		"image filter":   {"openai:x", events(chat("IMAGE_SAFETY", `{"content":""}`)...), "filter", 1},
		"cancelled":      {"r:x", events(`data: {"type":"response.cancelled","response":{"status":"cancelled"}}`), "has been cancelled|/responses, text/event-stream", 1},
		"moved": {"openai:x", func(w http.ResponseWriter) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusMovedPermanently)
		}, "it redirects to|/elsewhere|make it the address", 1},
		"limit of a day": {"openai:x", func(w http.ResponseWriter) {
			w.Header().Del("Retry-After-Ms")
			_, _ = fmt.Fprintf(w, `{"error":{"message":"Rate limit exceeded: free-models-per-day","code":429,"metadata":{"headers":{"X-RateLimit-Reset":"%d"}}}}`, time.Now().Add(5*time.Hour).UnixMilli())
		}, "free-models-per-day|try again in 5 h", 1},
		"error event":  {"openai:x", events("event: error\ndata: {\"message\":\"overloaded\"}"), "openai:x|overloaded|/v1/chat/completions, text/event-stream|tried 3 times", 3},
		"error, a bug": {"openai:x", events(`data: {"error":{"message":"no such tool parser","type":"BadRequestError","code":400}}`), "no such tool parser", 1},
		"llama.cpp":    {"openai:x", events(`error: {"code":500,"message":"Failed to decode","type":"server_error"}`), "Failed to decode|tried 3 times", 3},
		"no end":       {"openai:x", events(chatAnswer[0]), "broke off|tried 3 times", 3},
		"no name":      {"openai:x", events(chat("tool_calls", piece("0", "a", "", `{"a":1}`))...), "without a name", 1},
		"responses only": {"openai:x", func(w http.ResponseWriter) {
			http.Error(w, `{"error":{"message":"Function tools are not supported with this model in /v1/chat/completions. Please use /v1/responses."}}`, 400)
		}, `tape config apis '{"openai": "responses"}'`, 1},
		"another API":     {"openai:x", events(messagesAnswer...), `speaks another API: messages|apis '{"openai": "messages"}'`, 1},
		"chat in one":     {"anthropic:x", plain("application/json", `{"object":"chat.completion","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`), `apis '{"anthropic": "chat"}'`, 1},
		"cut thoughts":    {"openai:x", events(chat("length", `{"reasoning_content":"hm"}`)...), "has used all its output|max_tokens", 1},
		"window":          {"openai:x", events(chat("model_context_window_exceeded", `{"content":""}`)...), "the context is too long", 1},
		"claude empty":    {"anthropic:x", events(messagesAnswer[0], "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}", messagesAnswer[13]), "answered nothing|end_turn|/v1/messages, text/event-stream", 1},
		"calls, and none": {"anthropic:x", events(messagesAnswer[0], "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}", messagesAnswer[13]), "answered nothing|tool_use|tried 3 times", 3},
		"claude refuses":  {"anthropic:x", events(messagesAnswer[0], "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"}}", messagesAnswer[13]), "refuses to answer|other words", 1},
		"claude no end":   {"anthropic:x", events(messagesAnswer[:4]...), "broke off", 3},
		"used up": {"openai:x", func(w http.ResponseWriter) {
			http.Error(w, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}`, http.StatusTooManyRequests)
		}, "used up", 1},
		"used up for days": {"openai:x", func(w http.ResponseWriter) {
			w.Header().Del("Retry-After-Ms")
			http.Error(w, `{"error":{"message":"Monthly usage limit reached. Resets in 16 days."}}`, http.StatusTooManyRequests)
		}, "try again in 16 days", 1},
		"no money": {"openai:x", func(w http.ResponseWriter) {
			http.Error(w, `{"error":{"message":"Insufficient credits","code":402}}`, http.StatusPaymentRequired)
		}, "used up", 1},
		"long wait": {"openai:x", func(w http.ResponseWriter) {
			w.Header().Del("Retry-After-Ms")
			w.Header().Set("Retry-After", "7200")
			http.Error(w, `{"error":{"message":"Rate limit reached"}}`, http.StatusTooManyRequests)
		}, "the server says: try again in 2 h", 1},
		"wait in words": {"openai:x", func(w http.ResponseWriter) {
			w.Header().Del("Retry-After-Ms")
			http.Error(w, `{"error":{"message":"Rate limit reached. Please try again in 1h30m."}}`, http.StatusTooManyRequests)
		}, "try again in 90 min", 1},
		"no retry": {"openai:x", func(w http.ResponseWriter) {
			w.Header().Set("X-Should-Retry", "false")
			http.Error(w, `{"error":{"message":"broken"}}`, 500)
		}, "broken", 1},
		"hidden cause": {"openai:x", func(w http.ResponseWriter) {
			http.Error(w, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"the model is not ready\"}}","provider_name":"Acme"}}}`, 400)
		}, "Provider returned error|the model is not ready|Acme", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ int) {
				w.Header().Set("Retry-After-Ms", "1")
				c.answer(w)
			})
			_, err := ask(t.Context(), client(t, s, nil, Config{APIs: map[string]string{"r": "responses"}, BaseURLs: map[string]string{"r": s.URL}}), c.model)
			if err == nil {
				t.Fatal("no error")
			}
			for words := range strings.SplitSeq(c.want, "|") {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("no %q in the error: %v", words, err)
				}
			}
			if n := int(s.calls.Load()); n != c.calls || (c.calls == 1) == strings.Contains(err.Error(), "times") {
				t.Errorf("%d calls, want %d: %v", n, c.calls, err)
			}
			if errors.Is(err, ErrCut) != (name == "cut thoughts") || errors.Is(err, ErrContextLength) != (name == "window") {
				t.Errorf("the error wraps another one: %v", err)
			}
		})
	}
}

// A call that the model has written as text is not an answer.
func TestCallAsText(t *testing.T) {
	for text, want := range map[string]bool{
		"<tool_call>\n{\"name\":\"bash\"}\n</tool_call>": true, "I look.\n<tool_call>\n<function=bash>\n</function>\n</tool_call>": true, "<function=bash><parameter=cmd>ls</parameter></function>": true,
		"Models write <tool_call> before a call.":       false,
		"<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"x\">": true, "I look.\n\n< | DSML | tool_calls>\n</|DSML|calls>": true, "The tag <｜DSML｜x> is DeepSeek's.": false, "<|python_tag|>{}": true, "Done.": false, "The tag is\n`</tool_call>`": false,
	} {
		if isCallText(text) != want {
			t.Errorf("%q is a call: %v", text, !want)
		}
	}
	s := serve(t, func(w http.ResponseWriter, _ int) {
		stream(w, 1<<20, chat("stop", `{"content":"<tool_call>{}</tool_call>"}`)...)
	})
	if _, err := ask(t.Context(), client(t, s, nil, Config{}), "openai:x", hooks.Tool{Name: "bash"}); err == nil || !strings.Contains(err.Error(), "--jinja") {
		t.Errorf("error %v", err)
	}
	if _, err := ask(t.Context(), client(t, s, nil, Config{}), "openai:x"); err != nil {
		t.Errorf("without tools: %v", err)
	}
	a := answer{tools: []hooks.Tool{{Name: "fs.read"}}}
	for text, want := range map[string]bool{`{"name":"fs_read","arguments":{"path":"x"}}`: true, "```json\n{\"name\":\"fs_read\",\"parameters\":{}}\n```": true,
		`{"name":"tape","version":"1"}`: false, `{"name":"fs_read"}`: false, `["fs_read"]`: false, "": false} {
		if a.isBareCall(text) != want {
			t.Errorf("%q is a call: %v", text, !want)
		}
	}
}

// The fallback is asked for what only looked like success.
func TestFallbackAfterNoAnswer(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, call int) {
		if call == 1 {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
			return
		}
		stream(w, 1<<20, chatAnswer...)
	})
	got, err := ask(t.Context(), client(t, s, map[string]string{"TAPE_FALLBACK_MODELS": "openai:two"}, Config{}), "openai:one")
	if err != nil || !strings.Contains(got[len(got)-1], "openai:two") {
		t.Errorf("%v, %v", got, err)
	}
}

// A wait is announced with its length, and what is tried again answers.
func TestWaitIsAnnounced(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, call int) {
		if call == 1 {
			w.Header().Set("Retry-After", "1")
			http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
			return
		}
		stream(w, 1<<20, chatAnswer...)
	})
	got, err := ask(t.Context(), client(t, s, nil, Config{}), "openai:x")
	if err != nil || !strings.HasPrefix(got[0], "notice") || !strings.Contains(got[0], "slow down; trying again in 1 s") {
		t.Errorf("%v, %v", got, err)
	}
}

// Answers in one object are answers: not every server streams.
func TestWholeAnswers(t *testing.T) {
	for model, body := range map[string]string{
		"openai:x":    `{"object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"all","tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}}]}}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`,
		"anthropic:x": `{"type":"message","role":"assistant","content":[{"type":"text","text":"all"},{"type":"tool_use","id":"a","name":"bash","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":7,"output_tokens":3}}`,
		"r:x":         `{"object":"response","status":"completed","output":[{"type":"reasoning","summary":[]},{"type":"message","content":[{"type":"output_text","text":"all"}]},{"type":"function_call","call_id":"a","name":"bash","arguments":"{}"}],"usage":{"input_tokens":7,"output_tokens":3}}`,
	} {
		s := serve(t, func(w http.ResponseWriter, _ int) { _, _ = io.WriteString(w, body) })
		c := Config{Whole: true, APIs: map[string]string{"r": "responses"}, BaseURLs: map[string]string{"r": s.URL + "/v1"}}
		got, err := ask(t.Context(), client(t, s, nil, c), model)
		if all := strings.Join(got, "\n"); err != nil || !strings.Contains(all, `text {"delta":"all"}`) || !strings.Contains(all, `"name":"bash"`) || !strings.Contains(all, `"input_tokens":7`) || !strings.Contains(string(s.body), `"stream":false`) {
			t.Errorf("%s: %v, %v to %s", model, got, err, s.body)
		}
	}
}

// A cut answer is one, with a mark; a call that was cut has one, too.
func TestCutAnswer(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ int) {
		stream(w, 1<<20, chat("length", `{"content":"first, se"}`, piece("0", "a", "bash", `{"cmd":"rm -rf x`), piece("1", "b", "bash", `{}`), piece("2", "c", "bash", `{"cmd":"x"}`))...)
	})
	cut := map[string]any{}
	for e, err := range client(t, s, nil, Config{MaxTokens: 500}).Stream(t.Context(), Request{Model: "openai:x"}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case hooks.EventToolCall:
			cut[e.Data["id"].(string)] = e.Data[CallCut]
		case hooks.EventFinal:
			cut["final"] = e.Data[FinalCut]
		}
	}
	if cut["final"] != 500 || cut["a"] != true || cut["b"] != nil || cut["c"] != true || !strings.Contains(string(s.body), `"max_completion_tokens":500`) {
		t.Errorf("%v to %s", cut, s.body)
	}
}

// TestWaitIn: some proxies write the seconds to wait with a unit, or in a header of a draft (duolahypercho/codex-router#573).
func TestWaitIn(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for value, want := range map[string]time.Duration{"2": 2 * time.Second, "0": 0, "2s": 2 * time.Second, "1m30s": 90 * time.Second, now.Add(time.Minute).UTC().Format(http.TimeFormat): time.Minute} {
		for _, name := range []string{"Retry-After", "RateLimit-Reset"} {
			if got, ok := waitIn(http.Header{http.CanonicalHeaderKey(name): {value}}, 429, now); got != want || !ok {
				t.Errorf("%s: %s is %s, want %s", name, value, got, want)
			}
		}
	}
	until := http.Header{"Ratelimit-Reset": {strconv.FormatInt(now.Unix()+60, 10)}} // of GitLab
	if got, ok := waitIn(until, 429, now); got != time.Minute || !ok {
		t.Errorf("until a time: %s", got)
	}
	for _, status := range []int{0, 502} { // the limit is not reached
		if got, ok := waitIn(http.Header{"Ratelimit-Reset": {"3000"}}, status, now); ok {
			t.Errorf("status %d waits %s", status, got)
		}
	}
}

// Servers say in words how long to wait.
func TestWaitSaid(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"Please try again in 1.378s.": 1378 * time.Millisecond, "Please retry in 34.5s": 34500 * time.Millisecond, `"retryDelay":"34s"`: 34 * time.Second,
		"Your quota will reset after 27h41m36s": 27*time.Hour + 41*time.Minute + 36*time.Second, "Monthly usage limit reached. Resets in 16 days.": 384 * time.Hour,
		"try again in 2 hours and 5 minutes": 125 * time.Minute, "try again later": 0, "retry in a while": 0, "try again in 20ms": 20 * time.Millisecond,
	} {
		if got, ok := waitSaid(text); got != want || ok != (want > 0) {
			t.Errorf("%q says %s (%v), want %s", text, got, ok, want)
		}
	}
}

func TestSpoken(t *testing.T) {
	for d, want := range map[time.Duration]string{500 * time.Millisecond: "0.5 s", 2 * time.Second: "2 s", 90 * time.Second: "90 s", 5 * time.Minute: "5 min", 2 * time.Hour: "2 h", 100 * time.Hour: "4 days"} {
		if got := spoken(d); got != want {
			t.Errorf("%s is %s, want %s", d, got, want)
		}
	}
}
