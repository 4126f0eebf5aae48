package hooks_test

import (
	"context"
	"fmt"

	"tape/hooks"
)

// saving is a plugin whose SaveState returns err.
func saving(err error) *hooks.Plugin {
	return &hooks.Plugin{Name: "saver", SaveState: func(_ context.Context, _ string, s hooks.State, _ hooks.Envelope, _ string) error {
		s["saved"] = true
		return err
	}}
}

var saveRules = []rule{
	{
		name:    "save_state: called when the model failed, with the error in the context",
		plugins: []*hooks.Plugin{failing},
		want: []string{`save "", the model failed: plugin "ai": run_model: broken`,
			`on_error turn: plugin "ai": run_model: broken`, `ended by plugin "ai": run_model: broken`},
	}, {
		name:    "save_state: called when a stream breaks; its text so far is not the output",
		stream:  true,
		plugins: []*hooks.Plugin{{Name: "ai", RunModelStream: streaming(errBroken, hooks.Text("half")).RunModelStream}},
		want: []string{`event text map[delta:half]`, `save "", the model failed: plugin "ai": run_model_stream: broken`,
			`on_error turn: plugin "ai": run_model_stream: broken`, `ended by plugin "ai": run_model_stream: broken`},
	}, {
		name:    "save_state: an internal plugin's error names neither the plugin nor the hook",
		plugins: []*hooks.Plugin{{Name: "ai", Internal: true, RunModel: failing.RunModel}},
		want:    []string{`save "", the model failed: broken`, `on_error turn: broken`, `ended by broken`},
	}, {
		name:    "save_state: an internal plugin's panic names both",
		plugins: []*hooks.Plugin{{Name: "ai", Internal: true, RunModel: func(context.Context, hooks.Prompt, string, hooks.State) (*string, error) { panic("oops") }}},
		want:    []string{`save "", the model failed: plugin "ai": run_model: panic: oops`, `on_error turn: plugin "ai": run_model: panic: oops`, `ended by plugin "ai": run_model: panic: oops`},
	}, {
		name: "save_state: called when a stream panics",
		plugins: []*hooks.Plugin{{Name: "ai", RunModelStream: func(context.Context, hooks.Prompt, string, hooks.State) (hooks.Stream, error) {
			return func(func(hooks.Event, error) bool) { panic("oops") }, nil
		}}},
		want: []string{`save "", the model failed: plugin "ai": run_model_stream: panic: oops`,
			`on_error turn: plugin "ai": run_model_stream: panic: oops`, `ended by plugin "ai": run_model_stream: panic: oops`},
	}, {
		name:    "save_state: a plugin that fails ends the turn, but the others save",
		plugins: []*hooks.Plugin{model(new("x")), saving(errBroken)},
		want: []string{`save "x"`, `on_error turn: plugin "saver": save_state: broken`,
			`ended by plugin "saver": save_state: broken`},
	}, {
		name:    "save_state: the errors of a failing model and of a failing save are joined",
		plugins: []*hooks.Plugin{failing, saving(errBroken)},
		want: []string{`save "", the model failed: plugin "ai": run_model: broken`,
			"on_error turn: plugin \"ai\": run_model: broken\nplugin \"saver\": save_state: broken",
			"ended by plugin \"ai\": run_model: broken\nplugin \"saver\": save_state: broken"},
	}, {
		name:    "save_state: not called if building the prompt failed",
		plugins: []*hooks.Plugin{broken(func(p *hooks.Plugin) { p.BuildPrompt = failPrompt })},
		want:    []string{`on_error turn: plugin "bad": build_prompt: broken`, `ended by plugin "bad": build_prompt: broken`},
	},
}

var outboundRules = []rule{
	{
		name:    "render_outbound: the batches of all plugins are flattened, in order",
		plugins: []*hooks.Plugin{model(new("x")), render(content("c")), render(), render(content("a"), nil, content("b"))},
		want:    []string{`save "x"`, `sent a`, `sent b`, `sent c`},
	}, {
		name:    "render_outbound: if nobody renders, one message goes to where the message came from",
		message: hooks.Envelope{"content": "hi", "channel": "tg", "chat_id": "7", "output_channel": "log", "kind": "command", "media": 1},
		plugins: []*hooks.Plugin{model(new("x")), render()},
		want:    []string{`save "x"`, `sent x channel=tg chat_id=7 output_channel=log kind=command`},
	}, {
		name: "dispatch_outbound: every plugin gets each message, also after one has delivered it",
		plugins: []*hooks.Plugin{model(new("x")), render(content("a"), content("b")),
			{DispatchOutbound: func(_ context.Context, m hooks.Envelope) (bool, error) {
				m["channel"] = "seen"
				return true, nil
			}}},
		want: []string{`save "x"`, `sent a channel=seen`, `sent b channel=seen`},
	},
}

var failing = &hooks.Plugin{Name: "ai", RunModel: func(context.Context, hooks.Prompt, string, hooks.State) (*string, error) {
	return new("half"), errBroken
}}

func failPrompt(context.Context, hooks.Envelope, string, hooks.State) (*hooks.Prompt, error) {
	return nil, errBroken
}

// broken is the plugin "bad", in which set installs a failing hook, above a model that answers "x".
func broken(set func(*hooks.Plugin)) *hooks.Plugin {
	p := &hooks.Plugin{Name: "bad", RunModel: model(new("x")).RunModel}
	set(p)
	return p
}

var errorRules = []rule{
	{
		name: "an error of resolve_session ends the turn",
		plugins: []*hooks.Plugin{broken(func(p *hooks.Plugin) {
			p.ResolveSession = func(context.Context, hooks.Envelope) (*string, error) { return nil, errBroken }
		})},
		want: []string{`on_error turn: plugin "bad": resolve_session: broken`, `ended by plugin "bad": resolve_session: broken`},
	}, {
		name: "an error of load_state ends the turn",
		plugins: []*hooks.Plugin{broken(func(p *hooks.Plugin) {
			p.LoadState = func(context.Context, hooks.Envelope, string) (hooks.State, error) { return nil, errBroken }
		})},
		want: []string{`on_error turn: plugin "bad": load_state: broken`, `ended by plugin "bad": load_state: broken`},
	}, {
		name: "an error of render_outbound ends the turn",
		plugins: []*hooks.Plugin{broken(func(p *hooks.Plugin) {
			p.RenderOutbound = func(context.Context, hooks.Envelope, string, hooks.State, string) ([]hooks.Envelope, error) {
				return nil, errBroken
			}
		})},
		want: []string{`save "x"`, `on_error turn: plugin "bad": render_outbound: broken`, `ended by plugin "bad": render_outbound: broken`},
	}, {
		name: "an error of dispatch_outbound ends the turn",
		plugins: []*hooks.Plugin{render(content("a"), content("b")), broken(func(p *hooks.Plugin) {
			p.DispatchOutbound = func(context.Context, hooks.Envelope) (bool, error) { return false, errBroken }
		})},
		want: []string{`save "x"`, `on_error turn: plugin "bad": dispatch_outbound: broken`, `ended by plugin "bad": dispatch_outbound: broken`},
	}, {
		name: "a panic is an error of the hook",
		plugins: []*hooks.Plugin{broken(func(p *hooks.Plugin) {
			p.LoadState = func(context.Context, hooks.Envelope, string) (hooks.State, error) { panic("oops") }
		})},
		want: []string{`on_error turn: plugin "bad": load_state: panic: oops`, `ended by plugin "bad": load_state: panic: oops`},
	}, {
		name: "an observer that panics does not stop the others",
		plugins: []*hooks.Plugin{failing, {OnError: func(context.Context, string, error, hooks.Envelope) error {
			panic("oops")
		}}},
		want: []string{`save "", the model failed: plugin "ai": run_model: broken`,
			`on_error turn: plugin "ai": run_model: broken`, `ended by plugin "ai": run_model: broken`},
	}, {
		name: "an answer with an error is ignored",
		plugins: []*hooks.Plugin{model(new("x")), {Name: "bad", BuildPrompt: func(_ context.Context, m hooks.Envelope, _ string, _ hooks.State) (*hooks.Prompt, error) {
			return &hooks.Prompt{Text: "half"}, fmt.Errorf("prompt of %s: %w", m.Text("content"), errBroken)
		}}},
		want: []string{`on_error turn: plugin "bad": build_prompt: prompt of hi: broken`, `ended by plugin "bad": build_prompt: prompt of hi: broken`},
	},
}
