// Package keys reads and writes the keys of providers and the tokens of channels. They are in the
// environment, or in a file that only its owner can read, and nowhere else: never on a tape, in a
// log, or in the environment of a process that does not need them.
package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/store/layout"
	"tape/internal/text/secrets"
)

// File returns the path of the file with the keys: {"openai": "…"}.
func File(home string) string { return filepath.Join(home, "credentials.json") }

// Read returns the keys in a file, by the name of their provider or channel; nil if there is no
// file. A file that others can read is refused.
func Read(path string) (map[string]string, error) {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0 {
		return nil, layout.Invalid("chmod 600 "+path, "others can read %s, which has keys", path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out map[string]string
	if json.Unmarshal(raw, &out) != nil { // its error would quote the file
		return nil, layout.Invalid("write it as one object of names and keys: {\"openai\": \"…\"}", "%s cannot be read as JSON", path)
	}
	return out, nil
}

// Write stores one key in a file, atomically; "" removes it.
func Write(d *disk.FS, path, name, key string) error {
	all, err := Read(path)
	if err != nil {
		return err
	}
	if all == nil {
		all = map[string]string{}
	}
	if all[name] = key; key == "" {
		delete(all, name)
	}
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := d.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	if err := d.WriteFile(path, append(raw, '\n')); err != nil {
		return fmt.Errorf("keep the key of %s: %w", name, err)
	}
	return nil
}

// Variable returns the name of an environment variable of a provider: OPENAI_API_KEY for openai and API_KEY.
func Variable(provider, what string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r == ' ' {
			return '_'
		}
		return r
	}, provider)) + "_" + what
}

// A key of fewer than shortestKey bytes is a placeholder for a server that needs none.
const shortestKey = 12

// CleanEnv returns an environment for a program that needs no keys: without the variables whose
// name or value looks like a secret, or whose value contains one of keys. Variables named in keep stay. If one
// of git's list of settings, GIT_CONFIG_…, has to go, the whole list goes.
func CleanEnv(environ, keep []string, keys ...string) []string {
	const git = "GIT_CONFIG_"
	scanner := secrets.New()
	var out []string
	gitConfig := true
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		// GIT_CONFIG_KEY_0 is the name of a setting of git.
		secret := secrets.SensitiveName(name) && !strings.HasPrefix(name, git) || scanner.SensitiveValue(value) || containsKey(value, keys)
		if !secret || slices.Contains(keep, name) {
			out = append(out, pair)
		} else if strings.HasPrefix(name, git) {
			gitConfig = false
		}
	}
	if gitConfig {
		return out
	}
	// git refuses a list of settings with a gap.
	return slices.DeleteFunc(out, func(pair string) bool { return strings.HasPrefix(pair, git) })
}

// Mask returns a finder of keys in a text; nil if there are no keys but placeholders.
func Mask(keys []string) *secrets.KnownFinder {
	var list []secrets.Secret
	for _, key := range keys {
		if len(key) >= shortestKey {
			list = append(list, secrets.Secret{Rule: "provider-key", Text: key})
		}
	}
	if len(list) == 0 {
		return nil
	}
	return secrets.NewKnownFinder(list)
}

func containsKey(value string, keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return len(key) >= shortestKey && strings.Contains(value, key) })
}
