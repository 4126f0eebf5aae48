package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Plugins and MCP servers that cannot be run are refused, with the reason.
func TestResolvePrograms(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	for name, mode := range map[string]os.FileMode{"guard": 0o700, "text": 0o600} {
		if err := os.WriteFile(filepath.Join(project, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ key, value, want string }{
		{"plugins", `[{"name":"a","cmd":["x"]}]`, `unknown field "cmd"; each is {"name", "command"`},
		{"plugins", `[{"name":"a"}]`, `"a" has no command`},
		{"plugins", `[{"name":"a","command":[]}]`, `"a" has no command`},
		{"plugins", `[{"name":"a","command":[" "]}]`, `"a" has no command`},
		{"plugins", `[{"command":["sh"]}]`, "number 1 has no name"},
		{"plugins", `[{"name":"a","command":"sh"}]`, "cannot unmarshal string"},
		{"plugins", `[{"name":"a","command":["sh"],"required":"yes"}]`, "cannot unmarshal string"},
		{"plugins", `[{"name":"a","command":["sh"],"priority":"1"}]`, "cannot unmarshal string"},
		{"plugins", `[{"name":"a","command":["sh"],"env":"FOO"}]`, "cannot unmarshal string"},
		{"plugins", `[{"name":"a","command":["sh"],"env":["FOO","A=B"]}]`, `"A=B" is not one`},
		{"plugins", `[{"name":"a","command":["sh"],"env":[""]}]`, `"" is not one`},
		{"plugins", `[{"name":"a","command":["sh"]},{"name":"a","command":["sh"]}]`, "two have the name"},
		{"plugins", `{"name":"a","command":["sh"]}`, "cannot unmarshal object"},
		{"plugins", `[{"name":"a","command":["no-such-program-here"]}]`, `the program of "a" cannot be run`},
		{"plugins", `[{"name":"a","command":["./none"]}]`, `the program of "a" cannot be run`},
		{"plugins", `[{"name":"a","command":["./text"]}]`, "permission denied"},
		{"plugins", `[{"name":"a","command":["./guard"],"required":true,"env":["FOO"],"priority":1,"config":{"x":1}},{"name":"b","command":["sh","x"]}]`, ""},
		{"plugins", ``, ""},
		{"mcp_servers", `{"a":{"comand":"sh"}}`, `unknown field "comand"`},
		{"mcp_servers", `{"a":{}}`, "neither a command nor a url"},
		{"mcp_servers", `{"a":{"command":"sh","url":"http://x"}}`, "both a url and a command"},
		{"mcp_servers", `{"a":{"command":"sh","headers":{"A":"x"}}}`, "headers and no url"},
		{"mcp_servers", `{"a":{"url":"x"}}`, "neither http nor https"},
		{"mcp_servers", `{"a":{"command":"sh","args":"x"}}`, "cannot unmarshal string"},
		{"mcp_servers", `{"a":{"command":"sh","env":{"A B":"x"}}}`, `"A B" in env is not the name`},
		{"mcp_servers", `{"a":{"command":"no-such-program-here"}}`, "cannot be run"},
		{"mcp_servers", `{"":{"command":"sh"}}`, "one has no name"},
		{"mcp_servers", `{"a":{"command":"./guard","args":["."],"env":{"A":"x"}},"b":{"url":"https://x/y","headers":{"A":"x"}}}`, ""},
		{"model", "nonsense", ""},
	} {
		_, err := workspace.ResolvePrograms(c.key, c.value, project)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, layout.ErrInvalid) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: %v, wanted %q", c.key, c.value, err, c.want)
		}
	}
}

// A program or a file that is named by a relative path is the one that is in the project when the setting is made.
func TestRelativePrograms(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	for _, name := range []string{"guard", "x.py", "build"} {
		if err := os.WriteFile(filepath.Join(project, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	at := func(text string) string { return strings.ReplaceAll(text, "@", project) }
	for _, c := range []struct{ key, value, want string }{
		{"plugins", `[{"name":"a","command":["./guard","./x.py","."]}]`, `[{"command":["@/guard","@/x.py","."],"name":"a"}]`},
		{"plugins", `[{"name":"a","command":["sh","x.py","build","-x.py","none.py"]}]`, `[{"command":["sh","@/x.py","build","-x.py","none.py"],"name":"a"}]`},
		{"plugins", `[{"name":"a","command":["sh","-c","true"]}]`, `[{"name":"a","command":["sh","-c","true"]}]`},
		{"mcp_servers", `{"a":{"command":"./guard","args":["./x.py"]}}`, `{"a":{"args":["@/x.py"],"command":"@/guard"}}`},
		{"mcp_servers", `{"a":{"url":"https://x/y"}}`, `{"a":{"url":"https://x/y"}}`},
	} {
		if got, err := workspace.ResolvePrograms(c.key, c.value, project); err != nil || got != at(c.want) {
			t.Errorf("%s %s becomes %s (%v), wanted %s", c.key, c.value, got, err, at(c.want))
		}
	}
}

func TestProjectRoot(t *testing.T) {
	home := t.TempDir()
	t.Setenv(workspace.EnvHome, home)
	project := t.TempDir()
	sub := filepath.Join(project, "a", "b")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.WorkspaceFor(project)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "ws")
	for _, dir := range []string{filepath.Join(ws, ".git", "tape"), filepath.Join(own, ".git", "tape"), filepath.Join(own, "notes")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ workspace, dir, want string }{
		{ws, project, project},
		{ws, sub, project},
		{own, filepath.Join(own, "notes"), own},
		{own, sub, sub}, // named explicitly; it belongs to another folder
		{ws, own, own},
	} {
		if got := workspace.ProjectRoot(c.workspace, c.dir); got != c.want {
			t.Errorf("ProjectRoot(%s, %s) is %s, wanted %s", c.workspace, c.dir, got, c.want)
		}
	}
}
