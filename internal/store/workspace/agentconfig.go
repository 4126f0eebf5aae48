package workspace

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/prices"
)

// maxSteps is more than any useful turn needs.
const maxSteps = 10000

// agentJSON reports whether a setting of the agent is JSON. The packages that use it know its members.
func agentJSON(key string) bool {
	return key == "base_urls" || key == "plugins" || key == "mcp_servers" || key == "telegram" || key == "prices"
}

// agentText returns the text of a setting from its value in a file.
func agentText(key string, raw json.RawMessage) (string, error) {
	if agentJSON(key) {
		return string(raw), nil
	}
	return settingText(raw)
}

// agentChecked returns the text of a setting from its value in a file, if it is valid.
func agentChecked(key string, raw json.RawMessage) (string, error) {
	text, err := agentText(key, raw)
	if err == nil {
		raw, err = agentValue(key, text)
	}
	if err != nil {
		return "", err
	}
	return agentText(key, raw)
}

func agentValue(key, value string) (json.RawMessage, error) {
	switch key {
	case "model":
		if err := checkModel(key, value); err != nil {
			return nil, err
		}
		return json.Marshal(value)
	case "publish":
		if err := gitstore.CheckRefName("refs/heads/" + value); err != nil || strings.HasPrefix(value, "tape/") || strings.HasPrefix(value, "fork/") {
			return nil, layout.Invalid("for example: pages", "%q is no branch for pages", value)
		}
		return json.Marshal(value)
	case "fallback_models":
		list := strings.Split(value, listSeparator)
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
	case "web_private":
		if value != "true" && value != "false" {
			return nil, layout.Invalid("", "web_private is true or false, not %q", value)
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
		return nil, layout.Invalid(agentExample(key), "%s is not JSON: %v", key, err)
	}
	return compact.Bytes(), checkAgentJSON(key, compact.Bytes())
}

func checkModel(key, model string) error {
	provider, name, ok := strings.Cut(model, ":")
	if !ok || provider == "" || name == "" || strings.ContainsAny(model, " \t\r\n") {
		return layout.Invalid("for example: openai:gpt-4.1", "%q is not a model: write PROVIDER:MODEL", model)
	}
	return nil
}

func checkAgentJSON(key string, raw []byte) error {
	var into any = &map[string]map[string]any{} // mcp_servers
	urls := map[string]string{}
	switch key {
	case "base_urls":
		into = &urls
	case "plugins":
		into = &[]map[string]any{}
	case "telegram":
		into = &map[string]any{}
	case "prices":
		_, err := prices.Parse(string(raw))
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil || string(raw) == "null" {
		return layout.Invalid(agentExample(key), "%s does not have the right shape", key)
	}
	for provider, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return layout.Invalid(agentExample(key), "the base URL of %q is not a URL: %q", provider, text)
		}
	}
	return nil
}

func agentExample(key string) string {
	example := `{"files":{"command":"mcp-files","args":["."]}}`
	switch key {
	case "base_urls":
		example = `{"openai":"http://localhost:11434/v1"}`
	case "plugins":
		example = `[{"name":"x","command":["python3","x.py"]}]`
	case "prices":
		example = prices.Example
	case "telegram":
		example = `{"allow_users":["123"]}`
	}
	return "for example: " + example
}
