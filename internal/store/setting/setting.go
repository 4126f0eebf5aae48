// Package setting checks the values of the settings that run or send something, and converts them between text
// and the form in which a file has them. Package workspace reads the files.
package setting

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/internal/store/layout"
	"tape/internal/store/prices"
)

// maxSteps is the highest value of max_steps: more than any useful turn needs.
const maxSteps = 10000

// Limits of max_tokens and auto_handoffs.
const (
	maxTokens   = 10_000_000
	maxHandoffs = 100
)

// Keys are the names of the settings that run or send something.
var Keys = []string{"model", "fallback_models", "base_urls", "apis", "headers", "query", "max_tokens", "silence", "stream", "max_steps", "auto_handoffs", "web_private", "mode", "allow", "deny", "ask", "sandbox", "summary_model", "plugins", "mcp_servers", "telegram", "prices", "team", "publish", "sign"}

// ListSeparator separates the values of a list that is written as text.
const ListSeparator = ","

// isJSON reports whether the text of a setting is JSON.
func isJSON(key string) bool { return Example(key) != "" }

func isRules(key string) bool { return key == "allow" || key == "deny" || key == "ask" }

// choices returns the values of a setting that can have only a few; nil for other settings.
func choices(key string) []string {
	switch key {
	case "mode":
		return []string{"ask", "plan", "auto"}
	case "sign":
		return []string{"auto", "always", "never"}
	case "sandbox":
		return []string{"auto", "on", "off"}
	}
	return nil
}

// Text returns a value in a file as text; lists are joined with commas.
func Text(value json.RawMessage) (text string, err error) {
	switch value[0] {
	case '"':
		err = json.Unmarshal(value, &text)
	case '[':
		var list []string
		err = json.Unmarshal(value, &list)
		text = strings.Join(list, ListSeparator)
	default:
		text = string(value)
	}
	return text, err
}

func textOf(key string, raw json.RawMessage) (string, error) {
	if isJSON(key) {
		return string(raw), nil
	}
	return Text(raw)
}

// Check checks the value of a setting in a file, and returns it as text. Errors: [layout.ErrInvalid].
func Check(key string, raw json.RawMessage) (string, error) {
	text, err := textOf(key, raw)
	if err == nil {
		raw, err = Value(key, text)
	}
	if err != nil {
		return "", err
	}
	return textOf(key, raw)
}

// Value checks the text of a setting, and returns the value for a file. Errors: [layout.ErrInvalid].
func Value(key, value string) (json.RawMessage, error) {
	if list := choices(key); list != nil {
		if !slices.Contains(list, value) {
			return nil, layout.Invalid("", "%s is one of %s, not %q", key, strings.Join(list, ", "), value)
		}
		return json.Marshal(value)
	}
	switch key {
	case "model", "summary_model":
		if err := checkModel(key, value); err != nil {
			return nil, err
		}
		return json.Marshal(value)
	case "publish":
		if err := layout.CheckPagesBranch(value); err != nil {
			return nil, err
		}
		return json.Marshal(value)
	case "fallback_models":
		list := strings.Split(value, ListSeparator)
		if strings.HasPrefix(value, "[") && json.Unmarshal([]byte(value), &list) != nil {
			return nil, layout.Invalid("for example: ollama:qwen3,openai:gpt-4.1", "fallback_models is not a list of models: %s", value)
		}
		for _, model := range list {
			if err := checkModel(key, model); err != nil {
				return nil, err
			}
		}
		return json.Marshal(list)
	case "max_steps":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxSteps {
			return nil, layout.Invalid("", "max_steps is a number of steps from 1 to %d, not %q", maxSteps, value)
		}
		return json.Marshal(n)
	case "max_tokens", "auto_handoffs":
		least, most := 1, maxTokens
		if key == "auto_handoffs" {
			least, most = 0, maxHandoffs
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return nil, layout.Invalid("", "%s is a number from %d to %d, not %q", key, least, most, value)
		}
		return json.Marshal(n)
	case "silence":
		if d, err := time.ParseDuration(value); err != nil || d < time.Second || d > 24*time.Hour {
			return nil, layout.Invalid("for example: 20m", "silence is a time from 1s to 24h, not %q", value)
		}
		return json.Marshal(value)
	case "web_private", "stream":
		if value != "true" && value != "false" {
			return nil, layout.Invalid("", "%s is true or false, not %q", key, value)
		}
		return json.RawMessage(value), nil
	case "team":
		u, err := url.Parse(value)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return nil, layout.Invalid("give one such as https://tape.example.org", "team is the address of a server, not %q", value)
		}
		return json.Marshal(value)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(value)); err != nil {
		return nil, layout.Invalid(Example(key), "%s is not JSON: %v", key, err)
	}
	return compact.Bytes(), checkJSON(key, compact.Bytes())
}

func checkModel(key, model string) error {
	provider, name, ok := strings.Cut(model, ":")
	if !ok || provider == "" || name == "" || strings.ContainsAny(model, " \t\r\n") {
		return layout.Invalid("for example: openai:gpt-4.1", "%q is not a model: write PROVIDER:MODEL", model)
	}
	return nil
}

func checkJSON(key string, raw []byte) error {
	byProvider := map[string]map[string]string{}
	servers, urls, chat := map[string]map[string]any{}, map[string]string{}, map[string]any{}
	var plugins []map[string]any
	var into any = &servers // mcp_servers
	if isRules(key) {
		_, err := Rules(string(raw))
		return err
	}
	switch key {
	case "base_urls", "apis":
		into = &urls
	case "headers", "query":
		into = &byProvider
	case "plugins":
		into = &plugins
	case "telegram":
		into = &chat
	case "prices":
		_, err := prices.Parse(string(raw))
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil || string(raw) == "null" {
		return layout.Invalid(Example(key), "%s does not have the right shape", key)
	}
	if key == "apis" {
		for provider, api := range urls {
			if !slices.Contains([]string{"chat", "responses", "messages"}, api) {
				return layout.Invalid(Example(key), "the API of %q is chat, responses or messages, not %q", provider, api)
			}
		}
		return nil
	}
	if err := checkNoKeys(key, byProvider); err != nil {
		return err
	}
	for provider, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return layout.Invalid(Example(key), "the base URL of %q is not a URL: %q", provider, text)
		}
	}
	for member := range chat {
		if member == "token" {
			return layout.Invalid("put it into TAPE_TELEGRAM_TOKEN, or as \"telegram\" into credentials.json", "telegram: the bot's token is not a setting, because the agent's commands can read the settings")
		}
		if !slices.Contains([]string{"allow_users", "allow_chats", "base_url"}, member) {
			return layout.Invalid(Example(key), "telegram: unknown field %q; it is {\"allow_users\", \"allow_chats\", \"base_url\"}", member)
		}
	}
	for provider, text := range urls {
		if keyInURL(text) {
			return literalKey("base_urls", provider, "its URL", "put it into "+strings.ToUpper(provider)+"_API_KEY, or into credentials.json")
		}
	}
	if text, _ := chat["base_url"].(string); keyInURL(text) {
		return literalKey("telegram", "base_url", "its URL", "the bot's token belongs into TAPE_TELEGRAM_TOKEN")
	}
	if err := checkPlugins(plugins); err != nil {
		return err
	}
	return checkServers(servers)
}

// Example returns a hint that shows a valid value of a setting that is JSON; "" for other settings.
func Example(key string) string {
	var example string
	switch key {
	case "base_urls":
		example = `{"openai":"http://localhost:11434/v1"}`
	case "apis":
		example = `{"openai":"responses","gateway":"messages"}`
	case "headers":
		example = `{"azure":{"api-key":"${AZURE_KEY}"}}`
	case "query":
		example = `{"azure":{"api-version":"2025-04-01-preview"}}`
	case "plugins":
		example = `[{"name":"x","command":["python3","x.py"]}]`
	case "prices":
		example = prices.Example
	case "allow", "deny", "ask":
		return ruleHint
	case "telegram":
		example = `{"allow_users":["123"]}`
	case "mcp_servers":
		example = `{"files":{"command":"mcp-files","args":["."]}}`
	default:
		return ""
	}
	return "for example: " + example
}
