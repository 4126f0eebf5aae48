package procplugin

import (
	"os"
	"slices"
	"strings"
)

// shortestKey: what is shorter is no key, but a placeholder of a server that wants none.
const shortestKey = 12

// environment is the host's without what may be a key, by its name or by what it says, unless
// the settings name it.
func environment(named, keys []string) []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		if slices.Contains(named, name) {
			return false
		}
		for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"} {
			if strings.Contains(strings.ToUpper(name), word) {
				return true
			}
		}
		return slices.ContainsFunc(keys, func(key string) bool {
			return len(key) >= shortestKey && strings.Contains(value, key)
		})
	})
}
