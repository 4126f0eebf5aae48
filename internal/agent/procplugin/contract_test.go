package procplugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"tape/hooks"
)

// turn is one turn and what is wanted of it.
type turn struct {
	message  hooks.Envelope
	plugins  []any       // script or *hooks.Plugin, in the order of registration
	priority map[int]int // by index in plugins

	session  string // "": any
	output   string
	sent     []string // the contents of messages; nil: any
	fails    string   // a part of the error; "": none
	events   string   // "": any
	asked    []string // the calls of hooks that another process gets; nil: any
	observed []string // the errors that OnError of a Go plugin gets; nil: any
}

// answering is a plugin with one hook.
func answering(hook string, value any) script {
	return script{Answers: map[string]reply{"hook/" + hook: {Value: value}}}
}

func model(text string) *hooks.Plugin {
	return &hooks.Plugin{RunModel: func(_ context.Context, p hooks.Prompt, _ string, _ hooks.State) (*string, error) {
		return new(text + p.Text), nil
	}}
}

func failing() *hooks.Plugin {
	return &hooks.Plugin{RunModel: func(context.Context, hooks.Prompt, string, hooks.State) (*string, error) {
		return nil, errors.New("the model is out")
	}}
}

func stateTeller(key string) *hooks.Plugin {
	return &hooks.Plugin{RunModel: func(_ context.Context, _ hooks.Prompt, _ string, s hooks.State) (*string, error) {
		return new(fmt.Sprint(s[key])), nil
	}}
}

func streaming(r reply) script { return script{Answers: map[string]reply{"hook/run_model_stream": r}} }

func said(texts ...string) []hooks.Event {
	var events []hooks.Event
	for _, t := range texts {
		events = append(events, hooks.Text(t))
	}
	return events
}

var turns = map[string]turn{
	"resolve_session: null is no answer": {
		message: hooks.Envelope{"channel": "tg", "chat_id": 7.0, "content": "hi"},
		plugins: []any{model(""), answering("resolve_session", nil)}, session: "tg:7", output: "hi",
	},
	"resolve_session: an empty answer counts, and leads to the fallback": {
		plugins: []any{model(""), answering("resolve_session", "low"), answering("resolve_session", "")}, session: "default:default", output: "hi",
	},
	"resolve_session: the plugin that was registered last is asked first": {
		plugins: []any{model(""), answering("resolve_session", "first"), answering("resolve_session", "second")}, session: "second", output: "hi",
	},
	"resolve_session: the priority comes before the order": {
		plugins: []any{model(""), answering("resolve_session", "first"), answering("resolve_session", "second")}, priority: map[int]int{1: 5}, session: "first", output: "hi",
	},
	"resolve_session: a value of another type is an error": {
		plugins: []any{model(""), answering("resolve_session", 0)}, fails: `plugin "p1": resolve_session: the value 0 does not fit`,
	},
	"load_state: the plugin that was registered last wins": {
		plugins: []any{stateTeller("k"), answering("load_state", map[string]any{"k": "low"}), answering("load_state", map[string]any{"k": "high"})}, output: "high",
	},
	"load_state: zero wins too": {
		plugins: []any{stateTeller("k"), answering("load_state", map[string]any{"k": "low"}), answering("load_state", map[string]any{"k": 0})}, output: "0",
	},
	"load_state: a key that only one plugin sets stays": {
		plugins: []any{stateTeller("k"), answering("load_state", map[string]any{"k": "low"}), answering("load_state", map[string]any{}), answering("load_state", nil)}, output: "low",
	},
	"build_prompt: text": {plugins: []any{model("m:"), answering("build_prompt", "built")}, output: "m:built"},
	"build_prompt: an empty answer is the content, and lower ones are not asked": {
		plugins: []any{model("m:"), answering("build_prompt", "low"), answering("build_prompt", "")}, output: "m:hi",
	},
	"build_prompt: parts, and no model": {
		plugins: []any{answering("build_prompt", []any{map[string]any{"type": "text", "text": "x"}, map[string]any{"type": "image_url"}})}, output: "hi",
		asked: []string{`hook/save_state {"error":null,"message":{"content":"hi","session_id":"default:default"},"model_output":"hi","session_id":"default:default","state":{"_runtime_workspace":"W","tape_workspace":"T"}}`},
	},
	"run_model": {plugins: []any{answering("run_model", "answer")}, output: "answer", events: "text:answer"},
	"run_model: an empty answer counts": {
		plugins: []any{model("low"), answering("run_model", "")}, output: "", sent: []string{""}, events: "text:",
	},
	"run_model: after null, the next plugin is asked": {plugins: []any{model("low:"), answering("run_model", nil)}, output: "low:hi", events: "text:low:hi"},
	"run_model: without any answer, the output is the prompt": {
		plugins: []any{answering("run_model", nil)}, output: "hi", observed: []string{"run_model: no plugin has run the model"},
	},
	"run_model_stream: deltas joined": {
		plugins: []any{streaming(reply{Events: append(said("a", "b"), hooks.Event{Kind: "usage", Data: map[string]any{"input_tokens": 1}}, hooks.Event{Kind: "own"})})},
		output:  "ab", events: "text:a text:b usage own",
	},
	"run_model_stream: null falls back on run_model": {
		plugins: []any{script{Answers: map[string]reply{"hook/run_model_stream": {}, "hook/run_model": {Value: "text"}}}}, output: "text", events: "text:text",
	},
	"run_model_stream: a text is one event": {plugins: []any{streaming(reply{Value: "whole"})}, output: "whole", events: "text:whole"},
	"run_model_stream: an error after events": {
		plugins: []any{streaming(reply{Events: said("a"), Do: "fail-after", Text: "broken off"})}, fails: `plugin "p0": run_model_stream: broken off`, events: "text:a",
		asked:    []string{`hook/save_state {"error":"plugin \"p0\": run_model_stream: broken off","message":{"content":"hi","session_id":"default:default"},"model_output":"","session_id":"default:default","state":{"_runtime_workspace":"W","tape_workspace":"T"}}`},
		observed: []string{`turn: plugin "p0": run_model_stream: broken off`},
	},
	"run_model_stream: a crash after events": {
		plugins: []any{streaming(reply{Events: said("a"), Do: "crash-after"})}, fails: "the process ended: exit status 4", events: "text:a",
	},
	"save_state: called after a failing model, with the error": {
		plugins: []any{failing()}, fails: "the model is out",
		asked: []string{`hook/save_state {"error":"plugin \"p0\": run_model: the model is out","message":{"content":"hi","session_id":"default:default"},"model_output":"","session_id":"default:default","state":{"_runtime_workspace":"W","tape_workspace":"T"}}`},
	},
	"save_state: an error ends the turn": {
		plugins: []any{model(""), script{Answers: map[string]reply{"hook/save_state": {Do: "fail", Text: "full"}}}}, fails: `plugin "p1": save_state: full`,
	},
	"render_outbound: all batches, without null and empty ones": {
		plugins: []any{model(""), answering("render_outbound", []any{map[string]any{"content": "low"}}), answering("render_outbound", nil),
			answering("render_outbound", []any{}), answering("render_outbound", []any{map[string]any{"content": "a"}, nil, map[string]any{"content": "b"}})},
		output: "hi", sent: []string{"a", "b", "low"},
	},
	"render_outbound: without any message, the output is sent": {
		message: hooks.Envelope{"content": "hi", "channel": "c", "chat_id": "1"},
		plugins: []any{model("m:"), answering("render_outbound", []any{})}, session: "c:1", output: "m:hi", sent: []string{"m:hi"},
	},
	"dispatch_outbound: every plugin gets every message": {
		plugins: []any{model(""), answering("render_outbound", []any{map[string]any{"content": "a"}, map[string]any{"content": "b"}}), answering("dispatch_outbound", false)},
		output:  "hi", sent: []string{"a", "b"},
	},
	"dispatch_outbound: an error ends the turn": {
		plugins: []any{model(""), script{Answers: map[string]reply{"hook/dispatch_outbound": {Do: "fail", Text: "no way"}}}}, fails: `dispatch_outbound: no way`,
	},
	"on_error: a crash does not stop other plugins": {
		plugins: []any{failing(), script{Answers: map[string]reply{"hook/on_error": {Do: "crash"}}}}, fails: "the model is out",
		observed: []string{`turn: plugin "p0": run_model: the model is out`},
	},
	"state/set changes the turn's state": {
		plugins: []any{stateTeller("k"), script{Answers: map[string]reply{"hook/build_prompt": {Requests: []plainRequest{{Method: "state/set", Params: map[string]any{"key": "k", "value": "v"}}}}}}},
		output:  "v",
	},
}

func TestContract(t *testing.T) {
	t.Parallel()
	for name, c := range turns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

func (c turn) run(t *testing.T) {
	rt := hooks.New(slog.New(slog.DiscardHandler))
	rt.Workspace, rt.Tapes = "W", "T"
	file := temp(t, "seen")
	var sent, observed, events []string
	register(t, rt, "observer", 0, &hooks.Plugin{
		OnError: func(_ context.Context, stage string, err error, _ hooks.Envelope) error {
			observed = append(observed, stage+": "+err.Error())
			return nil
		},
		DispatchOutbound: func(_ context.Context, m hooks.Envelope) (bool, error) {
			sent = append(sent, m.Text("content"))
			return true, nil
		},
	})
	if c.asked != nil {
		p, err := launched(t, "seen", script{Seen: file, Answers: map[string]reply{"hook/save_state": {}}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		register(t, rt, "seen", 0, p.Plugin())
	}
	for i, p := range c.plugins {
		name := fmt.Sprint("p", i)
		q, ok := p.(*hooks.Plugin)
		if !ok {
			process, err := launched(t, name, p.(script), Options{})
			if err != nil {
				t.Fatal(err)
			}
			q = process.Plugin()
		} else {
			clone := *q
			q = &clone
		}
		register(t, rt, name, c.priority[i], q)
	}
	m := c.message.Clone()
	if m == nil {
		m = hooks.Envelope{"content": "hi"}
	}
	res, err := rt.Process(t.Context(), m, hooks.Options{OnEvent: func(_ context.Context, _ hooks.Envelope, e hooks.Event) {
		shown := e.Kind
		if e.Kind == hooks.EventText {
			shown += ":" + hooks.Envelope(e.Data).Text("delta")
		}
		events = append(events, shown)
	}})
	c.check(t, res, err, sent, observed, events)
	if c.asked != nil {
		var lines []string
		for line := range strings.Lines(seen(t, file)) {
			if strings.HasPrefix(line, "hook/") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		if !slices.Equal(lines, c.asked) {
			t.Errorf("asked\n%s\nwanted\n%s", strings.Join(lines, "\n"), strings.Join(c.asked, "\n"))
		}
	}
}

func (c turn) check(t *testing.T, res *hooks.Result, err error, sent, observed, events []string) {
	t.Helper()
	if c.fails != "" {
		wantError(t, err, c.fails)
	} else if err != nil {
		t.Fatal(err)
	} else if res.Output != c.output || c.session != "" && res.Session != c.session {
		t.Errorf("session %q, output %q, wanted %q, %q", res.Session, res.Output, c.session, c.output)
	}
	if c.sent != nil && !slices.Equal(sent, c.sent) {
		t.Errorf("sent %q, wanted %q", sent, c.sent)
	}
	if c.observed != nil && !slices.Equal(observed, c.observed) {
		t.Errorf("observed %q, wanted %q", observed, c.observed)
	}
	if got := strings.Join(events, " "); c.events != "" && got != c.events {
		t.Errorf("events %q, wanted %q", got, c.events)
	}
}

func register(t *testing.T, rt *hooks.Runtime, name string, priority int, q *hooks.Plugin) {
	t.Helper()
	q.Name, q.Priority = name, priority
	if err := rt.Register(q); err != nil {
		t.Fatal(err)
	}
}
