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

// scriptMark begins a script of ours.
const scriptMark = "#!/bin/sh\n# Written by tape;"

func installScript(f *record.Format, raw []byte, o Options) ([]byte, error) {
	if raw != nil && !bytes.HasPrefix(raw, []byte(scriptMark)) {
		return nil, fmt.Errorf("somebody else has written it; %s runs the hooks of the user and those of the project, so install with --project, or without it", f.Title)
	}
	return fmt.Appendf(nil, "%s tape record uninstall %s removes it.\n%s\n", scriptMark, f.Name, command(f, record.HookEvent{}, o)), nil
}

// uninstallOwn removes a file if it begins with a mark of ours.
func uninstallOwn(raw []byte, mark string) []byte {
	if bytes.HasPrefix(raw, []byte(mark)) {
		return nil
	}
	return raw
}
