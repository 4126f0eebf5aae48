package agents

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"tape/internal/sessions/importer/record"
)

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return fmt.Sprintf("%x", sum[:8])
}

// pluginMark begins a plugin of ours.
const pluginMark = "// Written by tape;"

func installPlugin(f *record.Format, raw []byte, o Options) ([]byte, error) {
	if raw != nil && !bytes.HasPrefix(raw, []byte(pluginMark)) {
		return nil, errors.New("somebody else has written it")
	}
	args := []string{"hook", f.Name}
	if o.Push {
		args = append(args, "--push")
	}
	words, err := json.Marshal(map[string]any{"program": o.Program, "args": args})
	if err != nil {
		return nil, err
	}
	return bytes.Replace(f.Agent.Plugin(), []byte("{/* settings */}"), words, 1), nil
}

func uninstallPlugin(raw []byte) []byte {
	if bytes.HasPrefix(raw, []byte(pluginMark)) {
		return nil
	}
	return raw
}
