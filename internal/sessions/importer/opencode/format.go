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

// plugin tells of sessions: opencode has no hooks that run commands.
//
//go:embed plugin.js
var plugin []byte

// Format is that of opencode.
var Format = record.Format{
	Name: "opencode", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Likeness {
		return record.Likely.If(jsonl.IsObject(m["info"]) && m.HasMessages("parts"))
	},
	Head: func(head []byte) record.Likeness {
		return record.Surely.If(bytes.HasPrefix(bytes.TrimLeft(head[1:], " \t\r\n"), []byte(`"info"`)))
	},
	// As the plugin tells of them.
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

// settings is the file in which opencode looks for MCP servers.
func settings(w record.Where) string {
	dir := cmp.Or(w.Project, folder(w))
	if file := filepath.Join(dir, "opencode.jsonc"); exists(file) {
		return file
	}
	return filepath.Join(dir, "opencode.json")
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}
