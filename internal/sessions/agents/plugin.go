package agents

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tape/internal/sessions/importer/record"
)

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return fmt.Sprintf("%x", sum[:8])
}

// pluginMark is the beginning of each plugin that tape writes.
const pluginMark = "// Written by tape;"

func installPlugin(f *record.Format, raw []byte, o Options) ([]byte, error) {
	if raw != nil && !bytes.HasPrefix(raw, []byte(pluginMark)) {
		return nil, errors.New("tape did not write it")
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

// scriptMark is the beginning of each script that tape writes.
const scriptMark = "#!/bin/sh\n# Written by tape;"

func installScript(f *record.Format, raw []byte, o Options) ([]byte, error) {
	if raw != nil && !bytes.HasPrefix(raw, []byte(scriptMark)) {
		return nil, fmt.Errorf("tape did not write it; %s runs your own hooks and the project's, so install in the other place: add --project, or leave it out", f.Title)
	}
	return fmt.Appendf(nil, "%s tape record uninstall %s removes it.\n%s\n", scriptMark, f.Name, command(f, record.HookEvent{}, o)), nil
}

func installFile(f *record.Format, raw []byte, o Options) ([]byte, error) {
	if _, theirs := commandsIn(f, raw); len(raw) > 0 && theirs {
		return nil, errors.New("it has content that tape did not write")
	}
	return f.Agent.OwnFile(func(event record.HookEvent) string { return command(f, event, o) }), nil
}

func uninstallFile(f *record.Format, raw []byte) ([]byte, error) {
	ours, theirs := commandsIn(f, raw)
	switch {
	case len(ours) == 0:
		return raw, nil
	case theirs:
		return nil, errors.New("it also has content that tape did not write")
	}
	return nil, nil
}

// commandsIn returns our commands in a JSON file of hooks, by event, and whether the file has anything else.
func commandsIn(f *record.Format, raw []byte) (ours map[string]string, theirs bool) {
	var all struct {
		Hooks map[string][]map[string]any `json:"hooks"`
	}
	if json.Unmarshal(raw, &all) != nil {
		return nil, true
	}
	ours = map[string]string{}
	for event, hooks := range all.Hooks {
		for _, hook := range hooks {
			for _, v := range hook {
				if text, ok := v.(string); ok && strings.Contains(text, mark(f)) {
					ours[event] = text
				}
			}
		}
		theirs = theirs || len(hooks) != 1 || ours[event] == ""
	}
	return ours, theirs || len(ours) == 0
}

// uninstallOwn removes a file that begins with our mark.
func uninstallOwn(raw []byte, mark string) []byte {
	if bytes.HasPrefix(raw, []byte(mark)) {
		return nil
	}
	return raw
}
