package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Trust is what Codex knows of our hooks: it runs none that its user has not reviewed.
type Trust string

// The states of trust; "" for agents that have none.
const (
	Reviewed    Trust = "reviewed"
	NotReviewed Trust = "not reviewed"
	Changed     Trust = "changed since the review"
)

// State is how an agent's settings stand, as its files tell.
type State struct {
	Agent     string
	File      string   // that has, or would have, the hooks
	Installed bool     // at least one hook of ours is there
	Missing   []string // events without one
	Program   string   // what the hooks call
	Gone      bool     // neither that program nor another of its name in PATH is there
	Elsewhere bool     // it is another program than this one
	Off       string   // why the agent runs no hooks, "" if it does
	Trust     Trust
	MCP       bool   // the MCP server is registered
	Problem   string // why the file cannot be read
}

// Inspect looks at an agent's settings, as they hold in a project. program is this one.
func Inspect(agent string, w Where, project, program string) State {
	st := State{Agent: agent, File: w.HooksFile(agent)}
	raw, err := os.ReadFile(st.File)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			st.Problem = err.Error()
		}
	} else if agent == OpenCode {
		st.plugin(raw)
	} else if d, err := readDocument(raw); err != nil {
		st.Problem = err.Error()
	} else {
		st.hooks(d, w)
	}
	st.Off = off(agent, w, project)
	st.MCP = hasMCP(agent, w)
	if st.Installed {
		at, err := exec.LookPath(st.Program)
		if err != nil {
			at, err = exec.LookPath("tape")
		}
		st.Gone, st.Elsewhere = err != nil, err == nil && !sameFile(at, program)
	}
	return st
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

func (st *State) hooks(d *document, w Where) {
	found := d.ours(st.Agent)
	st.Installed = len(found) > 0
	for _, event := range events(st.Agent) {
		if !slices.ContainsFunc(found, func(p place) bool { return p.event == event }) {
			st.Missing = append(st.Missing, event)
		}
	}
	if st.Installed {
		st.Program = programOf(found[0].handler.Command)
		if st.Agent == Codex {
			st.Trust = trust(found, w)
		}
	}
}

// programOf is the program of a command of ours, unquoted.
func programOf(command string) string {
	rest, _, _ := strings.Cut(strings.TrimPrefix(command, "{ "), " hook ")
	return strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(rest, "'"), "'"), `'\''`, "'")
}

func (st *State) plugin(raw []byte) {
	if !bytes.HasPrefix(raw, []byte(pluginMark)) {
		return
	}
	st.Installed = true
	_, rest, _ := bytes.Cut(raw, []byte("const settings = "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	var settings struct {
		Program string `json:"program"`
	}
	if err := json.Unmarshal(line, &settings); err != nil {
		st.Problem = err.Error()
	}
	st.Program = settings.Program
}

// off tells why an agent runs no hooks at all, by the settings of user, project and administrator.
func off(agent string, w Where, project string) string {
	files := slices.Clone(managed(agent))
	rules := len(files) // those of the administrator are first
	for _, at := range []Where{{}, {Project: project}, {Project: project, Local: true}} {
		at.Home, at.Getenv = w.Home, w.Getenv
		file := at.HooksFile(agent)
		if agent == Codex {
			file = at.MCPFile(agent)
		}
		files = append(files, file)
	}
	for i, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if key := offIn(agent, raw, i < rules); key != "" {
			return key + " in " + file
		}
	}
	return ""
}

// offIn is the setting by which a file turns hooks off, "" if none does.
func offIn(agent string, raw []byte, byRule bool) string {
	if agent == Codex {
		var c struct {
			Features map[string]any `toml:"features"`
			Managed  bool           `toml:"allow_managed_hooks_only"`
		}
		_ = toml.Unmarshal(raw, &c) // Codex itself complains about what it cannot read
		switch {
		case byRule && c.Managed:
			return "allow_managed_hooks_only"
		case c.Features["hooks"] == false, c.Features["codex_hooks"] == false:
			return "features.hooks = false"
		}
		return ""
	}
	d, err := readDocument(raw)
	if err != nil {
		return ""
	}
	var c struct {
		DisableAll bool `json:"disableAllHooks"`
		Managed    bool `json:"allowManagedHooksOnly"`
		Hooks      struct {
			Enabled  *bool    `json:"enabled"`
			Disabled []string `json:"disabled"`
		} `json:"hooksConfig"`
	}
	_ = json.Unmarshal(data(&d.root), &c)
	switch {
	case agent == ClaudeCode && c.DisableAll:
		return "disableAllHooks"
	case agent == ClaudeCode && byRule && c.Managed:
		return "allowManagedHooksOnly"
	case agent == Gemini && c.Hooks.Enabled != nil && !*c.Hooks.Enabled:
		return "hooksConfig.enabled = false"
	case agent == Gemini && slices.Contains(c.Hooks.Disabled, "tape"):
		return "hooksConfig.disabled"
	}
	return ""
}

func hasMCP(agent string, w Where) bool {
	raw, err := os.ReadFile(w.MCPFile(agent))
	if err != nil {
		return false
	}
	if agent == Codex {
		var c struct {
			Servers map[string]any `toml:"mcp_servers"`
		}
		return toml.Unmarshal(bytes.TrimPrefix(raw, []byte(byteOrderMark)), &c) == nil && c.Servers[server] != nil
	}
	d, err := readDocument(raw)
	path, _ := mcpPath(agent, "")
	return err == nil && d.get(path...) != nil
}

// Transcripts is the folder in which an agent keeps them; "" if they are kept elsewhere.
func Transcripts(agent string, w Where) string {
	name := map[string]string{ClaudeCode: "projects", Codex: "sessions", Gemini: "tmp"}[agent]
	if name == "" {
		return ""
	}
	user := Where{Home: w.Home, Getenv: w.Getenv}
	return filepath.Join(user.folder(agent), name)
}
