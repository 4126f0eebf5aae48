package agents

import (
	_ "embed"
	"path/filepath"

	"tape/internal/git/disk"
	"tape/internal/store/layout"
)

//go:embed skill.md
var skill []byte

// WritePlugin writes a plugin for Claude Code into a folder that is not there yet: the hooks, the MCP server, and
// a skill that says when to ask it. It calls the program that PATH has, so that it can be given to others.
func WritePlugin(d *disk.FS, dir, version string) error {
	if exists(dir) {
		return layout.Conflict("name a folder that is not there yet", "%s is there already", dir)
	}
	hooks := map[string][]group{}
	for _, event := range events(ClaudeCode) {
		hooks[event] = []group{{Hooks: []handler{hook(ClaudeCode, event, Options{Program: server})}}}
	}
	_, mcp := mcpPath(ClaudeCode, server)
	files := map[string]any{
		".claude-plugin/plugin.json": map[string]any{"name": "tape", "version": version,
			"description": "Records sessions on tapes, and lets Claude search them"},
		"hooks/hooks.json": map[string]any{"hooks": hooks},
		".mcp.json":        map[string]any{"mcpServers": map[string]any{server: mcp}},
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
