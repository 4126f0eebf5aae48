package models

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/hooks"
	"tape/internal/agent/keys"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// Limits of a list of models: the time to wait for it, and its size in bytes.
const (
	listTimeout = 10 * time.Second
	maxList     = 8 << 20
)

// window returns how many tokens a model in a server's list can take; 0 if the server does not say. Servers have several
// names for it, and some write the number as a text.
func window(model []byte) int64 {
	for _, path := range [][]string{
		{"max_model_len"},                             // vLLM
		{"loaded_context_length"}, {"context_length"}, // LM Studio; OpenRouter, Together, Fireworks
		{"context_window"}, {"max_context_length"}, // Groq; LM Studio, Mistral
		{"max_input_tokens"}, {"meta", "n_ctx"}, {"meta", "n_ctx_train"}, // Anthropic; llama.cpp
	} {
		if n, err := strconv.ParseFloat(rawText(jsonl.Get(model, path...)), 64); err == nil && n >= 1 && n < 1e12 {
			return int64(n)
		}
	}
	return 0
}

// listed returns the models in a server's list: below data, as a list alone (Together: lidge-jun/opencodex#617), or
// below models.
func listed(raw []byte) iter.Seq[[]byte] {
	for _, name := range []string{"data", "models"} {
		if list := jsonl.Get(raw, name); len(list) > 0 && list[0] == '[' {
			return jsonl.Elements(list)
		}
	}
	return jsonl.Elements(raw)
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
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxList))
	if raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\uFEFF"))); err == nil && !json.Valid(raw) {
		err = fmt.Errorf("it is not JSON: %s%s", shorten(string(raw[:min(len(raw), 100)])), pageTitle(raw))
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of models of %s at %s: %w", provider, r.URL.Redacted(), err)
	}
	var out []hooks.ModelOption
	for model := range listed(raw) {
		if name := cmp.Or(jsonl.GetString(model, "id"), jsonl.GetString(model, "name")); name != "" {
			id := provider + ":" + name
			out = append(out, hooks.ModelOption{ID: id, Label: cmp.Or(jsonl.GetString(model, "display_name"), id), Window: window(model)})
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
