package agents

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// server is the MCP server of an agent's settings.
const server = "tape"

// MCPFile is the file in which an agent looks for MCP servers.
func (w Where) MCPFile(agent string) string {
	switch {
	case agent == Codex:
		return filepath.Join(w.folder(agent), "config.toml")
	case agent == ClaudeCode && w.Project != "":
		return filepath.Join(w.Project, ".mcp.json")
	case agent == ClaudeCode && w.Getenv("CLAUDE_CONFIG_DIR") != "":
		return filepath.Join(w.Getenv("CLAUDE_CONFIG_DIR"), ".claude.json")
	case agent == ClaudeCode:
		return filepath.Join(w.Home, ".claude.json")
	case agent == OpenCode:
		dir := w.folder(agent)
		if w.Project != "" {
			dir = w.Project
		}
		if file := filepath.Join(dir, "opencode.jsonc"); exists(file) {
			return file
		}
		return filepath.Join(dir, "opencode.json")
	}
	return w.HooksFile(agent)
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// mcpPath is where the server stands in a file of JSON, and what is written there.
func mcpPath(agent, program string) (path []string, value any) {
	switch agent {
	case ClaudeCode:
		return []string{"mcpServers", server}, struct {
			Type    string   `json:"type"`
			Command string   `json:"command"`
			Args    []string `json:"args"`
		}{"stdio", program, []string{"mcp"}}
	case OpenCode:
		return []string{"mcp", server}, struct {
			Type    string   `json:"type"`
			Command []string `json:"command"`
			Enabled bool     `json:"enabled"`
		}{"local", []string{program, "mcp"}, true}
	}
	return []string{"mcpServers", server}, struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{program, []string{"mcp"}}
}

func (d *document) addMCP(agent, program string) error {
	path, value := mcpPath(agent, program)
	if d.get(path...) != nil {
		return nil // whoever wrote it wants it so
	}
	in := d.get(path[0])
	if in == nil {
		if err := d.add(&d.root, path[0], struct{}{}); err != nil {
			return err
		}
		in = d.get(path[0])
	}
	if _, ok := in.Value.(*hujson.Object); !ok {
		return fmt.Errorf("%q is not an object", path[0])
	}
	return d.add(in, path[1], value)
}

func (d *document) removeMCP(agent string) error {
	path, _ := mcpPath(agent, "")
	if v := d.get(path...); v == nil || !bytes.Contains(data(v), []byte(`"mcp"`)) {
		return nil
	}
	return d.removeMember(path...)
}

const (
	tomlBegin = "# Begin of what tape has written."
	tomlEnd   = "# End of what tape has written."
)

// addTOML adds the server at the end of a file of TOML, between two marks.
func addTOML(raw []byte, program string) ([]byte, error) {
	var known struct {
		Servers map[string]any `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal(bytes.TrimPrefix(raw, []byte(byteOrderMark)), &known); err != nil {
		return nil, fmt.Errorf("it is not TOML: %w", err)
	}
	if known.Servers[server] != nil {
		return raw, nil
	}
	nl := (&document{raw: raw}).newline()
	block := []string{"", tomlBegin, "[mcp_servers." + server + "]", "command = " + tomlQuote(program), `args = ["mcp"]`, tomlEnd, ""}
	out := bytes.Clone(raw)
	if len(raw) > 0 && raw[len(raw)-1] != '\n' {
		out = append(out, nl...)
	}
	if len(raw) == 0 {
		block = block[1:]
	}
	out = append(out, strings.Join(block, nl)...)
	if err := toml.Unmarshal(bytes.TrimPrefix(out, []byte(byteOrderMark)), &known); err != nil {
		return nil, fmt.Errorf("nothing can be added at its end: %w", err)
	}
	return out, nil
}

func tomlQuote(s string) string {
	raw, _ := toml.Marshal(map[string]string{"x": s})
	return strings.TrimSpace(strings.TrimPrefix(string(raw), "x = "))
}

// removeTOML takes out what addTOML has added.
func removeTOML(raw []byte) []byte {
	before, rest, ok := bytes.Cut(raw, []byte(tomlBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(tomlEnd))
	if !ok || !ok2 {
		return raw
	}
	after = bytes.TrimPrefix(bytes.TrimPrefix(after, []byte("\r")), []byte("\n"))
	for _, nl := range []string{"\r\n", "\n"} {
		if bytes.HasSuffix(before, []byte(nl+nl)) {
			before = bytes.TrimSuffix(before, []byte(nl))
			break
		}
	}
	return append(before[:len(before):len(before)], after...)
}
