package workspace

//tape:race: goroutines create workspaces

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"tape/internal/git/disk"
	"tape/internal/store/layout"
)

const formerFile = `{"tape":"review","commit":"turn","max_line":4096,"redact":"mask","allow_secret":["0123456789abcdef"],"previous_tape":"main",
	"model":"openai:gpt-4.1","plugins":[{"name":"x","command":["x"]}]}`

// former makes a workspace of a former version, with the given config.json, and returns its folder.
func former(t *testing.T, dir, content string) string {
	t.Helper()
	s, err := Create(dir, DefaultTape, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(s.configPath())
	write(t, filepath.Join(dir, layout.ConfigFile), content)
	return dir
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string, o *Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkFormer checks that the settings of formerFile exist, the agent's either in use or set aside.
func checkFormer(t *testing.T, s *Store, agentInUse bool) {
	t.Helper()
	c := s.Config()
	if c.Tape != "review" || !c.Commit.Turn || c.MaxLine != 4096 || c.Redact != RedactMask || len(c.Allowed) != 1 || s.PreviousTape() != "main" {
		t.Errorf("the settings are %+v, want those of formerFile", c)
	}
	model, err := s.Setting("model")
	if err != nil || (model != "") != agentInUse {
		t.Errorf("the model is %q, %v; want it in use: %v", model, err, agentInUse)
	}
	if aside := s.Former(); (len(aside) == 2) == agentInUse {
		t.Errorf("set aside are %v, want some: %v", aside, !agentInUse)
	}
}

// The first open moves a former version's settings: those of the agent into use if the workspace is below Home, otherwise
// aside. A later config.json is an ordinary file.
func TestFormerSettings(t *testing.T) {
	home := t.TempDir()
	t.Setenv(EnvHome, home)
	own, err := WorkspaceFor(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for dir, underHome := range map[string]bool{own: true, filepath.Join(t.TempDir(), "ws"): false} {
		former(t, dir, formerFile)
		s := open(t, dir, nil)
		checkFormer(t, s, underHome)
		if moved := s.Moved(); (len(moved) == 2) == underHome {
			t.Errorf("below Home %v: the settings set aside are %v, want some: %v", underHome, moved, !underHome)
		}
		if _, err := os.Lstat(s.formerPath()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the old file is still there: %v", err)
		}
		// From now on a config.json there is an ordinary file.
		write(t, s.formerPath(), `{"tape":"main","commit":"handoff","max_line":2048,"redact":"off","base_urls":{"a":"http://a"}}`)
		s = open(t, dir, nil)
		checkFormer(t, s, underHome)
		if urls, _ := s.Setting("base_urls"); urls != "" || len(s.Moved()) != 0 {
			t.Errorf("the new config.json was read: base_urls %q, set aside %v", urls, s.Moved())
		}
		if raw, _ := os.ReadFile(s.configPath()); underHome && strings.Contains(string(raw), "plugins") {
			t.Errorf("the settings of the workspace still have plugins: %s", raw)
		}
	}
}

// A folder that somebody else made does not become the user's own if it is unpacked below Home.
func TestFormerSettingsUnpackedBelowHome(t *testing.T) {
	t.Setenv(EnvHome, t.TempDir())
	dir, err := WorkspaceFor(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	former(t, dir, formerFile)
	if err := Trust(dir, false); err != nil { // as if it had been unpacked
		t.Fatal(err)
	}
	checkFormer(t, open(t, dir, nil), false)
}

// A move that fails at any disk operation loses nothing.
func TestFormerSettingsCutOff(t *testing.T) {
	home := t.TempDir()
	t.Setenv(EnvHome, home)
	for _, parent := range []string{home, t.TempDir()} {
		for n, cut := 0, true; cut; n++ {
			dir := former(t, filepath.Join(parent, "ws"+strings.Repeat("x", n)), formerFile)
			left := n
			cut = false
			fs := &disk.FS{Fault: func(disk.Op, string) error {
				if left--; left < 0 {
					cut = true
					return errors.New("the power is gone")
				}
				return nil
			}}
			s := open(t, dir, &Options{Fs: fs})
			if c := s.Config(); c.Tape != "review" || c.Redact != RedactMask {
				t.Errorf("cut off at operation %d, the settings are %+v", n, c)
			}
			checkFormer(t, open(t, dir, nil), parent == home)
		}
	}
}

// Several processes that open a former version's workspace at once all see its settings.
func TestFormerSettingsAtOnce(t *testing.T) {
	home := t.TempDir()
	t.Setenv(EnvHome, home)
	for n := range 20 {
		dir := former(t, filepath.Join(home, "ws"+strings.Repeat("x", n)), formerFile)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				s, err := Open(t.Context(), dir, nil)
				if err != nil {
					t.Error(err)
					return
				}
				checkFormer(t, s, true)
			})
		}
		group.Wait()
	}
}

// A config.json that no former version wrote stays as it is, and has no effect.
func TestForeignConfigStays(t *testing.T) {
	t.Setenv(EnvHome, t.TempDir())
	for name, content := range map[string]string{"web app": `{"port":3000,"model":"resnet50"}`, "list": `[1]`, "no JSON": `// settings`, "empty": ``} {
		dir := former(t, filepath.Join(t.TempDir(), "ws"), content)
		for range 2 {
			s := open(t, dir, &Options{Warn: func(text string) { t.Errorf("%s: unexpected warning: %s", name, text) }})
			if model, err := s.Setting("model"); model != "" || err != nil || len(s.Former()) != 0 || s.Config().MaxLine != defaults().MaxLine {
				t.Errorf("%s: the file has an effect: model %q, %v", name, model, err)
			}
			if raw, err := os.ReadFile(s.formerPath()); err != nil || string(raw) != content {
				t.Errorf("%s: the file is %q, %v; want it unchanged", name, raw, err)
			}
		}
	}
	// A foreign file into which a former version wrote its settings stays too.
	dir := former(t, filepath.Join(t.TempDir(), "ws"), `{"port":3000,`+formerFile[1:])
	s := open(t, dir, nil)
	checkFormer(t, s, false)
	if _, err := os.Lstat(s.formerPath()); err != nil {
		t.Error(err)
	}
}

// A damaged file of a former version is named in the error.
func TestFormerSettingsDamaged(t *testing.T) {
	t.Setenv(EnvHome, t.TempDir())
	dir := former(t, filepath.Join(t.TempDir(), "ws"), strings.Replace(formerFile, "turn", "sometimes", 1))
	if _, err := Open(t.Context(), dir, nil); !errors.Is(err, layout.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Join(dir, layout.ConfigFile)) {
		t.Errorf("open: %v, want ErrCorrupt that names the file", err)
	}
}

// TakeOver puts a former setting into use and empties the list. A setting that was set meanwhile is not in the list.
func TestTakeOver(t *testing.T) {
	t.Setenv(EnvHome, t.TempDir())
	dir := former(t, filepath.Join(t.TempDir(), "ws"), strings.Replace(formerFile, "{", `{"max_steps":5,`, 1))
	s := open(t, dir, nil)
	if err := s.SetSetting("model", "a:b"); err != nil { // replaces the former one
		t.Fatal(err)
	}
	if err := s.ChangeSetting("max_steps", func(string) (string, error) { return "7", nil }); err != nil { // this too
		t.Fatal(err)
	}
	list := s.Former()
	if len(list) != 1 || list[0].Key != "plugins" {
		t.Fatalf("set aside are %v, want plugins only", list)
	}
	if err := s.TakeOver(list); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, nil)
	model, _ := s.Setting("model")
	plugins, _ := s.Setting("plugins")
	if model != "a:b" || plugins != `[{"name":"x","command":["x"]}]` || len(s.Former()) != 0 {
		t.Errorf("model %q, plugins %s, set aside %v; want the new model, the former plugins, none aside", model, plugins, s.Former())
	}
	if raw, _ := os.ReadFile(s.configPath()); strings.Contains(string(raw), "plugins") {
		t.Errorf("the settings of the workspace still have plugins: %s", raw)
	}
}

// A long directory name leaves room for the hash and the suffix, and is not cut within a character.
func TestLongNames(t *testing.T) {
	if name := pathName("/x"+strings.Repeat("é", 125), ""); len(name) != 254 || !utf8.ValidString(name) {
		t.Errorf("the name has %d bytes, want 254 of UTF-8: %q", len(name), name)
	}
	for _, suffix := range []string{"", ".json"} {
		if name := pathName("/"+strings.Repeat("x", 300), suffix); len(name) != 255 || !strings.HasSuffix(name, suffix) {
			t.Errorf("the name has %d bytes, want 255 with the suffix %q: %s", len(name), suffix, name)
		}
	}
}

// The settings of a workspace move with it when its project was moved.
func TestLinkTakesSettings(t *testing.T) {
	t.Setenv(EnvHome, t.TempDir())
	was, is := t.TempDir(), t.TempDir()
	dir, err := WorkspaceFor(was)
	if err != nil {
		t.Fatal(err)
	}
	if err := open(t, former(t, dir, formerFile), nil).SetSetting("max_steps", "7"); err != nil {
		t.Fatal(err)
	}
	dir, err = Link(dir, is, "")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, nil)
	checkFormer(t, s, true)
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
		if is := IsWorkspace(dir); is != c.want {
			t.Errorf("%s: IsWorkspace is %v, want %v", name, is, c.want)
		}
	}
}
