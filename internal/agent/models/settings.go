package models

import (
	"cmp"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"tape/internal/agent/keys"
	"tape/internal/store/layout"
	"tape/repo/view"
)

// Settings are the models and their providers.
type Settings struct {
	Model     string        // provider:model
	Fallbacks []string      // models that are called, one after the other, when a model fails
	Silence   time.Duration // how long a server may send nothing; 0: five minutes

	baseURLs map[string]string
	keys     func() map[string]string // a function, so that no log or %v prints them
	getenv   func(string) string
}

// Config is the part of a workspace's settings that is about models.
type Config struct {
	Model     string
	Fallbacks []string
	BaseURLs  map[string]string // by provider
}

// Load makes the settings of the environment (TAPE_MODEL, TAPE_FALLBACK_MODELS, OPENAI_API_KEY,
// OPENAI_BASE_URL, and so on for each provider), the file of keys and c. The environment wins. A model whose name
// or address is not valid is an error.
func Load(getenv func(string) string, c Config, keyFile string) (Settings, error) {
	stored, err := keys.Read(keyFile)
	if err != nil {
		return Settings{}, err
	}
	s := Settings{Model: cmp.Or(getenv("TAPE_MODEL"), c.Model), Fallbacks: c.Fallbacks, baseURLs: c.BaseURLs, getenv: getenv}
	s.keys = func() map[string]string { return stored }
	if list := getenv("TAPE_FALLBACK_MODELS"); list != "" {
		s.Fallbacks = strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	}
	for _, model := range append([]string{s.Model}, s.Fallbacks...) {
		if model == "" {
			continue
		}
		if _, _, err := s.find(model); err != nil {
			return Settings{}, err
		}
	}
	return s, nil
}

// Keys returns all stored keys, and those in the environment of providers whose address is known, to be masked in what
// is shown and stored.
func (s Settings) Keys() []string {
	out := slices.Collect(maps.Values(s.keys()))
	names := slices.AppendSeq(Providers(), maps.Keys(s.baseURLs))
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if provider, ok := strings.CutSuffix(name, "_BASE_URL"); ok {
			names = append(names, provider)
		}
	}
	for _, name := range names {
		if key := s.getenv(keys.Variable(name, "API_KEY")); key != "" {
			out = append(out, key)
		}
	}
	return out
}

// provider is a server that runs models.
type provider struct {
	name    string
	form    view.Format
	baseURL string
	key     string // "": none
	silence time.Duration
}

// defaultURLs are the addresses of well-known providers. Others need a base URL, and are assumed
// to speak OpenAI's protocol.
func defaultURLs() map[string]string {
	return map[string]string{
		"openai":     "https://api.openai.com/v1",
		"anthropic":  "https://api.anthropic.com",
		"openrouter": "https://openrouter.ai/api/v1",
		"ollama":     "http://127.0.0.1:11434/v1",
		"vllm":       "http://127.0.0.1:8000/v1",
		"lmstudio":   "http://127.0.0.1:1234/v1",
	}
}

// Providers returns the names of the well-known providers.
func Providers() []string { return slices.Sorted(maps.Keys(defaultURLs())) }

// find returns the provider and the id in provider:model. "" stands for the configured model.
func (s Settings) find(model string) (*provider, string, error) {
	if model = cmp.Or(model, s.Model); model == "" {
		return nil, "", ErrNoModel
	}
	name, id, ok := strings.Cut(model, ":")
	if !ok || name == "" || id == "" {
		return nil, "", layout.Invalid("name it provider:model; providers are "+strings.Join(Providers(), ", "), "%q is not a model's name", model)
	}
	p := &provider{name: name, form: view.OpenAI, silence: cmp.Or(s.Silence, 5*time.Minute)}
	p.baseURL = cmp.Or(s.getenv(keys.Variable(name, "BASE_URL")), s.baseURLs[name], defaultURLs()[name])
	if p.baseURL == "" {
		return nil, "", layout.Invalid("set "+keys.Variable(name, "BASE_URL")+" or the setting base_urls; providers that need neither are "+strings.Join(Providers(), ", "),
			"the address of provider %q is not known", name)
	}
	if u, err := url.Parse(p.baseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", layout.Invalid("write it as http://… or https://…", "the base URL of %s is not an address", name)
	}
	p.key = cmp.Or(s.getenv(keys.Variable(name, "API_KEY")), s.keys()[name])
	if name == "anthropic" {
		p.form = view.Anthropic
	}
	return p, id, nil
}
