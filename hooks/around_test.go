package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tape/hooks"
)

// The rules of the hooks around calls. Plugins are registered in this order, so the last one is
// asked first.
func TestAroundModelCalls(t *testing.T) {
	before := func(name string, ask func(hooks.ModelCall) (*hooks.ModelDecision, error)) *hooks.Plugin {
		return &hooks.Plugin{Name: name, BeforeModelCall: func(_ context.Context, c hooks.ModelCall, _ hooks.State) (*hooks.ModelDecision, error) { return ask(c) }}
	}
	addModel := func(name string) *hooks.Plugin {
		return before(name, func(c hooks.ModelCall) (*hooks.ModelDecision, error) {
			c.Model += "+" + name
			c.Messages = append(c.Messages, json.RawMessage(`"`+name+`"`))
			return &hooks.ModelDecision{Call: &c}, nil
		})
	}
	none := before("none", func(hooks.ModelCall) (*hooks.ModelDecision, error) { return nil, nil })
	for _, c := range []struct {
		name    string
		plugins []*hooks.Plugin
		want    string
	}{
		{"nobody changes the call", []*hooks.Plugin{none}, `m ["hi"] 5`},
		{"each sees the call as changed by the plugins before it", []*hooks.Plugin{addModel("b"), none, addModel("a")}, `m+a+b ["hi" "a" "b"] 5`},
		{"finish: the text is the answer, the other plugins are not asked", []*hooks.Plugin{addModel("b"), before("cap", func(hooks.ModelCall) (*hooks.ModelDecision, error) {
			return &hooks.ModelDecision{Finish: new("too dear")}, nil
		}), addModel("a")}, `m+a ["hi" "a"] 5 finished with "too dear"`},
		{"finish: an empty text is an answer", []*hooks.Plugin{before("cap", func(hooks.ModelCall) (*hooks.ModelDecision, error) {
			return &hooks.ModelDecision{Finish: new("")}, nil
		})}, `m ["hi"] 5 finished with ""`},
		{"a plugin that fails is skipped, and its changes are dropped", []*hooks.Plugin{addModel("b"), before("bad", func(c hooks.ModelCall) (*hooks.ModelDecision, error) {
			c.Messages[0] = json.RawMessage(`"spoilt"`)
			return nil, errBroken
		}), addModel("a")}, `m+a+b ["hi" "a" "b"] 5`},
		{"a plugin that panics is skipped", []*hooks.Plugin{addModel("b"), before("bad", func(hooks.ModelCall) (*hooks.ModelDecision, error) { panic("oops") })}, `m+b ["hi" "b"] 5`},
		{"only model, messages and limit can be changed", []*hooks.Plugin{before("other", func(c hooks.ModelCall) (*hooks.ModelDecision, error) {
			return &hooks.ModelDecision{Call: &hooks.ModelCall{RunID: "stolen", Model: "n", Messages: c.Messages, MaxTokens: 9}}, nil
		})}, `n ["hi"] 9`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := quiet()
			register(t, r, c.plugins...)
			call, finish, err := r.BeforeModelCall(t.Context(), hooks.ModelCall{RunID: "r", Model: "m", Messages: []json.RawMessage{[]byte(`"hi"`)}, MaxTokens: 5}, nil)
			got := fmt.Sprintf("%s %s %d", call.Model, call.Messages, call.MaxTokens)
			if finish != nil {
				got += fmt.Sprintf(" finished with %q", *finish)
			}
			if got != c.want || call.RunID != "r" || err != nil {
				t.Errorf("%s (run %s), wanted %s", got, call.RunID, c.want)
			}
		})
	}
}

func TestAroundToolCalls(t *testing.T) {
	before := func(name string, d *hooks.ToolDecision, err error) *hooks.Plugin {
		return &hooks.Plugin{Name: name, BeforeToolCall: func(_ context.Context, c hooks.ToolCall, _ hooks.State) (*hooks.ToolDecision, error) {
			if d != nil && d.Arguments != nil {
				changed := *d
				changed.Arguments = json.RawMessage(strings.ReplaceAll(string(d.Arguments), "BEFORE", string(c.Arguments)))
				return &changed, err
			}
			return d, err
		}}
	}
	none := before("none", nil, nil)
	wrap := func(name string) *hooks.Plugin {
		return before(name, &hooks.ToolDecision{Action: hooks.Proceed, Arguments: json.RawMessage(`{"` + name + `":BEFORE}`)}, nil)
	}
	for _, c := range []struct {
		name    string
		plugins []*hooks.Plugin
		want    string
	}{
		{"nobody decides: the call proceeds", []*hooks.Plugin{none}, `proceed {}`},
		{"proceed without arguments changes nothing", []*hooks.Plugin{before("p", &hooks.ToolDecision{Action: hooks.Proceed}, nil)}, `proceed {}`},
		{"each sees the arguments from the plugin before it", []*hooks.Plugin{wrap("b"), none, wrap("a")}, `proceed {"b":{"a":{}}}`},
		{"replace: the other plugins are not asked", []*hooks.Plugin{wrap("b"), before("r", &hooks.ToolDecision{Action: hooks.Replace, Result: "cached"}, nil), wrap("a")}, `replace {"a":{}} cached`},
		{"deny: the other plugins are not asked", []*hooks.Plugin{before("r", &hooks.ToolDecision{Action: hooks.Replace, Result: "cached"}, nil), before("d", &hooks.ToolDecision{Action: hooks.Deny, Message: "not here"}, nil)}, `deny {} not here`},
		{"replace: an empty result is a result", []*hooks.Plugin{before("r", &hooks.ToolDecision{Action: hooks.Replace}, nil)}, `replace {}`},
		{"a plugin that fails denies nothing", []*hooks.Plugin{wrap("b"), before("d", &hooks.ToolDecision{Action: hooks.Deny}, errBroken)}, `proceed {"b":{}}`},
		{"a plugin that panics denies nothing", []*hooks.Plugin{wrap("b"), {Name: "bad", BeforeToolCall: func(context.Context, hooks.ToolCall, hooks.State) (*hooks.ToolDecision, error) { panic("oops") }}}, `proceed {"b":{}}`},
		{"an unknown action is a failure", []*hooks.Plugin{before("d", &hooks.ToolDecision{Action: "allow"}, nil)}, `proceed {}`},
		{"arguments that are not an object are a failure", []*hooks.Plugin{before("d", &hooks.ToolDecision{Action: hooks.Proceed, Arguments: json.RawMessage(`[1]`)}, nil)}, `proceed {}`},
		{"arguments with a duplicate name are a failure", []*hooks.Plugin{before("d", &hooks.ToolDecision{Action: hooks.Proceed, Arguments: json.RawMessage(`{"a":[{"b":1,"c":2,"b":3}]}`)}, nil)}, `proceed {}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := quiet()
			register(t, r, c.plugins...)
			call, d := r.BeforeToolCall(t.Context(), hooks.ToolCall{ID: "1", Tool: "bash", Arguments: json.RawMessage(`{}`)}, nil)
			got := strings.TrimSpace(fmt.Sprintf("%s %s %s%s", d.Action, call.Arguments, d.Result, d.Message))
			if got != c.want || call.Tool != "bash" {
				t.Errorf("%s, wanted %s", got, c.want)
			}
		})
	}
}

func TestAfterCalls(t *testing.T) {
	after := func(name, text string, err error) *hooks.Plugin {
		return &hooks.Plugin{Name: name, AfterToolCall: func(_ context.Context, _ hooks.ToolCall, r *hooks.ToolResult, _ hooks.State) error {
			r.Content += text
			return err
		}}
	}
	for _, c := range []struct {
		name    string
		plugins []*hooks.Plugin
		result  hooks.ToolResult
		want    string
	}{
		{"each may change the content from the plugin before it", []*hooks.Plugin{after("b", "+b", nil), after("a", "+a", nil)}, hooks.ToolResult{Content: "x"}, "x+a+b"},
		{"the content of a call that failed stays", []*hooks.Plugin{after("a", "+a", nil)}, hooks.ToolResult{Content: "x", Err: errBroken}, "x"},
		{"the change of a plugin that fails is dropped", []*hooks.Plugin{after("b", "+b", nil), after("a", "+a", errBroken)}, hooks.ToolResult{Content: "x"}, "x+b"},
		{"a plugin that panics is skipped", []*hooks.Plugin{after("b", "+b", nil), {Name: "bad", AfterToolCall: func(context.Context, hooks.ToolCall, *hooks.ToolResult, hooks.State) error { panic("oops") }}}, hooks.ToolResult{Content: "x"}, "x+b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := quiet()
			register(t, r, c.plugins...)
			if got := r.AfterToolCall(t.Context(), hooks.ToolCall{}, c.result, nil); got.Content != c.want || !errors.Is(got.Err, c.result.Err) {
				t.Errorf("%+v, wanted %s", got, c.want)
			}
		})
	}

	r, seen := quiet(), ""
	for _, name := range []string{"b", "bad", "a"} {
		register(t, r, &hooks.Plugin{Name: name, AfterModelCall: func(_ context.Context, _ hooks.ModelCall, res hooks.ModelResult, _ hooks.State) error {
			if name == "bad" {
				panic("oops")
			}
			seen += name + ":" + res.Text + " "
			return errBroken
		}})
	}
	if err := r.AfterModelCall(t.Context(), hooks.ModelCall{}, hooks.ModelResult{Text: "x"}, nil); err != nil {
		t.Error(err)
	}
	if seen != "a:x b:x " {
		t.Errorf("after_llm_call: seen %q, want \"a:x b:x \"", seen)
	}
}

// If a name occurs twice, a guard and a tool may read different values.
func TestDuplicateArgumentsAreDenied(t *testing.T) {
	asked := false
	r := quiet()
	register(t, r, &hooks.Plugin{Name: "guard", BeforeToolCall: func(context.Context, hooks.ToolCall, hooks.State) (*hooks.ToolDecision, error) {
		asked = true
		return nil, nil
	}})
	for arguments, want := range map[string]string{
		`{"cmd":"ls","cmd":"rm"}`:                             `denied: the arguments have "cmd" twice`,
		`{"cmd":"ls","\u0063md":"rm"}`:                        `denied: the arguments have "cmd" twice`,
		`{"a":{"b":[[],{"c":"d","d":{},"c":"e"}]}}`:           `denied: the arguments have "c" twice`,
		`{"a":"a","b":["b","b"],"c":{"a":"c","b":[{},{}]}}`:   "",
		`{"a":[{"x":1},{"x":2}],"x":{"x":{"x":["x"]},"y":1}}`: "",
	} {
		asked = false
		_, d := r.BeforeToolCall(t.Context(), hooks.ToolCall{Tool: "bash", Arguments: json.RawMessage(arguments)}, nil)
		if d.Message != want || asked != (want == "") || (d.Action == hooks.Deny) != (want != "") {
			t.Errorf("%s: got %+v, asked %v; want message %q", arguments, d, asked, want)
		}
	}
}
