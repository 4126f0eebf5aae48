package opencode

import (
	"bytes"
	"cmp"
	_ "embed"
	"os"
	"path/filepath"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// plugin calls tape: opencode has no hooks that run commands.
//
//go:embed plugin.js
var plugin []byte

// Format is the format of opencode.
var Format = record.Format{
	Name: "opencode", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Likeness {
		return record.Likely.If(jsonl.IsObject(m["info"]) && m.HasMessages("parts"))
	},
	Head: func(head []byte) record.Likeness {
		return record.Surely.If(bytes.HasPrefix(bytes.TrimLeft(head[1:], " \t\r\n"), []byte(`"info"`)))
	},
	// As the plugin names them.
	Events: []record.HookEvent{{Name: "Stop", Is: record.TurnEnd}, {Name: "SessionEnd", Is: record.End}},
	Agent: &record.Agent{
		Title: "opencode", Folder: folder, Hooks: "plugin/tape.js", MCPFile: settings,
		Plugin: func() []byte { return plugin },
		MCP: func(program string) (string, any) {
			return "mcp", struct {
				Type    string   `json:"type"`
				Command []string `json:"command"`
				Enabled bool     `json:"enabled"`
			}{"local", []string{program, "mcp"}, true}
		},
	},
}

func folder(w record.Where) string {
	if w.Project != "" {
		return filepath.Join(w.Project, ".opencode")
	}
	return filepath.Join(cmp.Or(w.Getenv("XDG_CONFIG_HOME"), filepath.Join(w.Home, ".config")), "opencode")
}

// settings returns the file with opencode's MCP servers.
func settings(w record.Where) string {
	dir := cmp.Or(w.Project, folder(w))
	file := filepath.Join(dir, "opencode.jsonc")
	if _, err := os.Lstat(file); err == nil {
		return file
	}
	return filepath.Join(dir, "opencode.json")
}
