package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tape/hooks"
	"tape/internal/agent/models"
)

// streaming is a plugin whose model yields events, and then an error if it is not nil.
func streaming(failed error, events ...hooks.Event) *hooks.Plugin {
	return &hooks.Plugin{Name: "own", RunModelStream: func(context.Context, hooks.Prompt, string, hooks.State) (hooks.Stream, error) {
		return func(yield func(hooks.Event, error) bool) {
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			if failed != nil {
				yield(hooks.Event{}, failed)
			}
		}, nil
	}}
}

func callEvent(id, name, arguments string) hooks.Event {
	return hooks.Event{Kind: hooks.EventToolCall, Data: map[string]any{"id": id, "name": name, "arguments": arguments}}
}

func resultEvent(id, content string, failed bool) hooks.Event {
	return hooks.Event{Kind: hooks.EventToolResult, Data: map[string]any{"id": id, "content": content, "error": failed}}
}

func usageEvent(in, out int) hooks.Event {
	return hooks.Event{Kind: hooks.EventUsage, Data: map[string]any{"input_tokens": in, "output_tokens": out}}
}

// The steps that a plugin's model streams are on the tape like those of the built-in model, with texts,
// calls, results and usage. The model of the next turn reads them.
func TestStepsAreRecorded(t *testing.T) {
	h := newHost(t, newStore(t), func(_ int, r models.Request) hooks.Stream {
		for _, want := range []string{"I look.", `{\"path\":\"a\"}`, "what a has", "no such file", "Done."} {
			if !strings.Contains(sent(r), want) {
				t.Errorf("the model does not read %q:\n%s", want, sent(r))
			}
		}
		return says("mine")
	}, nil)
	own := streaming(nil, hooks.Text("I "), hooks.Text("look."), callEvent("c1", "fs.read", `{"path":"a"}`), callEvent("c2", "fs.read", `{"path":"b"}`), usageEvent(10, 2),
		resultEvent("c2", "no such file", true), resultEvent("c1", "what a has", false), resultEvent("c9", "nobody's", false),
		callEvent("c3", "bash", "{}"), resultEvent("c3", "ran", false), hooks.Text("Done."), usageEvent(20, 3), final("I look.\n\nDone.", true))
	h.register(own)
	if r := h.mustTurn("m", "hello"); r.Output != "I look.\n\nDone." {
		t.Errorf("the turn gives %+v", r)
	}
	h.wantTape("anchor session/start", "user: hello", "assistant: I look.", "call c1 c2", "result no such file", "result what a has", "run ok", "loop.step continue",
		"call c3", "result ran", "run ok", "loop.step continue", "assistant: Done.", "run ok", "loop.step ok")
	all := ""
	for _, e := range h.entries() {
		all += string(e.Payload) + string(e.Meta) + "\n"
	}
	for want, n := range map[string]int{`"input_tokens":10`: 1, `"input_tokens":20`: 1, `"is_error":["c2"]`: 1, `"plugin":"own"`: 3, `"step":3`: 1} {
		if strings.Count(all, want) != n {
			t.Errorf("%s comes %d times, want %d:\n%s", want, strings.Count(all, want), n, all)
		}
	}
	if r := h.mustTurn("m", "hello"); r.Output != "I look.\n\nDone." { // the message comes again, as after a crash
		t.Errorf("the repeated turn gives %+v", r)
	}
	own.RunModelStream = func(context.Context, hooks.Prompt, string, hooks.State) (hooks.Stream, error) { return nil, nil }
	h.mustTurn("n", "and you?")
}

// A stream that fails leaves no call without a result, and keeps what it had said.
func TestStepsThatFail(t *testing.T) {
	h := newHost(t, newStore(t), nil, nil)
	h.register(streaming(errors.New("the line is cut"), callEvent("c1", "bash", "{}"), resultEvent("", "ran", false), hooks.Text("Half a"), callEvent("c2", "bash", "{}")))
	if _, err := h.turn(t.Context(), "m", "hello"); err == nil {
		t.Error("a stream that fails gives no error")
	}
	h.wantTape("anchor session/start", "user: hello", "call c1", "result ran", "run ok", "loop.step continue",
		"assistant: Half a", "call c2", "result "+textInterrupted, "error model_error", "run error", "loop.step error")
}
