package hooks

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Channels returns the channels of all plugins. If two have the same name, only the first is returned.
func (r *Runtime) Channels(ctx context.Context, h Handler) ([]Channel, error) {
	answers, err := many(ctx, r, "provide_channels", func(p *Plugin) ([]Channel, error) { return p.ProvideChannels(ctx, h) })
	return uniqueBy(slices.Concat(answers...), Channel.Name), err
}

// Tools returns the tools of all plugins. If two have the same name, only the first is returned.
func (r *Runtime) Tools(ctx context.Context) []Tool {
	var all []Tool
	for _, p := range r.Plugins() {
		all = append(all, p.Tools...)
		if p.MoreTools != nil {
			all = append(all, p.MoreTools(ctx)...)
		}
	}
	return uniqueBy(all, func(t Tool) string { return t.Name })
}

// Commands returns the commands of all plugins. If two have the same name, only the first is returned.
func (r *Runtime) Commands(ctx context.Context) ([]Command, error) {
	answers, err := many(ctx, r, "register_cli_commands", func(p *Plugin) ([]Command, error) { return p.RegisterCommands(), nil })
	return uniqueBy(slices.Concat(answers...), func(c Command) string { return c.Name }), err
}

// ModelOptions returns the models of all plugins. If two have the same id, only the first is returned.
func (r *Runtime) ModelOptions(ctx context.Context, session string) ([]ModelOption, error) {
	answers, err := many(ctx, r, "provide_model_options", func(p *Plugin) ([]ModelOption, error) { return p.ProvideModelOptions(ctx, session) })
	return uniqueBy(slices.Concat(answers...), func(o ModelOption) string { return o.ID }), err
}

// Onboard asks the plugins for settings, in reverse order, so that the one asked first has the
// last word. Each gets current merged with the answers so far; current itself is not changed.
func (r *Runtime) Onboard(ctx context.Context, current map[string]any) (map[string]any, error) {
	config := merged(nil, current)
	for _, p := range slices.Backward(r.implementing("onboard_config")) {
		answer, err := ask(ctx, r, p, "onboard_config", func(p *Plugin) (map[string]any, error) {
			return p.OnboardConfig(ctx, merged(nil, config))
		})
		if err != nil {
			return nil, err
		}
		config = merged(config, answer)
	}
	return config, nil
}

// merged returns a new map: base with the values of more. Nested maps are merged in the same way.
func merged(base, more map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range more {
		if m, ok := value.(map[string]any); ok {
			old, _ := out[key].(map[string]any)
			value = merged(old, m)
		}
		out[key] = value
	}
	return out
}

func uniqueBy[T any](all []T, name func(T) string) []T {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(v T) bool {
		duplicate := seen[name(v)]
		seen[name(v)] = true
		return duplicate
	})
}

type memoryInbox struct {
	mu      sync.Mutex
	waiting map[string][]Envelope
}

func (b *memoryInbox) Put(_ context.Context, session string, m Envelope) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting[session] = append(b.waiting[session], m)
	return nil
}

func (b *memoryInbox) Drain(_ context.Context, session string) ([]Envelope, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	messages := b.waiting[session]
	delete(b.waiting, session)
	return messages, nil
}

func (b *memoryInbox) Len(session string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting[session])
}
