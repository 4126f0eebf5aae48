package hostcli

import (
	"context"
	"slices"
	"sync"
	"time"

	"tape/hooks"
	"tape/internal/agent/models"
)

// modelList is the models that the providers of the configured models have.
type modelList struct {
	client     *models.Client
	configured []string // "" is none

	mu     sync.Mutex
	read   time.Time
	failed bool // a provider did not answer, or lists no models
	listed []hooks.ModelOption
}

// fresh is how long a list is used, and patience how long a command waits for one.
const (
	fresh    = 5 * time.Minute
	patience = 3 * time.Second
)

// options returns the configured models, then the others of their providers. A server that does not
// answer has none: the model that is configured can be used all the same.
func (l *modelList) options(ctx context.Context, _ string) ([]hooks.ModelOption, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ask(ctx, true)
	var out []hooks.ModelOption
	for _, id := range l.configured {
		if id != "" && !slices.ContainsFunc(l.listed, func(o hooks.ModelOption) bool { return o.ID == id }) {
			out = append(out, hooks.ModelOption{ID: id, Label: id})
		}
	}
	return append(out, l.listed...), nil
}

// ask asks the providers unless it has just done so, or, if one of them failed, unless again is set; l.mu is held.
func (l *modelList) ask(ctx context.Context, again bool) {
	if time.Since(l.read) <= fresh && (!l.failed || !again) {
		return
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var asked []string
	l.listed, l.failed = nil, false
	for _, id := range l.configured {
		provider := models.ProviderOf(id)
		if id == "" || slices.Contains(asked, provider) {
			continue
		}
		asked = append(asked, provider)
		list, err := l.client.List(ctx, provider)
		l.listed, l.failed = append(l.listed, list...), l.failed || err != nil
	}
	l.read = time.Now()
}

// window returns how many tokens a model takes; 0: unknown. It is called often, and so does not ask a provider
// again that lists no models.
func (l *modelList) window(ctx context.Context, model string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ask(ctx, false)
	for _, o := range l.listed {
		if o.ID == model {
			return o.Window
		}
	}
	return 0
}
