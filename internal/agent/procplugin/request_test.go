package procplugin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tape/hooks"
	"tape/internal/testkit"
	"tape/repo"
)

type params = map[string]any

// requesting is a plugin whose build_prompt sends requests to the host and returns the answers.
func requesting(list ...plainRequest) script {
	return script{Answers: map[string]reply{"hook/build_prompt": {Requests: list}}}
}

// answersOf returns the host's answers, a line each.
func answersOf(t *testing.T, o Options, s hooks.State, list ...plainRequest) []string {
	t.Helper()
	prompt, err := scripted(t, requesting(list...), o).Plugin().BuildPrompt(t.Context(), hooks.Envelope{}, "mine", s)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(prompt.Text, "\n")
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	for i, line := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], line) {
			t.Errorf("answers\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			return
		}
	}
}

func TestPluginUsesTapes(t *testing.T) {
	t.Parallel()
	store := initStore(t)
	type key struct{}
	o := Options{Tape: func(ctx context.Context, session string) (*repo.Tape, error) {
		if (session == "mine") != (ctx.Value(key{}) != nil) {
			t.Errorf("session %q: the context does not belong to the call", session)
		}
		tp, err := store.Tape(ctx, session)
		if errors.Is(err, repo.ErrNotFound) {
			return store.CreateTape(ctx, session)
		}
		return tp, err
	}}
	list := []plainRequest{
		{Method: "tape/append", Params: params{"entries": []any{params{"kind": "message", "payload": params{"role": "user", "content": "zebra crossing"}}}}},
		{Method: "tape/query", Params: params{"kinds": []string{"message"}}},
		{Method: "tape/search", Params: params{"query": "zebra", "limit": 1}},
		{Method: "tape/query", Params: params{"authors": []string{"nobody"}}},
		{Method: "tape/handoff", Params: params{"name": "phase-1", "summary": "done", "state": params{"a": 1}}},
		{Method: "tape/query", Params: params{"after": "phase-1"}},
		{Method: "tape/query", Params: params{"session_id": "other", "since": "nonsense"}, Alone: true},
		{Method: "tape/search", Params: params{"query": "zebra", "limit": -1}},
		{Method: "tape/query", Alone: true},
		{Method: "tape/query", Params: params{"afetr": "x"}},
		{Method: "tape/append", Params: params{"entries": []any{params{"kind": "anchor", "payload": params{"name": "x"}}}}},
		{Method: "tape/burn"},
	}
	q := scripted(t, requesting(list...), o).Plugin()
	prompt, err := q.BuildPrompt(context.WithValue(t.Context(), key{}, true), hooks.Envelope{}, "mine", hooks.State{})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, strings.Split(prompt.Text, "\n"),
		`{"ids":[2]}`,
		`{"entries":[{"id":2,"kind":"message","payload":{"content":"zebra crossing","role":"user"}`,
		`{"hits":[{"entry":{"id":2,`,
		`{"entries":[]}`,
		`{"anchor":"phase-1","commit":"`,
		`{"entries":[]}`,
		`error -32000: since: "nonsense" is not a date`,
		`error -32000: limit must not be negative`,
		`error -32602: which tape?`,
		`error -32602: json: unknown field "afetr"`,
		`error -32000: an anchor cannot be appended`,
		`error -32601: there is no method "tape/burn"`)
	report, err := store.Verify(t.Context())
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("verify: %+v, %v", report, err)
	}
}

func TestPluginSetsState(t *testing.T) {
	t.Parallel()
	s := hooks.State{"func": func() {}}
	got := answersOf(t, Options{}, s,
		plainRequest{Method: "state/set", Params: params{"key": "k", "value": params{"a": 1}}},
		plainRequest{Method: "state/set", Params: params{"value": 1}},
		plainRequest{Method: "state/set", Params: params{"key": "k"}, Alone: true},
		plainRequest{Method: "state/set", Params: params{"key": "k", "call_id": 99}, Alone: true})
	wantLines(t, got, `{}`, `error -32602: state/set wants`, `error -32602: state/set wants the call_id`, `error -32000: params.call_id names no running call`)
	if encoded(s["k"]) != `{"a":1}` || s["func"] == nil {
		t.Errorf("state %v, wanted k to be set and func to stay", s)
	}
	s = nil
	wantLines(t, answersOf(t, Options{}, s, plainRequest{Method: "state/set", Params: params{"key": "k"}}), `error -32000: hook/build_prompt has no state`)
}

func TestPluginCallsTools(t *testing.T) {
	t.Parallel()
	rt := hooks.New(slog.New(slog.DiscardHandler))
	register(t, rt, "tools", 0, &hooks.Plugin{
		Tools: []hooks.Tool{{Name: "upper", Run: func(_ context.Context, c hooks.ToolContext, a json.RawMessage) (string, error) {
			return c.Session + " " + strings.ToUpper(string(a)), nil
		}}, {Name: "slow", Run: func(ctx context.Context, _ hooks.ToolContext, _ json.RawMessage) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}}},
		BeforeToolCall: func(_ context.Context, c hooks.ToolCall, _ hooks.State) (*hooks.ToolDecision, error) {
			if strings.Contains(string(c.Arguments), "rm") {
				return &hooks.ToolDecision{Action: hooks.Deny, Message: "denied"}, nil
			}
			return nil, nil
		},
	})
	var log testkit.Buffer
	got := answersOf(t, Options{Runtime: rt, Log: slog.New(slog.NewTextHandler(&log, nil))}, nil,
		plainRequest{Method: "tool/call", Params: params{"name": "upper", "arguments": params{"a": "b"}}},
		plainRequest{Method: "tool/call", Params: params{"name": "upper", "arguments": params{"a": "rm"}}},
		plainRequest{Method: "tool/call", Params: params{"name": "none"}},
		plainRequest{Method: "tool/call", Params: params{"name": "slow"}, Cancel: true},
		plainRequest{Method: "tool/call", Params: params{"name": "slow"}, Alone: true, Cancel: true},
		plainRequest{Method: "log", Params: params{"level": "warn", "message": "hello\x1b[31m"}},
		plainRequest{Method: "channel/receive", Params: params{"channel": "x", "message": params{}}})
	wantLines(t, got, `{"content":"mine {\"A\":\"B\"}"}`, `error -32000: denied`, `error -32000: there is no tool "none"`,
		`error -32800: cancelled`, `error -32800: cancelled`, `{}`, `error -32000: the channel "x" is not started`)
	if !strings.Contains(log.String(), `level=WARN msg=hello\x1b[31m plugin=scripted`) {
		t.Errorf("the plugin's message is not in the log: %s", log.String())
	}
}

// The host cancels the requests within a call together with the call. While it serves a request, the timeout of
// the call does not pass.
func TestRequestsWithinACall(t *testing.T) {
	t.Parallel()
	rt := hooks.New(slog.New(slog.DiscardHandler))
	register(t, rt, "tools", 0, &hooks.Plugin{Tools: []hooks.Tool{{Name: "slow", Run: func(ctx context.Context, _ hooks.ToolContext, _ json.RawMessage) (string, error) {
		testkit.Pause(time.Second)
		return "slept", ctx.Err()
	}}}})
	l := quick()
	l.hook = 300 * time.Millisecond
	wantLines(t, answersOf(t, Options{Runtime: rt, limits: l}, nil, plainRequest{Method: "tool/call", Params: params{"name": "slow"}}), `{"content":"slept"}`)

	q := scripted(t, requesting(plainRequest{Method: "tool/call", Params: params{"name": "slow"}}), Options{Runtime: rt}).Plugin()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	from := time.Now()
	if _, err := q.BuildPrompt(ctx, nil, "s", nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(from) > 900*time.Millisecond {
		t.Errorf("%v after %s, wanted that the deadline is exceeded at once", err, time.Since(from))
	}
}

func TestPluginOffersTools(t *testing.T) {
	t.Parallel()
	p := scripted(t, script{
		About: params{"tools": []any{
			params{"name": "echo", "description": "says it", "schema": params{"type": "object", "properties": params{}}},
			params{"name": "bare", "timeout_ms": 200}, params{"name": "bad"}}},
		Answers: map[string]reply{"tool/call": {Do: "echo"}},
	}, Options{})
	tools := p.Plugin().Tools
	if len(tools) != 3 || tools[0].Description != "says it" || string(tools[1].Schema) != `{"type":"object"}` {
		t.Fatalf("tools %+v", tools)
	}
	got, err := tools[0].Run(t.Context(), hooks.ToolContext{Session: "s", CallID: "c", State: hooks.State{"k": 1}}, json.RawMessage(`{"a":1}`))
	if want := `{"arguments":{"a":1},"name":"echo","session_id":"s","state":{"k":1},"tool_call_id":"c"}`; got != want || err != nil {
		t.Errorf("%s, %v, wanted %s", got, err, want)
	}
	for _, r := range []reply{{Do: "fail", Text: "no\x1b"}, {Do: "hang"}, {Value: params{"x": 1}}, {}} {
		p := scripted(t, script{About: params{"tools": []any{params{"name": "x", "timeout_ms": 200}}}, Answers: map[string]reply{"tool/call": r}}, Options{})
		text, err := p.Plugin().Tools[0].Run(t.Context(), hooks.ToolContext{}, json.RawMessage(`{}`))
		switch {
		case r.Do == "fail":
			wantError(t, err, `no\x1b`)
		case r.Do == "hang":
			wantError(t, err, "no answer within 200ms")
		case r.Value != nil && text != `{"x":1}` || r.Value == nil && text != "" || err != nil:
			t.Errorf("the value %v: %q, %v", r.Value, text, err)
		}
	}
}

func TestPluginOffersChannels(t *testing.T) {
	t.Parallel()
	ctx, file := t.Context(), temp(t, "seen")
	p := scripted(t, script{Seen: file,
		About: params{"channels": []any{params{"name": "shown", "events": true}, params{"name": "plain"}},
			"hooks": []any{params{"name": "resolve_session"}, params{"name": "build_prompt"}}},
		Answers: map[string]reply{resolve: {Do: "crash"}, "channel/start": {}, "channel/stop": {}, "channel/send": {},
			"hook/build_prompt": {Requests: []plainRequest{{Method: "channel/receive", Alone: true, Params: params{"channel": "shown", "message": params{"content": "in", "chat_id": "7"}}}}}},
	}, Options{})
	var got []hooks.Envelope
	q := p.Plugin()
	channels, err := q.ProvideChannels(ctx, func(_ context.Context, m hooks.Envelope) error {
		if len(got) > 0 {
			return errors.New("full disk")
		}
		got = append(got, m)
		return nil
	})
	if err != nil || len(channels) != 2 || channels[0].Name() != "shown" {
		t.Fatalf("channels %v, %v", channels, err)
	}
	receive := func(want string) {
		t.Helper()
		if prompt, err := q.BuildPrompt(ctx, nil, "s", nil); err != nil || prompt.Text != want {
			t.Errorf("channel/receive: %v, %v, wanted %s", prompt, err, want)
		}
	}
	receive(`error -32000: the channel "shown" is not started`)
	if err := channels[0].Start(ctx); err != nil {
		t.Fatal(err)
	}
	receive(`{}`)
	receive(`error -32000: full disk`)
	if encoded(got) != `[{"channel":"shown","chat_id":"7","content":"in"}]` {
		t.Errorf("received %v", got)
	}
	if err := channels[0].Send(ctx, hooks.Envelope{"content": "out"}); err != nil {
		t.Error(err)
	}
	w, watches := channels[0].(hooks.EventWatcher)
	if _, also := channels[1].(hooks.EventWatcher); !watches || also {
		t.Fatalf("channels with and without events watch them: %v, %v", watches, also)
	}
	w.OnEvent(ctx, hooks.Envelope{"content": "in"}, hooks.Text("a"))
	if _, err := q.ResolveSession(ctx, nil); err == nil {
		t.Error("the plugin has not crashed")
	}
	if err := channels[1].Start(ctx); err != nil {
		t.Error(err)
	}
	receive(`error -32000: full disk`)
	if err := channels[0].Stop(ctx); err != nil {
		t.Error(err)
	}
	receive(`error -32000: the channel "shown" is not started`)
	text := seen(t, file)
	for _, line := range []string{`channel/send {"channel":"shown","message":{"content":"out"}}`,
		`channel/event {"channel":"shown","data":{"delta":"a"},"kind":"text","message":{"content":"in"}}`, `channel/stop {"channel":"shown"}`} {
		if strings.Count(text, line+"\n") != 1 {
			t.Errorf("the plugin did not get this line once: %s", line)
		}
	}
	if n := strings.Count(text, `channel/start {"channel":"shown"}`); n != 2 {
		t.Errorf("the channel was started %d times, wanted 2: again after the restart", n)
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	l := quick()
	l.long = 300 * time.Millisecond
	// The timeout begins again with each event.
	slow := reply{Events: said("a", "b", "c", "d", "e"), N: 100, Do: "silent-after"}
	q := scripted(t, script{Answers: map[string]reply{"hook/run_model_stream": slow}}, Options{limits: l}).Plugin()
	s, err := q.RunModelStream(t.Context(), hooks.Prompt{}, "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range s {
		if n++; n == 6 {
			wantError(t, e, "no answer within 300ms")
		} else if e != nil {
			t.Error(e)
		}
	}
	if n != 6 {
		t.Errorf("%d events and errors, wanted 6", n)
	}
	for text, want := range map[string]string{`"seq":2,"kind":"text"`: "seq is 2 after 0; it counts from 1", `"seq":1,"kind":""`: "no kind", `"seq":"x"`: "cannot unmarshal"} {
		q := scripted(t, script{Answers: map[string]reply{"hook/run_model_stream": {Do: "raw", Text: `{"jsonrpc":"2.0","method":"model/event","params":{"call_id":ID,` + text + `}}`}}}, Options{}).Plugin()
		_, err := q.RunModelStream(t.Context(), hooks.Prompt{}, "s", nil)
		wantError(t, err, want)
	}

	// To stop reading events cancels the call; later events are dropped, and do not count as stray.
	p := scripted(t, script{Answers: map[string]reply{"hook/run_model_stream": {Events: said("a", "b", "c"), N: 50}, resolve: {Value: "there"}}}, Options{})
	if s, err = p.Plugin().RunModelStream(t.Context(), hooks.Prompt{}, "s", nil); err != nil {
		t.Fatal(err)
	}
	for _, err := range s {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if got, err := askSession(p); got != "there" || err != nil || strings.Contains(p.Status(), "stray") {
		t.Errorf("the next call: %q, %v, status %s", got, err, p.Status())
	}

	// Events that are not read are limited.
	l2 := quick()
	l2.queue = 500
	p = scripted(t, script{Answers: map[string]reply{"hook/run_model_stream": {Events: said("a", "b", "c", "d", "e", "f", "g", "h")}}}, Options{limits: l2})
	if s, err = p.Plugin().RunModelStream(t.Context(), hooks.Prompt{}, "s", nil); err != nil {
		t.Fatal(err)
	}
	testkit.Pause(100 * time.Millisecond)
	var last error
	for _, err := range s {
		last = err
	}
	wantError(t, last, "more than 500 bytes of events wait")
}

func BenchmarkHook(b *testing.B) {
	q := scripted(b, answering("resolve_session", "s"), Options{}).Plugin()
	m := hooks.Envelope{"content": strings.Repeat("x", 1000), "channel": "cli", "chat_id": "1"}
	for b.Loop() {
		if _, err := q.ResolveSession(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
}
