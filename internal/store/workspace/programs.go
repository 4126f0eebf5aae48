package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/store/layout"
	"tape/internal/store/setting"
)

// Plugin is an element of the setting plugins.
type Plugin struct {
	Name     string          `json:"name"`
	Command  []string        `json:"command"`  // the program and its arguments; no shell
	Priority int             `json:"priority"` // those with a higher one are asked first
	Required bool            `json:"required"` // without its decision, calls are denied
	Env      []string        `json:"env"`      // names of variables that it gets although they look like secrets
	Config   json.RawMessage `json:"config"`   // for the plugin itself
}

// ParsePlugins parses the setting plugins; "" and null mean no plugins. Errors: ErrInvalid.
func ParsePlugins(text string) ([]Plugin, error) {
	if text == "" {
		return nil, nil
	}
	var list []Plugin
	if err := decodeStrict("plugins", text, &list, `{"name", "command", "required", "priority", "env", "config"}`); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, p := range list {
		invalid := func(format string, args ...any) error {
			return layout.Invalid(setting.Example("plugins"), "plugins: "+format, args...)
		}
		switch {
		case strings.TrimSpace(p.Name) == "":
			return nil, invalid("number %d has no name", i+1)
		case seen[p.Name]:
			return nil, invalid("two have the name %q", p.Name)
		case len(p.Command) == 0 || strings.TrimSpace(p.Command[0]) == "":
			return nil, invalid("%q has no command", p.Name)
		case !slices.ContainsFunc(p.Env, notVariable):
		default:
			return nil, invalid("%q: env is a list of names of variables, and %q is not one", p.Name, p.Env[slices.IndexFunc(p.Env, notVariable)])
		}
		seen[p.Name] = true
	}
	return list, nil
}

func notVariable(name string) bool { return name == "" || strings.ContainsAny(name, "= \t\r\n\x00") }

// Server is an element of the setting mcp_servers: a command, or an address.
type Server struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"` // added to the environment of the command
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"` // of requests to the address
}

// ProgramsDir returns the folder in which the plugins and MCP servers that are set for all workspaces run. A
// path in their arguments then does not name a file of a project.
func ProgramsDir() (string, error) {
	home, err := Home()
	return filepath.Join(home, "programs"), err
}

// ResolvePrograms checks a new value of plugins or mcp_servers, and returns it with the programs as they are found now: a
// relative path becomes that of the file in the project, for a program and for an argument that names a file. So nothing
// is looked up later in the folder where somebody stands, which may be another clone or a branch from anybody. A name in
// PATH stays, unless PATH leads into the project. If project is "", the setting is for all workspaces, and a relative
// path, which would be another program in each, is refused. Errors: ErrInvalid if a command cannot be run.
func ResolvePrograms(key, value, project string) (string, error) {
	if err := checkPrograms(key, value, project); err != nil || project == "" {
		return value, err
	}
	return AbsolutePrograms(key, value, project)
}

// AbsolutePrograms is ResolvePrograms without the checks, for values that former versions kept as they were given.
func AbsolutePrograms(key, value, project string) (string, error) {
	switch {
	case value == "":
	case key == "plugins":
		var list []map[string]json.RawMessage
		if err := json.Unmarshal([]byte(value), &list); err != nil {
			return value, layout.Invalid(setting.Example(key), "%s: %v", key, err)
		}
		changed := false
		for _, p := range list {
			var command []string
			if json.Unmarshal(p["command"], &command) == nil && len(command) > 0 {
				now := append([]string{programIn(project, command[0])}, filesIn(project, command[1:])...)
				p["command"], changed = encoded(now), changed || !slices.Equal(now, command)
			}
		}
		if changed {
			return string(encoded(list)), nil
		}
	case key == "mcp_servers":
		var servers map[string]map[string]json.RawMessage
		if err := json.Unmarshal([]byte(value), &servers); err != nil {
			return value, layout.Invalid(setting.Example(key), "%s: %v", key, err)
		}
		changed := false
		for _, s := range servers {
			var command string
			var args []string
			if json.Unmarshal(s["command"], &command) == nil && command != "" {
				now := programIn(project, command)
				s["command"], changed = encoded(now), changed || now != command
			}
			if json.Unmarshal(s["args"], &args) == nil && args != nil {
				now := filesIn(project, args)
				s["args"], changed = encoded(now), changed || !slices.Equal(now, args)
			}
		}
		if changed {
			return string(encoded(servers)), nil
		}
	}
	return value, nil
}

func encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return raw
}

// programIn returns a program with its path, if that is in a project.
func programIn(project, program string) string {
	switch {
	case filepath.IsAbs(program):
	case filepath.Base(program) != program:
		return filepath.Join(project, program)
	default:
		if path, err := exec.LookPath(program); err == nil && disk.IsInside(path, project) {
			return path
		}
	}
	return program
}

// filesIn returns arguments with those that name a file of a project replaced by the file's path. A bare word may be
// anything else.
func filesIn(project string, args []string) []string {
	out := slices.Clone(args)
	for i, arg := range args {
		if arg == "" || filepath.IsAbs(arg) || strings.HasPrefix(arg, "-") || filepath.Base(arg) == arg && filepath.Ext(arg) == "" {
			continue
		}
		path := filepath.Join(project, arg)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			out[i] = path
		}
	}
	return out
}

func checkPrograms(key, value, project string) error {
	switch {
	case value == "":
	case key == "plugins":
		list, err := ParsePlugins(value)
		for _, p := range list {
			if err == nil {
				err = findProgram(key, p.Name, p.Command[0], project)
			}
		}
		return err
	case key == "mcp_servers":
		var servers map[string]Server
		if err := decodeStrict(key, value, &servers, `{"command", "args", "env"} or {"url", "headers"}`); err != nil {
			return err
		}
		for name, s := range servers {
			if err := s.check(name, project); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s Server) check(name, project string) error {
	invalid := func(format string, args ...any) error {
		return layout.Invalid(setting.Example("mcp_servers"), "mcp_servers: "+format, args...)
	}
	if name == "" {
		return invalid("one has no name")
	}
	for variable := range s.Env {
		if notVariable(variable) {
			return invalid("%q: %q in env is not the name of a variable", name, variable)
		}
	}
	switch {
	case s.URL != "" && (s.Command != "" || s.Args != nil || s.Env != nil):
		return invalid("%q has both a url and a command", name)
	case s.URL != "":
		if !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://") {
			return invalid("the url of %q is neither http nor https: %q", name, s.URL)
		}
		return nil
	case s.Headers != nil:
		return invalid("%q has headers and no url", name)
	case strings.TrimSpace(s.Command) == "":
		return invalid("%q has neither a command nor a url", name)
	}
	return findProgram("mcp_servers", name, s.Command, project)
}

// decodeStrict decodes a setting, and refuses unknown members: one may be a misspelled one that decides what is
// run. members lists the known ones for the error.
func decodeStrict(key, value string, into any, members string) error {
	d := json.NewDecoder(bytes.NewReader([]byte(value)))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil && d.More() {
		err = errors.New("there is more than one value")
	}
	if err != nil {
		return layout.Invalid(setting.Example(key), "%s: %s; each is %s", key, strings.TrimPrefix(err.Error(), "json: "), members)
	}
	return nil
}

// findProgram looks for a program as the agent will: a name in PATH, a path in the project.
func findProgram(key, name, program, project string) error {
	path := program
	if filepath.Base(path) != path && !filepath.IsAbs(path) {
		if project == "" {
			return layout.Invalid("name it by its absolute path", "%s: the program of %q would be another one in each project: %s", key, name, program)
		}
		path = filepath.Join(project, path)
	}
	if _, err := exec.LookPath(path); err != nil {
		if e := (*exec.Error)(nil); errors.As(err, &e) {
			err = e.Err // the outer error repeats the path
		}
		hint := "install it, or name it by its path"
		if path != program {
			hint = "a path is taken from the project's folder, " + project + "; the file has to be executable"
		}
		return layout.Invalid(hint, "%s: the program of %q cannot be run: %v", key, name, err)
	}
	return nil
}
