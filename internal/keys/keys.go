// Package keys knows the keys of providers and the tokens of channels. They are in the
// environment, or in a file that only its owner can read, and nowhere else: on no tape, in no
// log, in no environment of a process that needs none.
package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"tape/internal/disk"
	"tape/internal/layout"
)

// File is where the keys are, below the folder of the workspaces: {"openai": "…"}.
func File(home string) string { return filepath.Join(home, "credentials.json") }

// Read gives the keys of a file by the name of their provider or channel; none if there is no
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
		return nil, layout.Invalid("it is one object of names and keys: {\"openai\": \"…\"}", "%s cannot be read as JSON", path)
	}
	return out, nil
}

// Write puts one key into a file, whole or not at all; "" takes it out.
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

// Variable is the environment variable of a provider: OPENAI_API_KEY.
func Variable(provider, what string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r == ' ' {
			return '_'
		}
		return r
	}, provider)) + "_" + what
}

// CleanEnv is an environment without keys: without the variables that are named as such, and
// without those in which one of some keys stands.
func CleanEnv(environ []string, known ...string) []string {
	var out []string
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if !isKey(strings.ToUpper(name)) && !holds(value, known) {
			out = append(out, pair)
		}
	}
	return out
}

func isKey(name string) bool {
	return strings.HasSuffix(name, "_API_KEY") || name == "ANTHROPIC_AUTH_TOKEN" || strings.HasSuffix(name, "_BOT_TOKEN") ||
		strings.HasPrefix(name, "TAPE_") && (strings.HasSuffix(name, "_TOKEN") || strings.HasSuffix(name, "_KEY"))
}

func holds(value string, keys []string) bool {
	const shortest = 8 // a shorter one would be found everywhere
	for _, key := range keys {
		if len(key) >= shortest && strings.Contains(value, key) {
			return true
		}
	}
	return false
}
