package procplugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tape/hooks"
)

// runtimeWith returns a runtime with scripted plugins, each with its answers to hooks.
func runtimeWith(t *testing.T, answers ...map[string]reply) *hooks.Runtime {
	t.Helper()
	rt := hooks.New(slog.New(slog.DiscardHandler))
	rt.Workspace = t.TempDir()
	for i, a := range answers {
		p, err := launched(t, fmt.Sprint("p", i), script{Answers: a}, Options{Runtime: rt})
		if err != nil {
			t.Fatal(err)
		}
		register(t, rt, fmt.Sprint("p", i), 0, p.Plugin())
	}
	return rt
}

// one returns the answers of a plugin with one hook.
func one(hook string, value any) map[string]reply {
	return map[string]reply{"hook/" + hook: {Value: value}}
}

func TestAroundCalls(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	call := hooks.ModelCall{RunID: "r", Model: "a:b", Messages: []json.RawMessage{json.RawMessage(`{"role":"user"}`)}, Tools: []string{"t"}, MaxTokens: 5}
	rt := runtimeWith(t, one("before_llm_call", map[string]any{"call": map[string]any{"max_tokens": 9}}), map[string]reply{"hook/before_llm_call": {Do: "fail"}},
		one("before_llm_call", map[string]any{"call": map[string]any{"model": "c:d"}}))
	got, finish, err := rt.BeforeModelCall(ctx, call, hooks.State{})
	if err != nil || got.Model != "c:d" || got.MaxTokens != 9 || len(got.Messages) != 1 || finish != nil {
		t.Errorf("%+v, %v, wanted the changes of both plugins, and the rest as it was", got, finish)
	}
	rt = runtimeWith(t, one("before_llm_call", map[string]any{"finish": ""}))
	if _, finish, _ := rt.BeforeModelCall(ctx, call, hooks.State{}); finish == nil || *finish != "" {
		t.Errorf("finish %v, wanted an empty text", finish)
	}

	tool := hooks.ToolCall{RunID: "r", ID: "1", Tool: "bash", Arguments: json.RawMessage(`{"cmd":"ls"}`)}
	rt = runtimeWith(t, one("before_tool_call", map[string]any{"action": "deny", "message": "no"}),
		one("before_tool_call", map[string]any{"action": "proceed", "arguments": map[string]any{"cmd": "pwd"}}), map[string]reply{"hook/before_tool_call": {Do: "crash"}}, one("before_tool_call", nil))
	changed, d := rt.BeforeToolCall(ctx, tool, hooks.State{})
	if d.Action != hooks.Deny || d.Message != "no" || string(changed.Arguments) != `{"cmd":"pwd"}` {
		t.Errorf("arguments %s, decision %+v, wanted the changed arguments and deny", changed.Arguments, d)
	}
	rt = runtimeWith(t, one("before_tool_call", map[string]any{"action": "replace", "result": ""}))
	if _, d := rt.BeforeToolCall(ctx, tool, hooks.State{}); d.Action != hooks.Replace || d.Result != "" {
		t.Errorf("decision %+v, wanted an empty result as a replacement", d)
	}

	rt = runtimeWith(t, one("after_tool_call", map[string]any{"content": ""}), one("after_tool_call", nil))
	if r := rt.AfterToolCall(ctx, tool, hooks.ToolResult{Content: "long"}, nil); r.Content != "" {
		t.Errorf("result %+v, wanted an empty content", r)
	}
	if r := rt.AfterToolCall(ctx, tool, hooks.ToolResult{Content: "kept", Err: errors.New("failed")}, nil); r.Content != "kept" {
		t.Errorf("result %+v, wanted that the content of a failed call is kept", r)
	}
	rt = runtimeWith(t, one("after_tool_call", map[string]any{"error": "masked"}), one("after_tool_call", nil))
	if r := rt.AfterToolCall(ctx, tool, hooks.ToolResult{Err: errors.New("a key")}, nil); r.Err == nil || r.Err.Error() != "masked" {
		t.Errorf("result %+v, wanted the error that the plugin made of it", r)
	}
	rt = runtimeWith(t, map[string]reply{"hook/after_llm_call": {Do: "fail"}})
	if err := rt.AfterModelCall(ctx, call, hooks.ModelResult{Text: "x", Err: errors.New("e")}, hooks.State{}); err != nil {
		t.Error(err)
	}
	if r := rt.Report()[0].Plugins[0]; r.Calls != 1 || r.Failures != 1 {
		t.Errorf("report %+v, wanted 1 call and 1 failure", r)
	}
}

func TestOtherHooks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rt := runtimeWith(t, one("system_prompt", "low"), one("system_prompt", nil), one("system_prompt", ""), one("system_prompt", "high"))
	if s, err := rt.SystemPrompt(ctx, hooks.Prompt{Text: "p"}, nil); s != "low\n\nhigh" || err != nil {
		t.Errorf("system prompt: %q, %v", s, err)
	}
	rt = runtimeWith(t, one("continue_prompt", "low"), one("continue_prompt", nil))
	if p, err := rt.ContinuePrompt(ctx, hooks.Prompt{}, nil, nil); err != nil || p.Text != "low" {
		t.Errorf("prompt: %v, %v", p, err)
	}
	rt = runtimeWith(t, one("admit_message", "drop"), one("admit_message", nil))
	if a, err := rt.Admit(ctx, "s", nil, hooks.Turn{Running: true}); a != hooks.Drop || err != nil {
		t.Errorf("admission: %v, %v", a, err)
	}
	rt = runtimeWith(t, one("admit_message", "maybe"))
	if _, err := rt.Admit(ctx, "s", nil, hooks.Turn{}); err == nil {
		t.Error("an unknown admission is accepted")
	}
	rt = runtimeWith(t, one("provide_model_options", []any{map[string]any{"id": "a:b", "label": "A"}, map[string]any{"id": "c:d"}}), one("provide_model_options", nil))
	if o, err := rt.ModelOptions(ctx, "s"); err != nil || len(o) != 2 || o[0].Label != "A" {
		t.Errorf("options: %v, %v", o, err)
	}
	rt = runtimeWith(t, one("onboard_config", map[string]any{"x": 1}), one("onboard_config", nil))
	if c, err := rt.Onboard(ctx, map[string]any{"y": 2}); err != nil || fmt.Sprint(c) != "map[x:1 y:2]" {
		t.Errorf("config: %v, %v", c, err)
	}
	rt = runtimeWith(t, map[string]reply{"hook/register_cli_commands": {Value: []any{map[string]any{"name": "hello", "short": "says hello"}}}, "command/run": {Do: "echo"}})
	commands, err := rt.Commands(ctx)
	var out strings.Builder
	if err != nil || len(commands) != 1 || commands[0].Run(ctx, []string{"a"}, &out) != nil || out.String() != `{"args":["a"],"name":"hello"}` {
		t.Errorf("commands: %v, %v, %s", commands, err, out.String())
	}
}

func TestProvidedInboxStoreAndContext(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rt := runtimeWith(t, map[string]reply{"hook/provide_steering_inbox": {Value: true}, "steering/put": {}, "steering/len": {Value: 1},
		"steering/drain": {Value: []any{map[string]any{"content": "x"}}}})
	inbox, err := rt.SteeringInbox(ctx)
	if err != nil || inbox.Put(ctx, "s", hooks.Envelope{}) != nil || inbox.Len("s") != 1 {
		t.Fatalf("steering inbox: %v, %v", inbox, err)
	}
	if m, err := inbox.Drain(ctx, "s"); err != nil || m[0].Text("content") != "x" {
		t.Errorf("drained: %v, %v", m, err)
	}

	store := initStore(t)
	rt = runtimeWith(t, one("provide_tape_store", store.Dir()))
	if s, err := rt.TapeStore(ctx); err != nil || s.Dir() != store.Dir() {
		t.Errorf("tape store: %v, %v", s, err)
	}
	tp, err := store.CreateTape(ctx, "session")
	if err != nil {
		t.Fatal(err)
	}
	for want, value := range map[string]any{`[{"content":"own","role":"user"}]`: []any{json.RawMessage(`{"role":"user","content":"own"}`)}, `[]`: []any{}} {
		rt = runtimeWith(t, one("build_tape_context", value))
		build, err := rt.BuildTapeContext(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if messages, err := build(ctx, tp, "openai"); err != nil || encoded(messages) != want {
			t.Errorf("context: %s, %v, wanted %s", messages, err, want)
		}
	}
	rt = runtimeWith(t, one("build_tape_context", nil))
	build, err := rt.BuildTapeContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := build(ctx, tp, "openai"); err != nil {
		t.Errorf("null does not lead to the default context: %v", err)
	}
}

// Every hook of the contract gets a function if and only if it is listed, except provide_channels,
// which follows from the list of channels.
func TestOnlyListedHooksAreSet(t *testing.T) {
	t.Parallel()
	answers := map[string]reply{}
	var names []string
	for field := range reflect.TypeFor[hooks.Plugin]().Fields() {
		if name := field.Tag.Get("hook"); name != "" && name != "provide_channels" {
			answers["hook/"+name] = reply{}
			names = append(names, name)
		}
	}
	if got := scripted(t, script{Answers: answers}, Options{}).Plugin().Hooks(); !slices.Equal(got, names) {
		t.Errorf("hooks %v\nwanted %v", got, names)
	}
	if got := scripted(t, script{About: map[string]any{"channels": []any{map[string]any{"name": "c"}}}}, Options{}).Plugin().Hooks(); !slices.Equal(got, []string{"provide_channels"}) {
		t.Errorf("hooks of a plugin that lists a channel: %v", got)
	}
}

func TestAllHooksAreDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "plugins.md"))
	if err != nil {
		t.Fatal(err)
	}
	for field := range reflect.TypeFor[hooks.Plugin]().Fields() {
		if name := field.Tag.Get("hook"); name != "" && name != "provide_channels" && !strings.Contains(string(raw), "| `"+name+"` |") {
			t.Errorf("docs/plugins.md has no row for %s", name)
		}
	}
}
