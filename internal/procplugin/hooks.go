package procplugin

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"tape/hooks"
	"tape/repo"
)

// Plugin is the process as the runtime knows it: with the functions of the hooks that it lists.
func (p *Process) Plugin() *hooks.Plugin {
	q := &hooks.Plugin{
		Name: p.config.Name, Priority: p.config.Priority, Status: p.Status,
		ResolveSession: func(ctx context.Context, m hooks.Envelope) (*string, error) {
			return decode[string](p.hook(ctx, "resolve_session", args{"message": plain(m)}, "", nil))
		},
		BuildPrompt: func(ctx context.Context, m hooks.Envelope, session string, s hooks.State) (*hooks.Prompt, error) {
			return decodePrompt(p.hook(ctx, "build_prompt", args{"message": plain(m), "session_id": session}, session, s))
		},
		RunModelStream: p.stream,
		RunModel: func(ctx context.Context, prompt hooks.Prompt, session string, s hooks.State) (*string, error) {
			return decode[string](p.hook(ctx, "run_model", args{"prompt": promptValue(prompt), "session_id": session}, session, s))
		},
		ContinuePrompt: func(ctx context.Context, prompt hooks.Prompt, t *repo.Tape, s hooks.State) (*hooks.Prompt, error) {
			a := args{"prompt": promptValue(prompt), "tape": nil}
			if t != nil {
				a["tape"] = t.Name()
			}
			return decodePrompt(p.hook(ctx, "continue_prompt", a, sessionOf(s), s))
		},
		SystemPrompt: func(ctx context.Context, prompt hooks.Prompt, s hooks.State) (*string, error) {
			return decode[string](p.hook(ctx, "system_prompt", args{"prompt": promptValue(prompt)}, sessionOf(s), s))
		},
		AdmitMessage: p.admit,
		LoadState: func(ctx context.Context, m hooks.Envelope, session string) (hooks.State, error) {
			return value(decode[hooks.State](p.hook(ctx, "load_state", args{"message": plain(m), "session_id": session}, session, nil)))
		},
		SaveState: func(ctx context.Context, session string, s hooks.State, m hooks.Envelope, output string) error {
			_, err := p.hook(ctx, "save_state", args{"session_id": session, "message": plain(m), "model_output": output,
				"error": errorText(hooks.ModelError(ctx))}, session, s)
			return err
		},
		RenderOutbound: func(ctx context.Context, m hooks.Envelope, session string, s hooks.State, output string) ([]hooks.Envelope, error) {
			return value(decode[[]hooks.Envelope](p.hook(ctx, "render_outbound",
				args{"message": plain(m), "session_id": session, "model_output": output}, session, s)))
		},
		DispatchOutbound: func(ctx context.Context, m hooks.Envelope) (bool, error) {
			return value(decode[bool](p.hook(ctx, "dispatch_outbound", args{"message": plain(m)}, m.Text(hooks.KeySession), nil)))
		},
		OnError: func(ctx context.Context, stage string, failed error, m hooks.Envelope) {
			_, err := p.hook(ctx, "on_error", args{"stage": stage, "error": errorText(failed), "message": plain(m)}, m.Text(hooks.KeySession), nil)
			if err != nil {
				panic(err) // an observer can tell the runtime in no other way that it failed
			}
		},
		OnboardConfig: func(ctx context.Context, current map[string]any) (map[string]any, error) {
			return value(decode[map[string]any](p.hook(ctx, "onboard_config", args{"config": plain(current)}, "", nil)))
		},
		ProvideModelOptions: func(ctx context.Context, session string) ([]hooks.ModelOption, error) {
			return value(decode[[]hooks.ModelOption](p.hook(ctx, "provide_model_options", args{"session_id": session}, session, nil)))
		},
	}
	p.aroundCalls(q)
	p.provide(q)
	q.Tools = p.tools()
	p.drop(q)
	return q
}

// drop takes away the functions of the hooks that the plugin does not list.
func (p *Process) drop(q *hooks.Plugin) {
	list := map[string]bool{"provide_channels": len(p.about.Channels) > 0}
	for _, h := range p.about.Hooks {
		list[h.Name] = true
	}
	for field, v := range reflect.ValueOf(q).Elem().Fields() {
		if name, ok := field.Tag.Lookup("hook"); ok && !list[name] {
			v.SetZero()
		}
	}
}

// aroundCalls sets the hooks around calls of models and tools.
func (p *Process) aroundCalls(q *hooks.Plugin) {
	q.BeforeModelCall = func(ctx context.Context, c hooks.ModelCall, s hooks.State) (*hooks.ModelDecision, error) {
		raw, err := p.hook(ctx, "before_llm_call", args{"call": c}, sessionOf(s), s)
		if raw == nil || err != nil {
			return nil, err
		}
		changed := c
		d := &hooks.ModelDecision{Call: &changed} // what the plugin does not mention stays
		return d, wrong(json.Unmarshal(raw, d), raw)
	}
	q.AfterModelCall = func(ctx context.Context, c hooks.ModelCall, r hooks.ModelResult, s hooks.State) error {
		calls := r.ToolCalls
		if calls == nil {
			calls = []hooks.ToolCall{}
		}
		_, err := p.hook(ctx, "after_llm_call", args{"call": c, "result": args{"text": r.Text, "tool_calls": calls, "usage": plain(r.Usage),
			"error": errorText(r.Err), "duration_ms": r.Duration.Milliseconds()}}, sessionOf(s), s)
		return err
	}
	q.BeforeToolCall = func(ctx context.Context, c hooks.ToolCall, s hooks.State) (*hooks.ToolDecision, error) {
		return decode[hooks.ToolDecision](p.hook(ctx, "before_tool_call", args{"call": c}, sessionOf(s), s))
	}
	q.AfterToolCall = func(ctx context.Context, c hooks.ToolCall, r *hooks.ToolResult, s hooks.State) error {
		changed, err := decode[struct {
			Content *string `json:"content"`
		}](p.hook(ctx, "after_tool_call", args{"call": c, "result": args{"content": r.Content,
			"error": errorText(r.Err), "duration_ms": r.Duration.Milliseconds()}}, sessionOf(s), s))
		if err == nil && changed != nil && changed.Content != nil {
			r.Content = *changed.Content
		}
		return err
	}
}

func (p *Process) admit(ctx context.Context, session string, m hooks.Envelope, t hooks.Turn) (hooks.Admission, error) {
	a, err := decode[hooks.Admission](p.hook(ctx, "admit_message", args{"session_id": session, "message": plain(m), "turn": t}, session, nil))
	if a == nil || err != nil {
		return hooks.Undecided, err
	}
	switch *a {
	case hooks.Admit, hooks.Drop, hooks.FollowUp, hooks.Steer:
		return *a, nil
	}
	return hooks.Undecided, errors.New("it gave no admission: process, drop, follow_up or steer")
}

// stream runs the plugin's model. It is none if the plugin gives no event, and null.
func (p *Process) stream(ctx context.Context, prompt hooks.Prompt, session string, s hooks.State) (hooks.Stream, error) {
	c, err := p.begin(ctx, ask{method: "hook/run_model_stream", session: session, state: s, events: true,
		params:  args{"prompt": promptValue(prompt), "session_id": session, "state": plain(s)},
		timeout: p.hookTime("run_model_stream", p.o.limits.long)})
	if err != nil {
		return nil, p.unlessOff(err)
	}
	e, result, err := c.next(ctx)
	if err != nil {
		return nil, p.unlessOff(err)
	}
	if e == nil {
		text, err := decode[string](valueOfResult(result, nil))
		if text == nil || err != nil {
			return nil, err
		}
		return func(yield func(hooks.Event, error) bool) { yield(hooks.Text(*text), nil) }, nil
	}
	return func(yield func(hooks.Event, error) bool) {
		for e != nil {
			if !yield(*e, nil) {
				c.forget(true)
				return
			}
			if e, _, err = c.next(ctx); err != nil {
				yield(hooks.Event{}, err)
				return
			}
		}
	}, nil
}

// tools are those that the plugin lists.
func (p *Process) tools() []hooks.Tool {
	var tools []hooks.Tool
	for _, t := range p.about.Tools {
		tools = append(tools, hooks.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema,
			Run: func(ctx context.Context, c hooks.ToolContext, arguments json.RawMessage) (string, error) {
				raw, err := valueOfResult(p.ask(ctx, ask{method: "tool/call", session: c.Session, timeout: t.limit(p.o.limits.long),
					params: args{"name": t.Name, "arguments": arguments, "session_id": c.Session, "tool_call_id": c.CallID, "state": plain(c.State)}}))
				var text string
				if err != nil || raw == nil || json.Unmarshal(raw, &text) == nil {
					return text, err
				}
				return string(raw), nil
			}})
	}
	return tools
}
