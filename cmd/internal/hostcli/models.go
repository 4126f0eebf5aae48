package hostcli

import (
	"context"
	"errors"
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
	listed []hooks.ModelOption
}

// fresh is how long a list is used, and patience how long a command waits for one.
const (
	fresh    = 5 * time.Minute
	patience = 3 * time.Second
)

// options returns the configured models, then the others of their providers. A server that does not
// answer has none: the model that is configured can be used all the same.
func (l *modelList) options(ctx context.Context) ([]hooks.ModelOption, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.read) > fresh {
		ctx, stop := context.WithTimeout(ctx, patience)
		defer stop()
		var asked []string
		var found []hooks.ModelOption
		var failed error
		for _, id := range l.configured {
			provider := models.ProviderOf(id)
			if id == "" || slices.Contains(asked, provider) {
				continue
			}
			asked = append(asked, provider)
			list, err := l.client.List(ctx, provider)
			found, failed = append(found, list...), errors.Join(failed, err)
		}
		l.listed = found
		if failed == nil {
			l.read = time.Now()
		}
	}
	var out []hooks.ModelOption
	for _, id := range l.configured {
		if id != "" && !slices.ContainsFunc(l.listed, func(o hooks.ModelOption) bool { return o.ID == id }) {
			out = append(out, hooks.ModelOption{ID: id, Label: id})
		}
	}
	return append(out, l.listed...), nil
}

// window returns how many tokens a model takes; 0: unknown.
func (l *modelList) window(ctx context.Context, model string) int64 {
	list, err := l.options(ctx)
	if err != nil {
		return 0
	}
	for _, o := range list {
		if o.ID == model {
			return o.Window
		}
	}
	return 0
}
