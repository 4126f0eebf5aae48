package procplugin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"tape/hooks"
)

// guard registers a required plugin. decide returns the decision on a call of a tool.
func guard(t *testing.T, s script, o Options, command ...string) (p *Process, decide func() hooks.ToolDecision) {
	t.Helper()
	rt := hooks.New(slog.New(slog.DiscardHandler))
	p, _ = started(t, Config{Name: "guard", Required: true, Command: command}, s, o)
	if err := rt.Register(p.Plugin()); err != nil {
		t.Fatal(err)
	}
	return p, func() hooks.ToolDecision {
		_, d := rt.BeforeToolCall(t.Context(), hooks.ToolCall{Tool: "bash", Arguments: json.RawMessage(`{"cmd":"rm -rf /"}`)}, hooks.State{})
		return d
	}
}

func wantDenied(t *testing.T, d hooks.ToolDecision, why string) {
	t.Helper()
	if d.Action != hooks.Deny || !strings.Contains(d.Message, `the required plugin "guard" failed`) || !strings.Contains(d.Message, why) {
		t.Errorf("decision %+v, wanted deny with %q", d, why)
	}
}

// A required plugin that does not decide denies the call, however it fails.
func TestARequiredPluginThatFailsDenies(t *testing.T) {
	t.Parallel()
	const hook = "hook/before_tool_call"
	lists := map[string]any{"hooks": []any{map[string]any{"name": "before_tool_call"}}}
	short := quick()
	short.hook, short.initialize = 200*time.Millisecond, 200*time.Millisecond
	for _, c := range []struct {
		name string
		s    script
		why  string
	}{
		{"an error", script{Answers: map[string]reply{hook: {Do: "fail", Text: "no idea"}}}, "no idea"},
		{"two results", script{Answers: map[string]reply{hook: {Do: "raw", Text: `{"jsonrpc":"2.0","id":ID,"result":{"value":{"action":"deny"}},"result":{"value":null}}`}}}, "its answer is not one of JSON-RPC 2.0"},
		{"two results in different case", script{Answers: map[string]reply{hook: {Do: "raw", Text: `{"jsonrpc":"2.0","id":ID,"result":{"value":{"action":"deny"}},"Result":{"value":null}}`}}}, "its answer is not one of JSON-RPC 2.0"},
		{"a crash", script{Answers: map[string]reply{hook: {Do: "crash"}}}, "the process ended: exit status 3"},
		{"silence", script{Answers: map[string]reply{hook: {Do: "hang"}}}, "no answer within 200ms"},
		{"stray output", script{Answers: map[string]reply{hook: {Do: "stray", N: 200}}}, "100 stray lines"},
		{"an exit at the start", script{About: lists, Answers: map[string]reply{"initialize": {Do: "crash"}}}, "it is off: initialize: the process ended"},
		{"no answer to initialize", script{About: lists, Answers: map[string]reply{"initialize": {Do: "hang"}}}, "it is off: initialize: no answer within 200ms"},
		{"another protocol", script{About: map[string]any{"protocol": 2, "hooks": lists["hooks"]}}, "it speaks protocol 2; this host speaks 1"},
		{"a hook that does not exist", script{About: map[string]any{"hooks": []any{map[string]any{"name": "before_tool_calls"}}}}, "it lists the hook"},
		{"no hook that decides", script{About: map[string]any{"hooks": []any{map[string]any{"name": "system_prompt"}}}}, "lists none of the hooks around calls"},
		{"no hook", script{About: map[string]any{"name": "guard"}}, "lists none of the hooks around calls"},
		{"neither result nor error", script{Answers: map[string]reply{hook: {Do: "raw", Text: `{"jsonrpc":"2.0","id":ID}`}}}, "neither a result nor an error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			limits := quick()
			if strings.Contains(c.why, "no answer") {
				limits = short
			}
			_, decide := guard(t, c.s, Options{limits: limits})
			wantDenied(t, decide(), c.why)
		})
	}
	_, decide := guard(t, script{}, Options{}, "/no/such/program")
	wantDenied(t, decide(), "it is off: fork/exec /no/such/program")
}

func TestARequiredPluginThatIsOffDenies(t *testing.T) {
	t.Parallel()
	p, decide := guard(t, script{Answers: map[string]reply{"hook/before_tool_call": {Do: "crash"}}}, Options{})
	for range 4 {
		wantDenied(t, decide(), "exit status 3")
	}
	eventually(t, p, "off: ")
	wantDenied(t, decide(), "it is off: the process ended: exit status 3")

	once := temp(t, "once")
	p, decide = guard(t, script{Once: once, Answers: map[string]reply{
		"initialize":            {Do: "raw", Text: `{"jsonrpc":"2.0","id":ID,"result":{"hooks":[{"name":"before_tool_call"}]}}`},
		"hook/before_tool_call": {Do: "crash"},
	}}, Options{})
	if err := os.Remove(once); err != nil {
		t.Fatal(err)
	}
	wantDenied(t, decide(), "exit status 3")
	eventually(t, p, "off: it lists other hooks")
	wantDenied(t, decide(), "it is off: it lists other hooks")
}

// Calls by another plugin pass the same guards.
func TestARequiredPluginDeniesCallsOfPlugins(t *testing.T) {
	t.Parallel()
	rt := hooks.New(slog.New(slog.DiscardHandler))
	register(t, rt, "tools", 0, &hooks.Plugin{Tools: []hooks.Tool{{Name: "touch", Run: func(context.Context, hooks.ToolContext, json.RawMessage) (string, error) {
		t.Error("the tool runs")
		return "", nil
	}}}})
	p, _ := started(t, Config{Name: "guard", Required: true, Command: []string{"/no/such/program"}}, script{}, Options{})
	if err := rt.Register(p.Plugin()); err != nil {
		t.Fatal(err)
	}
	call := plainRequest{Method: "tool/call", Params: params{"name": "touch"}}
	alone := call
	alone.Params, alone.Alone = params{"name": "touch"}, true
	const denied = `error -32000: denied: the required plugin "guard" failed: it is off: fork/exec /no/such/program: no such file or directory`
	wantLines(t, answersOf(t, Options{Runtime: rt}, nil, call, alone, plainRequest{Method: "tool/call", Params: params{"name": "touch", "arguments": []any{}}}),
		denied, denied, "error -32602: the arguments are an object")
}

// An answer after the timeout does not count, neither for its call nor for the next one.
func TestALateProceedDoesNotCount(t *testing.T) {
	t.Parallel()
	short := quick()
	short.hook = 100 * time.Millisecond
	p, decide := guard(t, script{Answers: map[string]reply{"hook/before_tool_call": {Do: "late", Value: map[string]any{"action": "proceed"}}}}, Options{limits: short})
	for range 3 {
		wantDenied(t, decide(), "no answer within 100ms")
	}
	if s := p.Status(); !strings.HasPrefix(s, "running") || strings.Contains(s, "stray") {
		t.Errorf("status %q, wanted running, without stray lines", s)
	}
}

// A value that a hook does not accept is an error of that hook, which says what it accepts.
func TestAnswersAreChecked(t *testing.T) {
	t.Parallel()
	tool := hooks.ToolCall{Tool: "bash", Arguments: json.RawMessage(`{}`)}
	model := hooks.ModelCall{RunID: "r", Model: "a:b", Tools: []string{"t"}}
	ask := map[string]func(q *hooks.Plugin) error{
		"before_tool_call": func(q *hooks.Plugin) error { _, err := q.BeforeToolCall(t.Context(), tool, nil); return err },
		"after_tool_call": func(q *hooks.Plugin) error {
			return q.AfterToolCall(t.Context(), tool, &hooks.ToolResult{}, nil)
		},
		"before_llm_call": func(q *hooks.Plugin) error { _, err := q.BeforeModelCall(t.Context(), model, nil); return err },
		"after_llm_call": func(q *hooks.Plugin) error {
			return q.AfterModelCall(t.Context(), model, hooks.ModelResult{}, nil)
		},
		"resolve_session": func(q *hooks.Plugin) error { _, err := q.ResolveSession(t.Context(), nil); return err },
		"build_prompt":    func(q *hooks.Plugin) error { _, err := q.BuildPrompt(t.Context(), nil, "s", nil); return err },
		"admit_message":   func(q *hooks.Plugin) error { _, err := q.AdmitMessage(t.Context(), "s", nil, hooks.Turn{}); return err },
		"load_state":      func(q *hooks.Plugin) error { _, err := q.LoadState(t.Context(), nil, "s"); return err },
		"save_state":      func(q *hooks.Plugin) error { return q.SaveState(t.Context(), "s", nil, nil, "") },
		"render_outbound": func(q *hooks.Plugin) error { _, err := q.RenderOutbound(t.Context(), nil, "s", nil, ""); return err },
		"provide_model_options": func(q *hooks.Plugin) error {
			_, err := q.ProvideModelOptions(t.Context(), "s")
			return err
		},
	}
	for hook, wrong := range map[string][]string{
		"before_tool_call": {`{"value":{"action":"DENY"}}`, `{"value":{"Action":"proceed"}}`, `{"value":{"decision":"deny"}}`, `{"value":{"action":"proceed","deny":true}}`,
			`{"value":{"action":"deny","action":"proceed"}}`, `{"value":{"action":true}}`, `{"value":{"action":"deny","message":7}}`, `{"value":"deny"}`, `{"value":false}`, `{"value":[]}`,
			`{"value":{"action":"proceed","arguments":"x"}}`, `{"value":{}}`, `{}`, `{"action":"deny"}`, `{"Value":null}`, `{"value":null,"deny":true}`, `"deny"`, `false`},
		"after_tool_call": {`{"value":{"text":"x"}}`, `{"value":{"content":7}}`, `{"value":"x"}`},
		"before_llm_call": {`{"value":{"deny":true}}`, `{"value":{"finish":7}}`, `{"value":{"call":{"modell":"x"}}}`, `{"value":{"call":{"tools":[]}}}`, `{"value":{"call":{"messages":["x"]}}}`,
			`{"value":{"call":{"max_tokens":-1}}}`, `{"value":{"call":[]}}`, `{"value":"deny"}`},
		"after_llm_call":        {`{"value":{"action":"deny"}}`, `{"value":false}`},
		"resolve_session":       {`{"value":7}`},
		"build_prompt":          {`{"value":{}}`, `{"value":["x"]}`},
		"admit_message":         {`{"value":"DROP"}`, `{"value":false}`},
		"load_state":            {`{"value":[]}`},
		"save_state":            {`{"value":{"deny":true}}`},
		"render_outbound":       {`{"value":["x"]}`, `{"value":{}}`},
		"provide_model_options": {`{"value":["a:b"]}`},
	} {
		for _, result := range wrong {
			t.Run(hook+" "+result, func(t *testing.T) {
				t.Parallel()
				method := "hook/" + hook
				p := scripted(t, script{Answers: map[string]reply{method: {Do: "raw", Text: fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"result":%s}`, result)}}}, Options{})
				rt, q := hooks.New(slog.New(slog.DiscardHandler)), p.Plugin()
				err := ask[hook](q)
				if hook == "before_tool_call" && err == nil { // some values are checked by the runtime, for plugins in Go too
					register(t, rt, "guard", 0, q)
					rt.BeforeToolCall(t.Context(), tool, nil)
					if report := rt.Report()[0].Plugins[0]; report.Failures == 1 {
						return
					}
				}
				if err == nil || !strings.Contains(err.Error(), "does not fit") && !strings.Contains(err.Error(), `is not {"value": x}`) {
					t.Errorf("error %v, wanted one about the value", err)
				}
				if err != nil && strings.Contains(err.Error(), "does not fit") && !strings.Contains(err.Error(), "the hook takes "+answerForm(hook)) {
					t.Errorf("%v does not say what the hook takes", err)
				}
			})
		}
	}
	// All members of the Go struct are accepted.
	raw, err := json.Marshal(map[string]any{"value": hooks.ToolDecision{Action: hooks.Proceed}})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := toolDecision(raw[len(`{"value":`) : len(raw)-1]); err != nil || d.Action != hooks.Proceed || d.Arguments != nil {
		t.Errorf("%+v, %v", d, err)
	}
}
