package hooks_test

import (
	"context"

	"tape/hooks"
	"tape/repo"
)

// The plugins of TestProvided have one function each.

func system(text *string) *hooks.Plugin {
	return &hooks.Plugin{SystemPrompt: func(context.Context, hooks.Prompt, hooks.State) (*string, error) { return text, nil }}
}

func askSystem(ctx context.Context, r *hooks.Runtime) (any, error) {
	return r.SystemPrompt(ctx, hooks.Prompt{}, nil)
}

func further(p *hooks.Prompt) *hooks.Plugin {
	return &hooks.Plugin{ContinuePrompt: func(context.Context, hooks.Prompt, *repo.Tape, hooks.State) (*hooks.Prompt, error) { return p, nil }}
}

func askFurther(ctx context.Context, r *hooks.Runtime) (any, error) {
	return r.ContinuePrompt(ctx, hooks.Prompt{Text: "before"}, nil, nil)
}

func admission(a hooks.Admission) *hooks.Plugin {
	return &hooks.Plugin{AdmitMessage: func(context.Context, string, hooks.Envelope, hooks.Turn) (hooks.Admission, error) { return a, nil }}
}

func askAdmission(ctx context.Context, r *hooks.Runtime) (any, error) {
	return r.Admit(ctx, "s", content("hi"), hooks.Turn{Session: "s"})
}

func channels(all ...hooks.Channel) *hooks.Plugin {
	return &hooks.Plugin{ProvideChannels: func(context.Context, hooks.Handler) ([]hooks.Channel, error) { return all, nil }}
}

func options(ids ...string) *hooks.Plugin {
	return &hooks.Plugin{ProvideModelOptions: func(context.Context, string) (all []hooks.ModelOption, _ error) {
		for _, id := range ids {
			all = append(all, hooks.ModelOption{ID: id})
		}
		return all, nil
	}}
}

// onboard answers with these settings, and under "saw" with the settings that it was given.
func onboard(config map[string]any) *hooks.Plugin {
	return &hooks.Plugin{OnboardConfig: func(_ context.Context, current map[string]any) (map[string]any, error) {
		if config == nil {
			return nil, nil
		}
		config["saw"] = current
		return config, nil
	}}
}

type channel string

func (c channel) Name() string                             { return string(c) }
func (channel) Start(context.Context) error                { return nil }
func (channel) Stop(context.Context) error                 { return nil }
func (channel) Send(context.Context, hooks.Envelope) error { return nil }
