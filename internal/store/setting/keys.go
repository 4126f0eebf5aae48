package setting

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"tape/internal/store/layout"
	"tape/internal/text/secrets"
)

// API keys, tokens and passwords are refused in settings, because the agent's commands can read the settings.

// checkServers refuses keys of MCP servers, in their environment, arguments, addresses and headers.
func checkServers(servers map[string]map[string]any) error {
	scanner := secrets.New()
	for name, server := range servers {
		env, _ := server["env"].(map[string]any)
		for variable, v := range env {
			value, _ := v.(string)
			if value = literal(value); value == "" || !secrets.SensitiveName(variable) && !scanner.SensitiveValue(value) {
				continue
			}
			return layout.Invalid("set "+variable+" in your shell", "mcp_servers: %q has the value of %s, which looks like a key: write \"${%s}\", because the agent's commands can read the settings", name, variable, variable)
		}
		const way = "set a variable in your shell, and write ${NAME} in the place of the key"
		if keyInArgs(server["args"]) {
			return literalKey("mcp_servers", name, "an argument", way)
		}
		if text, _ := server["url"].(string); keyInURL(text) {
			return literalKey("mcp_servers", name, "its URL", way)
		}
		headers, _ := server["headers"].(map[string]any)
		for header, v := range headers {
			if value, _ := v.(string); isKey(scanner, header, value) {
				return literalKey("mcp_servers", name, header, way)
			}
		}
	}
	return nil
}

// checkPlugins refuses keys in the commands of plugins.
func checkPlugins(plugins []map[string]any) error {
	for _, p := range plugins {
		if name, _ := p["name"].(string); keyInArgs(p["command"]) {
			return literalKey("plugins", name, "an argument of its command", "set a variable in your shell, and name it in the plugin's env")
		}
	}
	return nil
}

// checkNoKeys refuses headers, and members of a query, that have what looks like a key.
func checkNoKeys(key string, byProvider map[string]map[string]string) error {
	scanner := secrets.New()
	for provider, values := range byProvider {
		for name, value := range values {
			if isKey(scanner, name, value) {
				return literalKey(key, provider, name, "set a variable in your shell, and write ${NAME} in the place of the key")
			}
		}
	}
	return nil
}

// isKey reports whether a header has a key that is not named by a variable.
func isKey(scanner *secrets.Scanner, name, value string) bool {
	value = literal(value)
	return value != "" && (secrets.SensitiveName(name) || strings.EqualFold(name, "Authorization") || scanner.SensitiveValue(value))
}

func literalKey(key, name, where, way string) error {
	return layout.Invalid(way, "%s: %s of %q has what looks like a key, and the agent's commands can read the settings", key, where, name)
}

// variable matches how a setting names a variable of the environment.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{[A-Za-z_]\w*\}`) })

// literal returns a value without its variables. For "Bearer ${TOKEN}" it is empty, because the scheme is no
// secret.
func literal(value string) string {
	rest := strings.TrimSpace(variable().ReplaceAllString(value, ""))
	if rest != value && slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(rest)) {
		return ""
	}
	return rest
}

// keyInArgs reports whether an argument is a key by its shape, or has one as --token=KEY, --token KEY or in a
// header.
func keyInArgs(list any) bool {
	args, _ := list.([]any)
	scanner, before := secrets.New(), ""
	for _, v := range args {
		arg, _ := v.(string)
		flag := before
		if before, arg = arg, literal(arg); arg == "" {
			continue
		}
		name, value, found := strings.Cut(arg, "=")
		if !found {
			name, value, _ = strings.Cut(arg, ":") // Authorization: Bearer KEY
		}
		afterFlag := strings.HasPrefix(flag, "-") && !strings.Contains(flag, "=") && secrets.SensitiveName(strings.TrimLeft(flag, "-")) && !strings.HasPrefix(arg, "-")
		if scanner.SensitiveValue(arg) || keyInURL(arg) || afterFlag || literal(value) != "" && secrets.SensitiveName(strings.TrimLeft(name, "-")) {
			return true
		}
	}
	return false
}

// keyInURL reports whether an address has a key: a password, a parameter, or a text with the shape of a key.
func keyInURL(text string) bool {
	u, err := url.Parse(variable().ReplaceAllString(text, ""))
	if err != nil || u.Scheme == "" {
		return false
	}
	if secrets.New().SensitiveValue(u.String()) {
		return true
	}
	for name, values := range u.Query() {
		if secrets.SensitiveName(name) && strings.Join(values, "") != "" {
			return true
		}
	}
	return false
}
