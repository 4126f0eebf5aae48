package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"tape/hooks"
)

// rule is an example of a rule of the turn: what is seen if these plugins, registered in this order, handle
// this message. The plugin that was registered first is asked last.
type rule struct {
	name    string
	message hooks.Envelope
	stream  bool // with OnEvent
	plugins []*hooks.Plugin
	want    []string
}

func TestTurn(t *testing.T) {
	rules := slices.Concat(sessionRules, stateRules, promptRules, modelRules, streamRules, saveRules, outboundRules, errorRules)
	for _, c := range rules {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := play(t, c); !slices.Equal(got, c.want) {
				t.Errorf("seen:\n\t%s\nwanted:\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}

// play runs a turn. A witness, which is asked after all others, records what is saved and sent, and the
// errors.
func play(t *testing.T, c rule) (seen []string) {
	r := quiet()
	see := func(format string, args ...any) { seen = append(seen, fmt.Sprintf(format, args...)) }
	witness := &hooks.Plugin{
		Name: "witness", Priority: -1000,
		OnError: func(_ context.Context, stage string, err error, _ hooks.Envelope) error {
			see("on_error %s: %v", stage, err)
			return errBroken // an observer's error changes nothing
		},
		SaveState: func(ctx context.Context, session string, _ hooks.State, _ hooks.Envelope, output string) error {
			if err := hooks.ModelError(ctx); err != nil {
				see("save %q, the model failed: %v", output, err)
			} else {
				see("save %q", output)
			}
			return ctx.Err()
		},
		DispatchOutbound: func(_ context.Context, m hooks.Envelope) (bool, error) {
			see("sent %s", describe(m))
			return true, nil
		},
	}
	register(t, r, append([]*hooks.Plugin{witness}, c.plugins...)...)
	if c.message == nil {
		c.message = hooks.Envelope{hooks.KeyContent: "hi"}
	}
	o := hooks.Options{}
	if c.stream {
		o.OnEvent = func(_ context.Context, _ hooks.Envelope, e hooks.Event) { see("event %s %v", e.Kind, e.Data) }
	}
	m := c.message.Clone()
	result, err := r.Process(t.Context(), m, o)
	if err != nil {
		return append(seen, "ended by "+err.Error())
	}
	if result.Session != m.Text(hooks.KeySession) {
		t.Errorf("the message says session %q, the result %q", m.Text(hooks.KeySession), result.Session)
	}
	return seen
}

// describe shows a message: its content, then its channel, chat, output channel and kind.
func describe(m hooks.Envelope) string {
	text := m.Text(hooks.KeyContent)
	for _, key := range []string{hooks.KeyChannel, hooks.KeyChat, hooks.KeyOutputChannel, hooks.KeyKind} {
		if _, ok := m[key]; ok {
			text += fmt.Sprintf(" %s=%s", key, m.Text(key))
		}
	}
	return text
}

func quiet() *hooks.Runtime { return hooks.New(slog.New(slog.NewTextHandler(io.Discard, nil))) }

func register(t testing.TB, r *hooks.Runtime, plugins ...*hooks.Plugin) {
	t.Helper()
	for i, p := range plugins {
		if p.Name == "" {
			q := *p
			q.Name = fmt.Sprintf("p%d", i)
			p = &q
		}
		if err := r.Register(p); err != nil {
			t.Fatal(err)
		}
	}
}

var errBroken = errors.New("broken")

// The plugins below have one function each.

func session(id *string) *hooks.Plugin {
	return &hooks.Plugin{ResolveSession: func(context.Context, hooks.Envelope) (*string, error) { return id, nil }}
}

func state(s hooks.State) *hooks.Plugin {
	return &hooks.Plugin{LoadState: func(context.Context, hooks.Envelope, string) (hooks.State, error) { return s, nil }}
}

func prompt(p *hooks.Prompt) *hooks.Plugin {
	return &hooks.Plugin{BuildPrompt: func(context.Context, hooks.Envelope, string, hooks.State) (*hooks.Prompt, error) { return p, nil }}
}

func model(answer *string) *hooks.Plugin {
	return &hooks.Plugin{RunModel: func(context.Context, hooks.Prompt, string, hooks.State) (*string, error) { return answer, nil }}
}

// echo is a model that answers with its session and prompt.
func echo() *hooks.Plugin {
	return &hooks.Plugin{RunModel: func(_ context.Context, p hooks.Prompt, session string, _ hooks.State) (*string, error) {
		if len(p.Parts) > 0 {
			return new(fmt.Sprintf("%s asked %v", session, p.Parts)), nil
		}
		return new(fmt.Sprintf("%s asked %q", session, p.Text)), nil
	}}
}

// stateValue is a model that answers with a value of the state.
func stateValue(key string) *hooks.Plugin {
	return &hooks.Plugin{RunModel: func(_ context.Context, _ hooks.Prompt, _ string, s hooks.State) (*string, error) {
		return new(fmt.Sprint(s[key])), nil
	}}
}

// streaming yields events, then an error if there is one.
func streaming(err error, events ...hooks.Event) *hooks.Plugin {
	return &hooks.Plugin{RunModelStream: func(context.Context, hooks.Prompt, string, hooks.State) (hooks.Stream, error) {
		return func(yield func(hooks.Event, error) bool) {
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(hooks.Event{}, err)
			}
		}, nil
	}}
}

func noStream() *hooks.Plugin {
	return &hooks.Plugin{RunModelStream: func(context.Context, hooks.Prompt, string, hooks.State) (hooks.Stream, error) { return nil, nil }}
}

func render(messages ...hooks.Envelope) *hooks.Plugin {
	return &hooks.Plugin{RenderOutbound: func(context.Context, hooks.Envelope, string, hooks.State, string) ([]hooks.Envelope, error) {
		return messages, nil
	}}
}

func content(text string) hooks.Envelope { return hooks.Envelope{hooks.KeyContent: text} }

func parts(texts ...string) []hooks.Part {
	var p []hooks.Part
	for _, text := range texts {
		p = append(p, hooks.Part{"type": "text", "text": text})
	}
	return p
}

func TestStateBeginsWithTheWorkspace(t *testing.T) {
	r := quiet()
	r.Workspace = "/work space"
	register(t, r, stateValue(hooks.StateWorkspace))
	result, err := r.Process(t.Context(), nil, hooks.Options{})
	if err != nil || result.Output != "/work space" {
		t.Errorf("got %+v, %v, want the output /work space", result, err)
	}
}

// A panic in OnEvent does not end the turn.
func TestPanicWhileShowingAnEventEndsNothing(t *testing.T) {
	r := quiet()
	register(t, r, streaming(nil, hooks.Text("a"), hooks.Text("b")))
	seen := 0
	result, err := r.Process(t.Context(), content("hi"), hooks.Options{OnEvent: func(context.Context, hooks.Envelope, hooks.Event) {
		seen++
		panic("oops")
	}})
	if err != nil || result.Output != "ab" || seen != 2 {
		t.Errorf("got %+v, %v, %d events; want the output ab and 2 events", result, err, seen)
	}
}
