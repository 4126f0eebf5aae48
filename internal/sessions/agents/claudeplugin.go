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

// WritePlugin writes a plugin for Claude Code into a folder that is not there yet: the hooks, the MCP server, and
// a skill that says when to ask it. It calls the program that PATH has, so that it can be given to others.
func WritePlugin(d *disk.FS, dir, version string) error {
	if _, err := os.Lstat(dir); err == nil {
		return layout.Conflict("name a folder that is not there yet", "%s is there already", dir)
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
