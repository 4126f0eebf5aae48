package agents

import (
	_ "embed"
	"os"
	"path/filepath"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/claudecode"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/layout"
)

//go:embed skill.md
var skill []byte

// WritePlugin writes a plugin for Claude Code into a folder that does not exist yet: the hooks, the MCP server, and a
// skill that says when to ask it. The plugin calls the tape in PATH, so it can be given to others.
func WritePlugin(d *disk.FS, dir, version string) error {
	if _, err := os.Lstat(dir); err == nil {
		return layout.Conflict("name a folder that does not exist", "%s already exists", dir)
	}
	hooks := map[string][]group{}
	f := &claudecode.Format
	for _, event := range f.Events {
		hooks[event.Name] = []group{{Hooks: []record.Handler{hook(f, event, Options{Program: server})}}}
	}
	member, mcp := f.Agent.MCP(server)
	files := map[string]any{
		".claude-plugin/plugin.json": map[string]any{"name": "tape", "version": version,
			"description": "Records sessions on tapes, and lets Claude search them"},
		"hooks/hooks.json": map[string]any{"hooks": hooks},
		".mcp.json":        map[string]any{member: map[string]any{server: mcp}},
	}
	texts := map[string][]byte{"skills/earlier-sessions/SKILL.md": skill}
	for name, value := range files {
		texts[name] = []byte(render("", value, "", "  ", "\n", false) + "\n")
	}
	for name, text := range texts {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := d.MkdirAll(filepath.Dir(path)); err != nil {
			return err
		}
		if err := d.WriteFile(path, text); err != nil {
			return err
		}
	}
	return nil
}
