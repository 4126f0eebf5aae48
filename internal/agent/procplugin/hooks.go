package procplugin

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"tape/hooks"
	"tape/repo"
)

// Plugin returns the plugin for the runtime, with the hooks that the process lists.
func (p *Process) Plugin() *hooks.Plugin {
	q := &hooks.Plugin{
		Name: p.config.Name, Priority: p.config.Priority, Required: p.config.Required, Status: p.Status,
		ResolveSession: func(ctx context.Context, m hooks.Envelope) (*string, error) {
			return answer(ctx, p, "resolve_session", args{"message": plain(m)}, "", nil, as[string])
		},
		BuildPrompt: func(ctx context.Context, m hooks.Envelope, session string, s hooks.State) (*hooks.Prompt, error) {
			return answer(ctx, p, "build_prompt", args{"message": plain(m), "session_id": session}, session, s, promptOf)
		},
		RunModelStream: p.stream,
		RunModel: func(ctx context.Context, prompt hooks.Prompt, session string, s hooks.State) (*string, error) {
			return answer(ctx, p, "run_model", args{"prompt": promptValue(prompt), "session_id": session}, session, s, as[string])
		},
		ContinuePrompt: func(ctx context.Context, prompt hooks.Prompt, t *repo.Tape, s hooks.State) (*hooks.Prompt, error) {
			a := args{"prompt": promptValue(prompt), "tape": nil}
			if t != nil {
				a["tape"] = t.Name()
			}
			return answer(ctx, p, "continue_prompt", a, sessionOf(s), s, promptOf)
		},
		SystemPrompt: func(ctx context.Context, prompt hooks.Prompt, s hooks.State) (*string, error) {
			return answer(ctx, p, "system_prompt", args{"prompt": promptValue(prompt)}, sessionOf(s), s, as[string])
		},
		AdmitMessage: p.admit,
		LoadState: func(ctx context.Context, m hooks.Envelope, session string) (hooks.State, error) {
			return value(answer(ctx, p, "load_state", args{"message": plain(m), "session_id": session}, session, nil, as[hooks.State]))
		},
		SaveState: func(ctx context.Context, session string, s hooks.State, m hooks.Envelope, output string) error {
			_, err := answer(ctx, p, "save_state", args{"session_id": session, "message": plain(m), "model_output": output,
				"error": errorText(hooks.ModelError(ctx))}, session, s, noValue)
			return err
		},
		RenderOutbound: func(ctx context.Context, m hooks.Envelope, session string, s hooks.State, output string) ([]hooks.Envelope, error) {
			return value(answer(ctx, p, "render_outbound",
				args{"message": plain(m), "session_id": session, "model_output": output}, session, s, as[[]hooks.Envelope]))
		},
		DispatchOutbound: func(ctx context.Context, m hooks.Envelope) (bool, error) {
			return value(answer(ctx, p, "dispatch_outbound", args{"message": plain(m)}, m.Text(hooks.KeySession), nil, as[bool]))
		},
		OnError: func(ctx context.Context, stage string, failed error, m hooks.Envelope) error {
			_, err := answer(ctx, p, "on_error", args{"stage": stage, "error": errorText(failed), "message": plain(m)}, m.Text(hooks.KeySession), nil, noValue)
			return err
		},
		OnboardConfig: func(ctx context.Context, current map[string]any) (map[string]any, error) {
			return value(answer(ctx, p, "onboard_config", args{"config": plain(current)}, "", nil, as[map[string]any]))
		},
		ProvideModelOptions: func(ctx context.Context, session string) ([]hooks.ModelOption, error) {
			return value(answer(ctx, p, "provide_model_options", args{"session_id": session}, session, nil, listOf[hooks.ModelOption]))
		},
	}
	p.aroundCalls(q)
	p.provide(q)
	q.Tools = p.tools()
	p.removeUnlisted(q)
	return q
}

// removeUnlisted removes the hooks that the plugin does not list. A required plugin that could not
// be started keeps the two hooks that decide on calls, which then deny every call.
func (p *Process) removeUnlisted(q *hooks.Plugin) {
	list := map[string]bool{"provide_channels": len(p.manifest.Channels) > 0}
	for _, h := range p.manifest.Hooks {
		list[h.Name] = true
	}
	if q.Required && len(p.manifest.Hooks) == 0 {
		list["before_llm_call"], list["before_tool_call"] = true, true
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
		return answer(ctx, p, "before_llm_call", args{"call": c}, sessionOf(s), s, modelDecision(c))
	}
	q.AfterModelCall = func(ctx context.Context, c hooks.ModelCall, r hooks.ModelResult, s hooks.State) error {
		calls := r.ToolCalls
		if calls == nil {
			calls = []hooks.ToolCall{}
		}
		_, err := answer(ctx, p, "after_llm_call", args{"call": c, "result": args{"text": r.Text, "tool_calls": calls, "usage": plain(r.Usage),
			"error": errorText(r.Err), "duration_ms": r.Duration.Milliseconds()}}, sessionOf(s), s, noValue)
		return err
	}
	q.BeforeToolCall = func(ctx context.Context, c hooks.ToolCall, s hooks.State) (*hooks.ToolDecision, error) {
		return answer(ctx, p, "before_tool_call", args{"call": c}, sessionOf(s), s, toolDecision)
	}
	q.AfterToolCall = func(ctx context.Context, c hooks.ToolCall, r *hooks.ToolResult, s hooks.State) error {
		changed, err := answer(ctx, p, "after_tool_call", args{"call": c, "result": args{"content": r.Content,
			"error": errorText(r.Err), "duration_ms": r.Duration.Milliseconds()}}, sessionOf(s), s, toolChange(r.Err != nil))
		if err == nil && changed != nil {
			r.Content, r.Err = changed.Content, changed.Err
		}
		return err
	}
}

func (p *Process) admit(ctx context.Context, session string, m hooks.Envelope, t hooks.Turn) (hooks.Admission, error) {
	return value(answer(ctx, p, "admit_message", args{"session_id": session, "message": plain(m), "turn": t}, session, nil,
		func(raw json.RawMessage) (*hooks.Admission, error) {
			a, err := as[hooks.Admission](raw)
			if err == nil && !slices.Contains([]hooks.Admission{hooks.Admit, hooks.Drop, hooks.FollowUp, hooks.Steer}, *a) {
				err = errors.New("there is no such admission")
			}
			return a, err
		}))
}

// stream runs the plugin's model. The stream is nil if the plugin sends no event and the value is null, or if the
// plugin is off and not required.
func (p *Process) stream(ctx context.Context, prompt hooks.Prompt, session string, s hooks.State) (hooks.Stream, error) {
	c, err := p.begin(ctx, callParams{method: "hook/run_model_stream", session: session, state: s, events: true,
		params:  args{"prompt": promptValue(prompt), "session_id": session, "state": plain(s)},
		timeout: p.hookTimeout("run_model_stream", p.o.limits.long)})
	if err != nil {
		return nil, p.ignoreOff(err)
	}
	e, result, err := c.next(ctx)
	if err != nil {
		return nil, p.ignoreOff(err)
	}
	if e == nil {
		raw, err := hookValue(result)
		if raw == nil || err != nil {
			return nil, err
		}
		text, err := as[string](raw)
		if err != nil {
			return nil, valueError("run_model_stream", raw, err)
		}
		return func(yield func(hooks.Event, error) bool) { yield(hooks.Text(*text), nil) }, nil
	}
	return func(yield func(hooks.Event, error) bool) {
		for e != nil {
			if !yield(*e, nil) {
				c.abandon(true)
				return
			}
			if e, result, err = c.next(ctx); e == nil && err == nil {
				var raw json.RawMessage
				if raw, err = hookValue(result); raw != nil {
					err = valueError("run_model_stream", raw, errors.New("a value cannot follow events"))
				}
			}
			if err != nil {
				yield(hooks.Event{}, err)
				return
			}
		}
	}, nil
}

// tools returns the tools that the plugin lists.
func (p *Process) tools() []hooks.Tool {
	var tools []hooks.Tool
	for _, t := range p.manifest.Tools {
		tools = append(tools, hooks.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema,
			Run: func(ctx context.Context, c hooks.ToolContext, arguments json.RawMessage) (string, error) {
				raw, err := valueOfResult(p.call(ctx, callParams{method: "tool/call", session: c.Session, timeout: t.timeout(p.o.limits.long),
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
