package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tape/hooks"
	"tape/internal/agent/models"
)

// A plugin's own model leaves its turn on the tape: the prompt before the model runs, the answer
// before it is sent.
func TestModelOfAPlugin(t *testing.T) {
	var h *host
	asked := 0
	answers := map[string]*hooks.Plugin{
		"run_model": {Name: "own", RunModel: func(ctx context.Context, p hooks.Prompt, _ string, _ hooks.State) (*string, error) {
			asked++
			h.wantTape("anchor session/start", "user: hello")
			return new("the answer"), nil
		}},
		"run_model_stream": {Name: "own", RunModelStream: func(context.Context, hooks.Prompt, string, hooks.State) (hooks.Stream, error) {
			asked++
			return func(yield func(hooks.Event, error) bool) {
				h.wantTape("anchor session/start", "user: hello")
				_ = yield(hooks.Text("the "), nil) && yield(hooks.Text("answer"), nil)
			}, nil
		}},
	}
	for name, plugin := range answers {
		t.Run(name, func(t *testing.T) {
			h, asked = newHost(t, newStore(t), nil, nil), 0
			h.register(plugin)
			h.register(&hooks.Plugin{Name: "last", DispatchOutbound: func(context.Context, hooks.Envelope) (bool, error) {
				h.wantTape("anchor session/start", "user: hello", "assistant: the answer", "run ok", "loop.step ok")
				return true, nil
			}})
			for range 2 { // the message comes again, as after a crash
				if r := h.mustTurn("m", "hello"); r.Output != "the answer" || r.NoModel {
					t.Errorf("the turn gives %+v, want the answer", r)
				}
			}
			if run := string(h.entries()[3].Payload); !strings.Contains(run, `"plugin":"own"`) || asked != 1 {
				t.Errorf("the model was asked %d times, want once; the event run, which should name the plugin: %s", asked, run)
			}
		})
	}
}

// A failure is recorded, and a plugin that declines leaves the turn to the next one.
func TestModelOfAPluginThatDoesNotAnswer(t *testing.T) {
	h := newHost(t, newStore(t), nil, nil)
	h.register(&hooks.Plugin{Name: "own", RunModel: func(context.Context, hooks.Prompt, string, hooks.State) (*string, error) {
		return nil, errors.New("it is broken")
	}})
	if _, err := h.turn(t.Context(), "m", "hello"); err == nil {
		t.Error("a turn whose model fails gives no error")
	}
	h.wantTape("anchor session/start", "user: hello", "error model_error", "run error", "loop.step error")

	h = newHost(t, newStore(t), func(int, models.Request) hooks.Stream { return says("mine") }, nil)
	h.register(&hooks.Plugin{Name: "own", RunModelStream: func(context.Context, hooks.Prompt, string, hooks.State) (hooks.Stream, error) { return nil, nil }})
	if r := h.mustTurn("m", "hello"); r.Output != "mine" {
		t.Errorf("the built-in model does not answer: %+v", r)
	}
	h.wantTape("anchor session/start", "user: hello", "system", "assistant: mine", "run ok", "loop.step ok")
}

// The texts of a plugin's steps are separated, like those of the built-in model (TestTurn).
func TestStepsOfAPlugin(t *testing.T) {
	h := newHost(t, newStore(t), nil, nil)
	h.register(&hooks.Plugin{Name: "own", RunModelStream: func(context.Context, hooks.Prompt, string, hooks.State) (hooks.Stream, error) {
		return func(yield func(hooks.Event, error) bool) {
			for _, e := range []hooks.Event{hooks.Text("I "), hooks.Text("look."), {Kind: hooks.EventToolCall}, {Kind: hooks.EventToolResult}, hooks.Text("Do"), hooks.Text("ne.")} {
				if !yield(e, nil) {
					return
				}
			}
		}, nil
	}})
	r := h.mustTurn("m", "hello")
	shown := ""
	for _, e := range h.events {
		shown += hooks.Envelope(e.Data).Text("delta")
	}
	if r.Output != "I look.\n\nDone." || shown != r.Output || h.sent[0].Text(hooks.KeyContent) != r.Output {
		t.Errorf("output %q, shown %q, sent %v; want a blank line between the steps in each", r.Output, shown, h.sent)
	}
}

// A plugin's model gets no comma command: it is run as always, and guards see its call.
func TestPluginsGetNoCommands(t *testing.T) {
	for name, own := range map[string]*hooks.Plugin{
		"run_model": {Name: "own", RunModel: func(_ context.Context, p hooks.Prompt, _ string, _ hooks.State) (*string, error) {
			answer := "the model got " + p.Text
			return &answer, nil
		}},
		"run_model_stream": {Name: "own", RunModelStream: func(_ context.Context, p hooks.Prompt, _ string, _ hooks.State) (hooks.Stream, error) {
			return says("the model got " + p.Text), nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bash := tool("bash", `{"type":"object","properties":{"cmd":{"type":"string"}},"required":["cmd"]}`, func(context.Context, string) (string, error) { return "ran", nil })
			h := newHost(t, newStore(t), nil, with(bash))
			seen := ""
			h.register(own)
			h.register(&hooks.Plugin{Name: "guard", Required: true, BeforeToolCall: func(_ context.Context, c hooks.ToolCall, _ hooks.State) (*hooks.ToolDecision, error) {
				seen += string(c.Arguments)
				return nil, nil
			}})
			if r := h.mustTurn("m", " ,git status"); r.Output != "ran" || !strings.Contains(seen, "git status") {
				t.Errorf("the command gives %q, and the guard has seen %q", r.Output, seen)
			}
			if r := h.mustTurn("m2", "hello"); !strings.Contains(r.Output, "the model got") {
				t.Errorf("a message gives %q, want the plugin's answer", r.Output)
			}
		})
	}
}
