package agents

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
)

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return fmt.Sprintf("%x", sum[:8])
}

// openCodePlugin is the plugin for opencode, which has no hooks that run commands.
//
//go:embed opencode.js
var openCodePlugin []byte

const pluginMark = "// Written by tape;"

func installPlugin(raw []byte, o Options) ([]byte, error) {
	if raw != nil && !bytes.HasPrefix(raw, []byte(pluginMark)) {
		return nil, errors.New("somebody else has written it")
	}
	args := []string{"hook", OpenCode}
	if o.Push {
		args = append(args, "--push")
	}
	words, err := json.Marshal(map[string]any{"program": o.Program, "args": args})
	if err != nil {
		return nil, err
	}
	return bytes.Replace(openCodePlugin, []byte("{/* settings */}"), words, 1), nil
}

func uninstallPlugin(raw []byte) []byte {
	if bytes.HasPrefix(raw, []byte(pluginMark)) {
		return nil
	}
	return raw
}
