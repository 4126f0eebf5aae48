package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string, o *workspace.Options) *workspace.Store {
	t.Helper()
	s, err := workspace.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A config.json in a working tree is somebody's file: it stays as it is, and has no effect.
func TestForeignConfigStays(t *testing.T) {
	t.Setenv(workspace.EnvHome, t.TempDir())
	for name, content := range map[string]string{"web app": `{"port":3000,"model":"resnet50"}`, "list": `[1]`, "no JSON": `// settings`, "empty": ``,
		"settings": `{"tape":"review","commit":"turn","max_line":4096,"model":"openai:gpt-4.1","plugins":[{"name":"x","command":["x"]}]}`} {
		dir := filepath.Join(t.TempDir(), "ws")
		made, err := workspace.Create(dir, workspace.DefaultTape, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(made.PrivatePath(layout.ConfigFile))
		path := filepath.Join(dir, layout.ConfigFile)
		write(t, path, content)
		for range 2 {
			s := open(t, dir, &workspace.Options{Warn: func(text string) { t.Errorf("%s: unexpected warning: %s", name, text) }})
			model, err := s.Setting("model")
			plugins, err2 := s.Setting("plugins")
			if c := s.Config(); model+plugins+c.Tape != "" || err != nil || err2 != nil || c.MaxLine != jsonl.DefaultMaxLine {
				t.Errorf("%s: the file has an effect: model %q, plugins %s, %+v; %v %v", name, model, plugins, c, err, err2)
			}
			if raw, err := os.ReadFile(path); err != nil || string(raw) != content {
				t.Errorf("%s: the file is %q, %v; want it unchanged", name, raw, err)
			}
		}
	}
}

// A long directory name leaves room for the hash and the suffix, and is not cut within a character.
func TestLongNames(t *testing.T) {
	home := t.TempDir()
	t.Setenv(workspace.EnvHome, home)
	for name, want := range map[string]int{"x" + strings.Repeat("é", 125): 254, strings.Repeat("x", 300): 255} {
		dir, err := workspace.WorkspaceFor("/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if base := filepath.Base(dir); len(base) != want || !utf8.ValidString(base) {
			t.Errorf("the name has %d bytes, want %d of UTF-8: %q", len(base), want, base)
		}
		if _, err := workspace.Create(dir, workspace.DefaultTape, nil); err != nil {
			t.Fatal(err)
		}
		if err := open(t, dir, nil).SetSetting("max_steps", "7"); err != nil {
			t.Error(err)
		}
	}
	if files, err := filepath.Glob(filepath.Join(home, "settings", "*.json")); len(files) != 2 || err != nil {
		t.Errorf("files with settings: %q, %v; want 2", files, err)
	}
}

// The settings of a workspace move with it when its project was moved.
func TestLinkTakesSettings(t *testing.T) {
	t.Setenv(workspace.EnvHome, t.TempDir())
	was, is := t.TempDir(), t.TempDir()
	dir, err := workspace.WorkspaceFor(was)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := workspace.Create(dir, workspace.DefaultTape, nil); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir, nil).SetSetting("max_steps", "7"); err != nil {
		t.Fatal(err)
	}
	dir, err = workspace.Link(dir, is, "")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, nil)
	if steps, err := s.Setting("max_steps"); steps != "7" || err != nil {
		t.Errorf("after the move max_steps is %q, %v; want 7", steps, err)
	}
}

// A folder is a workspace if git has refs of tapes, or .git/tape exists.
func TestIsWorkspace(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"used":                   {map[string]string{".git/tape/locks": ""}, true},
		"a branch":               {map[string]string{".git/refs/heads/tape/main": ""}, true},
		"a packed branch":        {map[string]string{".git/packed-refs": "# pack-refs with: peeled fully-peeled sorted \n0123456789012345678901234567890123456789 refs/heads/tape/main\n"}, true},
		"a project":              {map[string]string{".git/HEAD": "", "config.json": "{}", "tape.json": "{}"}, false},
		"a branch of a remote's": {map[string]string{".git/packed-refs": "0123456789012345678901234567890123456789 refs/remotes/origin/tape/main\n"}, false},
		"a branch named alike":   {map[string]string{".git/refs/heads/tapes/main": ""}, false},
		"no repository":          {map[string]string{"config.json": "{}", "tape.json": "{}"}, false},
	} {
		dir := t.TempDir()
		for path, content := range c.files {
			path = filepath.Join(dir, filepath.FromSlash(path))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, path, content)
		}
		if is := workspace.IsWorkspace(dir); is != c.want {
			t.Errorf("%s: IsWorkspace is %v, want %v", name, is, c.want)
		}
	}
}
