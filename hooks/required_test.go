package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"tape/hooks"
)

// decider is a plugin that decides on calls of tools.
func decider(name string, required bool, decide func(c hooks.ToolCall) (*hooks.ToolDecision, error)) *hooks.Plugin {
	return &hooks.Plugin{Name: name, Required: required, BeforeToolCall: func(_ context.Context, c hooks.ToolCall, _ hooks.State) (*hooks.ToolDecision, error) {
		return decide(c)
	}}
}

func arguments(raw string) func(hooks.ToolCall) (*hooks.ToolDecision, error) {
	return func(hooks.ToolCall) (*hooks.ToolDecision, error) {
		return &hooks.ToolDecision{Action: hooks.Proceed, Arguments: json.RawMessage(raw)}, nil
	}
}

func action(name string) func(hooks.ToolCall) (*hooks.ToolDecision, error) {
	return func(hooks.ToolCall) (*hooks.ToolDecision, error) { return &hooks.ToolDecision{Action: name}, nil }
}

func TestRequiredPluginsDecideOrDeny(t *testing.T) {
	sees := func(text string) func(hooks.ToolCall) (*hooks.ToolDecision, error) {
		return func(c hooks.ToolCall) (*hooks.ToolDecision, error) {
			if strings.Contains(string(c.Arguments), text) {
				return &hooks.ToolDecision{Action: hooks.Deny, Message: "seen"}, nil
			}
			return nil, nil
		}
	}
	for _, c := range []struct {
		name    string
		plugins []*hooks.Plugin // the last is asked first
		want    string
	}{
		{"a nil decision approves", []*hooks.Plugin{decider("g", true, sees("rm"))}, "proceed"},
		{"an error", []*hooks.Plugin{decider("g", true, func(hooks.ToolCall) (*hooks.ToolDecision, error) { return nil, errBroken })}, `deny denied: the required plugin "g" failed: broken`},
		{"a panic", []*hooks.Plugin{decider("g", true, func(hooks.ToolCall) (*hooks.ToolDecision, error) { panic("oops") })}, `deny denied: the required plugin "g" failed: panic: oops`},
		{"an unknown action", []*hooks.Plugin{decider("g", true, action("DENY"))}, `deny denied: the required plugin "g" failed: unknown action "DENY": use proceed, replace or deny`},
		{"no action", []*hooks.Plugin{decider("g", true, action(""))}, `deny denied: the required plugin "g" failed: unknown action "": use proceed, replace or deny`},
		{"arguments that are not an object", []*hooks.Plugin{decider("g", true, arguments(`[]`))}, `deny denied: the required plugin "g" failed: the arguments are not a JSON object`},
		{"a guard sees the changes of other plugins", []*hooks.Plugin{decider("other", false, arguments(`{"cmd":"rm"}`)), decider("g", true, sees("rm"))}, "deny seen"},
		{"an approved call cannot be changed", []*hooks.Plugin{decider("wrap", true, arguments(`{"cmd":"rm"}`)), decider("g", true, sees("rm"))},
			`deny denied: plugin "wrap" changed the call after the required plugin "g" had approved it; give "wrap" the higher priority`},
		{"a plugin asked before the guard may change the call", []*hooks.Plugin{decider("g", true, sees("rm")), decider("wrap", true, arguments(`{"cmd":"rm"}`))}, "deny seen"},
		{"the same JSON spelt differently is not a change", []*hooks.Plugin{decider("wrap", true, arguments(`{ "cmd" : "\u006cs" }`)), decider("g", true, sees("rm"))}, "proceed"},
		{"a denial without a message", []*hooks.Plugin{decider("g", true, action(hooks.Deny))}, `deny denied by plugin "g"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := quiet()
			register(t, r, c.plugins...)
			_, d := r.BeforeToolCall(t.Context(), hooks.ToolCall{Tool: "bash", Arguments: json.RawMessage(`{"cmd":"ls"}`)}, nil)
			if got := strings.TrimSpace(d.Action + " " + d.Message); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
	if err := quiet().Register(&hooks.Plugin{Name: "g", Required: true}); err == nil {
		t.Error("a required plugin without hooks around calls was registered, want an error")
	}
	r := quiet()
	register(t, r, decider("g", false, func(hooks.ToolCall) (*hooks.ToolDecision, error) { return nil, context.Canceled }))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, d := r.BeforeToolCall(ctx, hooks.ToolCall{}, nil); d.Action != hooks.Deny {
		t.Errorf("a call in a cancelled turn: got %+v, want deny", d)
	}
}

func TestRequiredAroundModelsAndResults(t *testing.T) {
	broken := &hooks.Plugin{Name: "g", Required: true,
		BeforeModelCall: func(context.Context, hooks.ModelCall, hooks.State) (*hooks.ModelDecision, error) {
			return nil, errBroken
		},
		AfterModelCall: func(context.Context, hooks.ModelCall, hooks.ModelResult, hooks.State) error { return errBroken },
		AfterToolCall:  func(context.Context, hooks.ToolCall, *hooks.ToolResult, hooks.State) error { return errBroken },
	}
	r := quiet()
	register(t, r, broken)
	if _, _, err := r.BeforeModelCall(t.Context(), hooks.ModelCall{}, nil); err == nil || err.Error() != `the call of the model is denied: the required plugin "g" failed: broken` {
		t.Errorf("before a call of the model: got %v, want a denial", err)
	}
	if err := r.AfterModelCall(t.Context(), hooks.ModelCall{}, hooks.ModelResult{}, nil); err == nil || err.Error() != `the model's answer is not used: the required plugin "g" failed: broken` {
		t.Errorf("after a call of the model: got %v, want that the answer is not used", err)
	}
	if res := r.AfterToolCall(t.Context(), hooks.ToolCall{}, hooks.ToolResult{Content: "secret"}, nil); res.Content != "" || res.Err == nil || !strings.Contains(res.Err.Error(), "its result is withheld") {
		t.Errorf("after a call of a tool: got %+v, want that the result is withheld", res)
	}
	changes := &hooks.Plugin{Name: "late", Required: true, BeforeModelCall: func(_ context.Context, c hooks.ModelCall, _ hooks.State) (*hooks.ModelDecision, error) {
		c.Model = "other"
		return &hooks.ModelDecision{Call: &c}, nil
	}}
	approves := &hooks.Plugin{Name: "g", Required: true, BeforeModelCall: func(context.Context, hooks.ModelCall, hooks.State) (*hooks.ModelDecision, error) { return nil, nil }}
	r = quiet()
	register(t, r, changes, approves)
	if _, _, err := r.BeforeModelCall(t.Context(), hooks.ModelCall{}, nil); err == nil || !strings.Contains(err.Error(), `plugin "late" changed the call`) {
		t.Errorf("got %v, want that plugin \"late\" changed the call", err)
	}
}

// The user learns once that a plugin is skipped, and once in a turn that a guard denies; each time
// through observers, before the turn goes on.
func TestFailuresAroundCallsAreReported(t *testing.T) {
	r := quiet()
	var told []string
	errTool := errors.New("exit code 1")
	broken := func(context.Context, hooks.ToolCall, *hooks.ToolResult, hooks.State) error { return errBroken }
	guard := decider("guard", true, action("DENY"))
	guard.AfterToolCall = broken
	register(t, r, &hooks.Plugin{Name: "witness",
		OnError: func(_ context.Context, stage string, err error, m hooks.Envelope) error {
			told = append(told, m.Text(hooks.KeyContent)+" "+stage+": "+err.Error())
			return nil
		},
		RunModel: func(ctx context.Context, _ hooks.Prompt, _ string, s hooks.State) (*string, error) {
			for range 3 {
				r.BeforeToolCall(ctx, hooks.ToolCall{Tool: "bash", Arguments: json.RawMessage(`{}`)}, s)
				if res := r.AfterToolCall(ctx, hooks.ToolCall{Tool: "bash"}, hooks.ToolResult{Err: errTool}, s); res.Err == nil || !strings.HasPrefix(res.Err.Error(), "the call failed, and its error is withheld: ") {
					t.Errorf("after a call that failed: got %v, want that its error is withheld", res.Err)
				}
			}
			return new("done"), nil
		}},
		guard, decider("other", false, action("DENY")), &hooks.Plugin{Name: "reader", Required: true, AfterToolCall: broken})
	for _, text := range []string{"one", "two"} {
		if _, err := r.Process(t.Context(), hooks.Envelope{hooks.KeyContent: text}, hooks.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	const why = `unknown action "DENY": use proceed, replace or deny`
	want := []string{
		`one before_tool_call: plugin "other" failed and is skipped: ` + why,
		`one before_tool_call: denied: the required plugin "guard" failed: ` + why,
		`one after_tool_call: the required plugin "reader" failed: broken`,
		`two before_tool_call: denied: the required plugin "guard" failed: ` + why,
		`two after_tool_call: the required plugin "reader" failed: broken`,
	}
	if !slices.Equal(told, want) {
		t.Errorf("told\n%s\nwanted\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
}

// An error event in a stream is reported at once, before it and the rest of the stream are shown, even if the stream
// then fails.
func TestStreamErrorsAreReportedAsTheyCome(t *testing.T) {
	r := quiet()
	var seen []string
	register(t, r, &hooks.Plugin{Name: "witness", OnError: func(_ context.Context, stage string, err error, _ hooks.Envelope) error {
		seen = append(seen, stage+" "+err.Error())
		return nil
	}}, streaming(errBroken, hooks.Text("a"), hooks.Event{Kind: hooks.EventError, Data: map[string]any{"message": "overloaded"}}, hooks.Text("b")))
	_, err := r.Process(t.Context(), hooks.Envelope{}, hooks.Options{OnEvent: func(_ context.Context, _ hooks.Envelope, e hooks.Event) { seen = append(seen, e.Kind) }})
	if err == nil || len(seen) != 5 || strings.Join(seen[:4], ", ") != "text, run_model overloaded, error, text" {
		t.Errorf("seen %q (%v), want text, run_model overloaded, error, text, then an error", seen, err)
	}
}
