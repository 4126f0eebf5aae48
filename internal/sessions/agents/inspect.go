package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"tape/internal/sessions/importer/record"
)

// State is what an agent's settings say about recording.
type State struct {
	Agent          *record.Format
	File           string   // the file for hooks
	Installed      bool     // the file has at least one of our hooks
	Missing        []string // events without a hook of ours
	Program        string   // the path of the program that the hooks call first
	ProgramMissing bool     // that program does not exist, and there is no tape in PATH
	OtherProgram   bool     // the hooks call a program other than this one
	Off            string   // why the agent runs no hooks, "" if it does
	Trust          record.Trust
	MCP            bool   // our MCP server is registered
	Problem        string // why the file cannot be read
}

// Inspect reads an agent's settings as they apply in a project. program is the path of this program.
func Inspect(f *record.Format, w record.Where, project, program string) State {
	st := State{Agent: f, File: HooksFile(f.Agent, w)}
	if raw, err := os.ReadFile(st.File); f.Agent.Scripts {
		st.scripts(w)
	} else if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			st.Problem = err.Error()
		}
	} else if f.Agent.Plugin != nil {
		st.plugin(raw)
	} else if f.Agent.OwnFile != nil {
		st.own(raw)
	} else if filepath.Ext(st.File) == ".toml" {
		if settings, err := readTOML(raw); err != nil {
			st.Problem = "it is not TOML: " + err.Error()
		} else {
			st.hooks(oursInTOML(f, settings), w)
		}
	} else if d, err := readDocument(raw); err != nil {
		st.Problem = err.Error()
	} else {
		st.hooks(d.ours(f), w)
	}
	st.Off = off(f.Agent, w, project)
	if f.Agent.MCP != nil {
		member, _ := f.Agent.MCP("")
		st.MCP = record.Setting(readSettings(mcpFile(f.Agent, w)), member, server) != nil
	}
	if st.Installed {
		at, err := exec.LookPath(st.Program)
		if err != nil {
			at, err = exec.LookPath("tape")
		}
		st.ProgramMissing, st.OtherProgram = err != nil, err == nil && !sameFile(at, program)
	}
	return st
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

func (st *State) hooks(found []record.Hook, w record.Where) {
	st.Installed = len(found) > 0
	for _, event := range st.Agent.Events {
		if !has(found, event) {
			st.Missing = append(st.Missing, event.Name)
		}
	}
	if st.Installed {
		st.Program = programOf(found[0].Command)
		if a := st.Agent.Agent; a.Review != nil {
			st.Trust = a.Review(readSettings(settingsFile(a, w.User())), st.File, found)
		}
	}
}

// programOf returns the program that one of our commands calls, without quotes.
func programOf(command string) string {
	rest, _, _ := strings.Cut(strings.TrimPrefix(command, "{ "), " hook ")
	return strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(rest, "'"), "'"), `'\''`, "'")
}

func (st *State) scripts(w record.Where) {
	for i, file := range hookFiles(st.Agent, w) {
		raw, err := os.ReadFile(file)
		rest, ours := bytes.CutPrefix(raw, []byte(scriptMark))
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			st.Problem = err.Error()
		case !ours:
			st.Missing = append(st.Missing, st.Agent.Events[i].Name)
		default:
			_, call, _ := strings.Cut(string(rest), "\n")
			st.Installed, st.Program = true, programOf(call)
		}
	}
}

func (st *State) own(raw []byte) {
	ours, _ := commandsIn(st.Agent, raw)
	if st.Installed = len(ours) > 0; !st.Installed {
		return
	}
	for _, event := range st.Agent.Events {
		if command := ours[event.Name]; command == "" {
			st.Missing = append(st.Missing, event.Name)
		} else {
			st.Program = programOf(command)
		}
	}
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

// off returns the setting that turns our hooks off, and its file: the administrator's, the user's or the
// project's. It is "" if there is none.
func off(a *record.Agent, w record.Where, project string) string {
	if a.Off == nil {
		return ""
	}
	files := []string{map[string]string{"linux": a.ManagedLinux, "darwin": a.ManagedMacOS}[runtime.GOOS]}
	for _, at := range []record.Where{{}, {Project: project}, {Project: project, Local: true}} {
		at.Home, at.Getenv = w.Home, w.Getenv
		files = append(files, settingsFile(a, at))
	}
	for i, file := range files {
		if setting := a.Off(readSettings(file), i == 0); setting != "" {
			return setting + " in " + file
		}
	}
	return ""
}

// readSettings reads a file of settings. It returns nil if the file cannot be read: the agent itself reports that.
func readSettings(file string) (settings map[string]any) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	if filepath.Ext(file) == ".toml" {
		settings, _ = readTOML(raw)
	} else if d, err := readDocument(raw); err == nil {
		_ = json.Unmarshal(data(&d.root), &settings)
	}
	return settings
}
