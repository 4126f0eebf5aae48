package hooks

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Channels are those of all plugins; of a name, the first.
func (r *Runtime) Channels(ctx context.Context, h Handler) ([]Channel, error) {
	answers, err := many(ctx, r, "provide_channels", func(p *Plugin) ([]Channel, error) { return p.ProvideChannels(ctx, h) })
	return firstOfName(slices.Concat(answers...), Channel.Name), err
}

// Tools are those of all plugins; of a name, the first.
func (r *Runtime) Tools() []Tool {
	var all []Tool
	for _, p := range r.Plugins() {
		all = append(all, p.Tools...)
	}
	return firstOfName(all, func(t Tool) string { return t.Name })
}

// Commands are those of all plugins; of a name, the first.
func (r *Runtime) Commands(ctx context.Context) ([]Command, error) {
	answers, err := many(ctx, r, "register_cli_commands", func(p *Plugin) ([]Command, error) { return p.RegisterCommands(), nil })
	return firstOfName(slices.Concat(answers...), func(c Command) string { return c.Name }), err
}

// ModelOptions are those of all plugins, in order; of an id, the first.
func (r *Runtime) ModelOptions(ctx context.Context, session string) ([]ModelOption, error) {
	answers, err := many(ctx, r, "provide_model_options", func(p *Plugin) ([]ModelOption, error) { return p.ProvideModelOptions(ctx, session) })
	return firstOfName(slices.Concat(answers...), func(o ModelOption) string { return o.ID }), err
}

// Onboard asks for settings, who is asked first last. Each plugin sees what those before it have
// made of current, which stays as it is; maps are merged.
func (r *Runtime) Onboard(ctx context.Context, current map[string]any) (map[string]any, error) {
	config := merged(nil, current)
	for _, p := range slices.Backward(r.implementing("onboard_config")) {
		answer, err := call(ctx, r, p, "onboard_config", func(p *Plugin) (map[string]any, error) {
			return p.OnboardConfig(ctx, merged(nil, config))
		})
		if err != nil {
			return nil, err
		}
		config = merged(config, answer)
	}
	return config, nil
}

// merged gives a new map: base with what more has, maps within them merged likewise.
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

func firstOfName[T any](all []T, name func(T) string) []T {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(v T) bool {
		taken := seen[name(v)]
		seen[name(v)] = true
		return taken
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
