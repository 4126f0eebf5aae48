package hostcli

import (
	"context"
	"slices"
	"sync"
	"time"

	"tape/hooks"
	"tape/internal/agent/models"
)

// modelList lists the models that the providers of the configured models have.
type modelList struct {
	client     *models.Client
	configured []string // the model, then the fallbacks; the model may be ""

	mu     sync.Mutex
	read   time.Time // when listed was read
	failed bool      // a provider did not answer, or gave no list
	listed []hooks.ModelOption
}

// fresh is how long a list is used, and patience how long a command waits for one.
const (
	fresh    = 5 * time.Minute
	patience = 3 * time.Second
)

// options returns the models of the configured models' providers, after those configured ones that no provider
// lists. A server that does not answer adds none, and is no error: the configured model can still be used.
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

// ask asks the providers if the list is no longer fresh or, with retry, if one of them failed. l.mu is held.
func (l *modelList) ask(ctx context.Context, retry bool) {
	if time.Since(l.read) <= fresh && (!l.failed || !retry) {
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

// window returns how many tokens a model takes; 0: unknown. It is called often, so it does not retry a provider that
// failed.
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
