package models

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"tape/hooks"
	"tape/internal/agent/keys"
	"tape/internal/store/layout"
)

// Limits of a list of models: the time to wait for it, and its size in bytes.
const (
	listTimeout = 10 * time.Second
	maxList     = 8 << 20
)

// listed is a model in a server's list. Servers name the size of its context differently.
type listed struct {
	ID            string `json:"id"`
	Name          string `json:"display_name"`
	MaxModelLen   int64  `json:"max_model_len"`      // vLLM
	ContextLength int64  `json:"context_length"`     // OpenRouter
	ContextWindow int64  `json:"context_window"`     // Groq
	MaxContext    int64  `json:"max_context_length"` // LM Studio, Mistral
	MaxInput      int64  `json:"max_input_tokens"`   // Anthropic
	Meta          struct {
		Loaded  int64 `json:"n_ctx"`
		Trained int64 `json:"n_ctx_train"`
	} `json:"meta"` // llama.cpp
}

// window returns how many tokens the model takes; 0 if the server does not say.
func (l listed) window() int64 {
	return cmp.Or(l.MaxModelLen, l.ContextLength, l.ContextWindow, l.MaxContext, l.MaxInput, l.Meta.Loaded, l.Meta.Trained)
}

// List returns the models that a provider's server has, sorted by their ids.
func (c *Client) List(ctx context.Context, provider string) ([]hooks.ModelOption, error) {
	p, _, err := c.settings.find(provider + ":any")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, listTimeout)
	defer stop()
	path := "/models"
	if p.api == apiMessages {
		path = "/v1/models?limit=1000"
	}
	r, err := p.newRequest(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{CheckRedirect: keys.SameHost}).Do(r)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be reached: %w", provider, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return nil, layout.Invalid("set it in "+keys.Variable(provider, "API_KEY"), "%s refuses the key", provider)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s does not list its models: %s", provider, resp.Status)
	}
	var list struct{ Data []listed }
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxList))
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of models of %s: %w", provider, err)
	}
	var out []hooks.ModelOption
	for _, l := range list.Data {
		if l.ID != "" {
			id := provider + ":" + l.ID
			out = append(out, hooks.ModelOption{ID: id, Label: cmp.Or(l.Name, id), Window: l.window()})
		}
	}
	slices.SortStableFunc(out, func(a, b hooks.ModelOption) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// ProviderOf returns the provider in a model's name.
func ProviderOf(model string) string {
	name, _, _ := strings.Cut(model, ":")
	return name
}
