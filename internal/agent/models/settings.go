package models

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"regexp"
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
	Log       *slog.Logger  // nil: nothing is logged

	config Config
	memory string                   // the file in which refusals are kept; "": none
	keys   func() map[string]string // a function, so that no log or %v prints them
	getenv func(string) string
}

// Config is the part of a workspace's settings that is about models. What is by provider has its name as key.
type Config struct {
	Model     string
	Fallbacks []string
	BaseURLs  map[string]string            // by provider
	APIs      map[string]string            // by provider: chat, responses or messages
	Headers   map[string]map[string]string // by provider; ${NAME} in a value is the variable NAME
	Query     map[string]map[string]string // by provider, as Headers
	MaxTokens int                          // of an answer; 0: what the model can give, or the server's default
	Silence   time.Duration                // how long a server may send nothing; 0: five minutes
	Whole     bool                         // answers are not streamed
}

// Load makes the settings of the environment (TAPE_MODEL, TAPE_FALLBACK_MODELS, OPENAI_API_KEY,
// OPENAI_BASE_URL, and so on for each provider), the file of keys and c. The environment wins. A model whose name
// or address is not valid is an error.
func Load(getenv func(string) string, c Config, keyFile string) (Settings, error) {
	stored, err := keys.Read(keyFile)
	if err != nil {
		return Settings{}, err
	}
	s := Settings{Model: cmp.Or(getenv("TAPE_MODEL"), c.Model), Fallbacks: c.Fallbacks, Silence: c.Silence, config: c, getenv: getenv, memory: memoryFile(keyFile)}
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
	names := slices.AppendSeq(Providers(), maps.Keys(s.config.BaseURLs))
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if provider, ok := strings.CutSuffix(name, "_BASE_URL"); ok {
			names = append(names, provider)
		}
	}
	for _, values := range []map[string]map[string]string{s.config.Headers, s.config.Query} {
		for _, of := range values {
			for _, value := range of {
				for _, found := range variable.FindAllString(value, -1) {
					if v := s.getenv(found[2 : len(found)-1]); v != "" {
						out = append(out, v)
					}
				}
			}
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
	name      string
	api       string
	baseURL   string
	key       string // "": none
	headers   map[string]string
	query     map[string]string
	hidden    []string // values of headers and the query that come from variables
	silence   time.Duration
	maxTokens int
	whole     bool
}

func (p *provider) form() view.Format {
	if p.api == apiMessages {
		return view.Anthropic
	}
	return view.OpenAI
}

// id names a model and its server, without saying where that is.
func (p *provider) id(model string) string {
	sum := sha256.Sum256([]byte(p.baseURL + "\n" + p.api))
	return p.name + ":" + model + "@" + hex.EncodeToString(sum[:4])
}

// secrets returns what must not be shown.
func (p *provider) secrets() []string {
	if p.key == "" {
		return p.hidden
	}
	return append([]string{p.key}, p.hidden...)
}

func (s Settings) log() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
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
	c := s.config
	p := &provider{name: name, api: cmp.Or(c.APIs[name], apiChat), silence: cmp.Or(s.Silence, 5*time.Minute), maxTokens: c.MaxTokens, whole: c.Whole}
	if name == "anthropic" && c.APIs[name] == "" {
		p.api = apiMessages
	}
	p.baseURL = cmp.Or(s.getenv(keys.Variable(name, "BASE_URL")), c.BaseURLs[name], defaultURLs()[name])
	if p.baseURL == "" {
		return nil, "", layout.Invalid("set "+keys.Variable(name, "BASE_URL")+" or the setting base_urls; providers that need neither are "+strings.Join(Providers(), ", "),
			"the address of provider %q is not known", name)
	}
	if u, err := url.Parse(p.baseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", layout.Invalid("write it as http://… or https://…", "the base URL of %s is not an address", name)
	}
	for _, path := range []string{"/chat/completions", "/responses", "/messages"} { // as providers show it (lidge-jun/opencodex#1582)
		p.baseURL = strings.TrimSuffix(strings.TrimSuffix(p.baseURL, "/"), path)
	}
	p.key = cmp.Or(s.getenv(keys.Variable(name, "API_KEY")), s.keys()[name])
	var err error
	if p.headers, err = s.expanded(p, "headers", c.Headers[name]); err == nil {
		p.query, err = s.expanded(p, "query", c.Query[name])
	}
	return p, id, err
}

var variable = regexp.MustCompile(`\$\{[A-Za-z_]\w*\}`)

// expanded returns values with the variables that they name, which are then hidden.
func (s Settings) expanded(p *provider, setting string, values map[string]string) (out map[string]string, err error) {
	out = map[string]string{}
	for name, value := range values {
		out[name] = variable.ReplaceAllStringFunc(value, func(found string) string {
			key := found[2 : len(found)-1]
			v := s.getenv(key)
			if v == "" {
				err = layout.Invalid("set it in your shell", "the setting %s of %s names the variable %s, which is not set", setting, p.name, key)
				return ""
			}
			p.hidden = append(p.hidden, v)
			return v
		})
	}
	return out, err
}
