package agents

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer/claudecode"
	"tape/internal/sessions/importer/codex"
	"tape/internal/sessions/importer/gemini"
	"tape/internal/sessions/importer/kimi"
	"tape/internal/sessions/importer/opencode"
	"tape/internal/sessions/importer/record"
)

var (
	claude         = &claudecode.Format
	codexFormat    = &codex.Format
	geminiFormat   = &gemini.Format
	openCodeFormat = &opencode.Format
	kimiFormat     = &kimi.Format
)

// corpus has settings as users have them, by name, with part of the error if they are refused.
var corpus = map[string]struct{ text, refused string }{
	"none":              {},
	"empty object":      {text: "{}\n"},
	"no newline":        {text: "{}"},
	"white space":       {text: "{\n\n}\n"},
	"usual":             {text: "{\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"allow\": [\"Bash\"]\n  }\n}\n"},
	"one line":          {text: `{"model":"opus","x":[1,2]}`},
	"tabs":              {text: "{\n\t\"model\": \"opus\",\n\t\"n\": 1.0\n}\n"},
	"four spaces":       {text: "{\n    \"model\": \"opus\"\n}"},
	"carriage return":   {text: "{\r\n  \"model\": \"opus\",\r\n  \"n\": 1e400\r\n}\r\n"},
	"byte order mark":   {text: "\xef\xbb\xbf{\r\n  \"model\": \"opus\"\r\n}\r\n"},
	"comments":          {text: "// mine\n{\n  // the best one\n  \"model\": \"opus\", // really\n  /* more */ \"x\": [\n    1, // one\n    2 // two\n  ] // last\n  // end\n}\n// bye\n"},
	"only comments":     {text: "{\n  // nothing yet\n}\n"},
	"trailing commas":   {text: "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]},\n    ],\n  },\n}\n"},
	"others' hooks":     {text: "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"matcher\": \"\",\n        \"hooks\": [\n          { \"type\": \"command\", \"command\": \"say done\" } // loud\n        ]\n      }\n    ],\n    \"PreToolUse\": []\n  },\n  \"later\": true\n}\n"},
	"hooks to come":     {text: "{\n  \"hooks\": {\n    // later\n  }\n}\n"},
	"a hook to come":    {text: "{\n  \"hooks\": {\n    \"SessionStart\": [\n      // later\n    ]\n  }\n}\n"},
	"odd hooks":         {text: "{\n  \"hooks\": {\n    \"enabled\": true,\n    \"Stop\": [\n      \"?\",\n      {\n        \"hooks\": [\"?\"]\n      },\n      {\n        \"hooks\": {}\n      }\n    ],\n    \"SessionStart\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": [\"say\", \"hi\"],\n            \"timeout\": 2.5\n          }\n        ]\n      }\n    ]\n  }\n}\n"},
	"empty hooks":       {text: "{\n  \"hooks\": {}\n}\n"},
	"unknown keys":      {text: "{\n  \"$schema\": \"https://example.org\",\n  \"é \\u00e9\": \"\\/<&>\",\n  \"deep\": {\"a\": {\"b\": [[], {}]}}\n}\n"},
	"same key twice":    {text: "{\n  \"hooks\": 1,\n  \"hooks\": {}\n}\n"},
	"not JSON":          {text: "model = opus\n", refused: "not JSON"},
	"cut off":           {text: "{\n  \"model\": \"op", refused: "not JSON"},
	"a list":            {text: "[]\n", refused: "not a JSON object"},
	"a list of a hook":  {text: "{\"hooks\": [1]}\n", refused: "not an object"},
	"why there is none": {text: "{\n  \"hooks\": [\n    // later\n  ]\n}\n", refused: "not an object"},
	"event no list":     {text: "{\"hooks\": {\"SessionStart\": {\"a\": 1}}}\n", refused: "is not a list"},
}

// settings writes the user's hooks file of an agent, unless text is "".
func settings(t *testing.T, agent *record.Format, text string) record.Where {
	t.Helper()
	w := record.Where{Home: t.TempDir(), Getenv: func(string) string { return "" }}
	if text != "" {
		write(t, HooksFile(agent.Agent, w), text, 0o640)
	}
	return w
}

func write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(text), mode)
	}
	if err == nil {
		err = os.Chmod(file, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, w record.Where, list []Change, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if err := c.Apply(nil, filepath.Join(w.Home, "receipts"), c.After != nil && bytes.Contains(c.After, []byte("tape"))); err != nil {
			t.Fatal(err)
		}
	}
}

func content(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(raw)
}

// lines returns the lines of a text without commas, because a new member adds a comma to the
// line before it.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.TrimRight(strings.ReplaceAll(line, ",", ""), "\r\n"))
	}
	return out
}

// TestSettings: whatever settings a user has, installing adds hooks and changes nothing else, and installing again
// changes nothing. Uninstalling restores the bytes, mostly even without the receipt.
func TestSettings(t *testing.T) {
	o := Options{Program: "/opt/it's/tape", MCP: true}
	for name, c := range corpus {
		for _, agent := range []*record.Format{claude, codexFormat, geminiFormat} {
			t.Run(name+"/"+agent.Name, func(t *testing.T) {
				w := settings(t, agent, c.text)
				file := HooksFile(agent.Agent, w)
				list, err := Install(agent, w, o)
				if c.refused != "" {
					if err == nil || !strings.Contains(err.Error(), c.refused) || content(t, file) != c.text {
						t.Fatalf("error %v, want %q and the file unchanged", err, c.refused)
					}
					return
				}
				apply(t, w, list, err)
				after := content(t, file)
				checkInstalled(t, agent, c.text, after, o)
				if again, err := Install(agent, w, o); err != nil || len(again) > 0 {
					t.Errorf("installing twice changes %d files more: %v", len(again), err)
				}
				plain, err := edit([]byte(after), func(d *document) error {
					if agent == geminiFormat {
						if err := d.removeMCP(agent.Agent); err != nil {
							return err
						}
					}
					return d.removeHooks(agent)
				})
				if loose := name == "none" || name == "white space" || name == "only comments" || name == "empty hooks" || name == "no newline" || name == "same key twice"; err != nil || !loose && string(plain) != c.text {
					t.Errorf("without a receipt: error %v, and it becomes\n%s\nnot\n%s", err, plain, c.text)
				}
				list, err = Uninstall(agent, w, filepath.Join(w.Home, "receipts"))
				apply(t, w, list, err)
				if got := content(t, file); got != c.text {
					t.Errorf("after uninstalling it is\n%s\nnot\n%s", got, c.text)
				}
				if _, err := os.Lstat(file); (err == nil) != (c.text != "") {
					t.Errorf("after uninstalling, the file's Lstat says %v; it should exist: %t", err, c.text != "")
				}
			})
		}
	}
}

// TestCommentsStay: taking our hooks out takes no comment of the user with them, and no comment swallows what follows.
func TestCommentsStay(t *testing.T) {
	ours := `"Stop": [{"hooks": [{"command": "` + mark(claude) + `"}]}]`
	for text, want := range map[string]string{
		"{\"hooks\": {\"A\": [], // mine\n" + ours + "}}":                     "{\"hooks\": {\"A\": [] // mine\n}}",
		"{\"hooks\": {// mine\n" + ours + ", \"A\": []}}":                     "{\"hooks\": {// mine\n \"A\": []}}",
		"{\n  \"hooks\": {\n    // mine\n    " + ours + "\n  }\n}\n":          "{\n  \"hooks\": {\n    // mine\n  }\n}\n",
		"{\n  // mine\n  \"hooks\": {\n    " + ours + "\n  },\n  \"a\": 1\n}": "{\n  // mine\n  \"a\": 1\n}",
	} {
		got, err := edit([]byte(text), func(d *document) error { return d.removeHooks(claude) })
		if err != nil || string(got) != want {
			t.Errorf("%v, and\n%s\nbecomes\n%s\nnot\n%s", err, text, got, want)
		}
	}
}

// TestNames: a hook that the agent does not run, for its name is written in capitals or is there again, is none of ours.
func TestNames(t *testing.T) {
	ours := `[{"command": "` + mark(claude) + `"}]`
	for _, text := range []string{
		`{"hooks": {"SessionStart": [{"hooks": ` + ours + `}]}, "hooks": {}}`,
		`{"hooks": {"SessionStart": [{"hooks": ` + ours + `, "hooks": {}}]}}`,
		`{"hooks": {"SessionStart": [{"hooks": ` + ours + `, "hooks": [{"type": "prompt"}]}]}}`,
		`{"Hooks": {"SessionStart": [{"hooks": ` + ours + `}]}}`,
		`{"hooks": {"SessionStart": [{"Hooks": ` + ours + `}]}}`,
		`{"hooks": {"SessionStart": [{"hooks": [{"Command": "` + mark(claude) + `"}]}]}}`,
	} {
		w := settings(t, claude, text)
		if list, err := Uninstall(claude, w, filepath.Join(w.Home, "receipts")); err != nil || len(list) > 0 {
			t.Errorf("uninstalling from %s: %v, and %d changes", text, err, len(list))
		}
		list, err := Install(claude, w, Options{Program: "/opt/tape"})
		apply(t, w, list, err)
		if st := Inspect(claude, w, w.Home, "/opt/tape"); len(st.Missing) > 0 || st.Problem != "" {
			t.Errorf("%s becomes %s\nwhich lacks %q: %s", text, content(t, HooksFile(claude.Agent, w)), st.Missing, st.Problem)
		}
		list, err = Uninstall(claude, w, filepath.Join(w.Home, "receipts"))
		apply(t, w, list, err)
		if got := content(t, HooksFile(claude.Agent, w)); got != text {
			t.Errorf("after uninstalling, %s is %s", text, got)
		}
	}
}

// TestNoSettings: what says that there are no hooks or no servers, in any form, does not stand in the way of ours.
func TestNoSettings(t *testing.T) {
	for _, text := range []string{
		"{\n  \"hooks\": null,\n  \"mcpServers\": null\n}\n", `{"hooks": [], "mcpServers": []}`, "{\"hooks\": [\r\n], \"mcpServers\": { }}\r\n",
		"{\n  \"hooks\": {\n    \"SessionStart\": null,\n    \"SessionEnd\": { }\n  }\n}\n",
	} {
		for _, agent := range []*record.Format{claude, codexFormat, geminiFormat} {
			w := settings(t, agent, text)
			file := HooksFile(agent.Agent, w)
			o := Options{Program: "/opt/tape", MCP: true}
			list, err := Install(agent, w, o)
			apply(t, w, list, err)
			d, err := readDocument([]byte(content(t, file)))
			if err != nil || len(d.ours(agent)) != len(agent.Events) || agent == geminiFormat && d.get("mcpServers", server) == nil {
				t.Errorf("%s: %v, and %q becomes\n%s", agent.Name, err, text, content(t, file))
			}
			if again, err := Install(agent, w, o); err != nil || len(again) > 0 {
				t.Errorf("%s: installing twice changes %d files more: %v", agent.Name, len(again), err)
			}
			list, err = Uninstall(agent, w, filepath.Join(w.Home, "receipts"))
			apply(t, w, list, err)
			if got := content(t, file); got != text {
				t.Errorf("%s: after uninstalling it is\n%s\nnot\n%s", agent.Name, got, text)
			}
		}
	}
}

// checkInstalled checks that the hooks are in the file, in its style, and that no line of it is gone.
func checkInstalled(t *testing.T, agent *record.Format, before, after string, o Options) {
	t.Helper()
	d, err := readDocument([]byte(after))
	if err != nil {
		t.Fatalf("%v\n%s", err, after)
	}
	found := d.ours(agent)
	if len(found) != len(agent.Events) {
		t.Errorf("%d of %d hooks are there:\n%s", len(found), len(agent.Events), after)
	}
	for _, event := range agent.Events {
		if i := slices.IndexFunc(found, func(h record.Hook) bool { return h.Event == event.Name }); i < 0 || found[i].Handler != hook(agent, event, o) {
			t.Errorf("%s does not have its hook in %v", event.Name, found)
		}
	}
	if strings.Contains(before, "\r\n") != strings.Contains(after, "\r\n") || strings.Count(after, "\n") != strings.Count(after, "\r\n") && strings.Contains(before, "\r\n") {
		t.Errorf("the ends of lines are mixed: %q", after)
	}
	if strings.HasPrefix(before, byteOrderMark) != strings.HasPrefix(after, byteOrderMark) {
		t.Error("the byte order mark was removed or added")
	}
	if !strings.Contains(before, "\n") || len(strings.Fields(before)) < 4 {
		return
	}
	have := lines(after)
	for _, line := range lines(before) {
		i := 0
		for i < len(have) && have[i] != line && !(strings.Contains(line, "{}") && strings.HasPrefix(have[i], strings.TrimSuffix(line, "}"))) {
			i++
		}
		if i == len(have) {
			t.Errorf("the line %q is gone:\n%s", line, after)
			return
		}
		have = have[i+1:]
	}
}

// TestSettingsChangedSince: uninstalling keeps what somebody added after tape.
func TestSettingsChangedSince(t *testing.T) {
	w := settings(t, claude, corpus["others' hooks"].text)
	file := HooksFile(claude.Agent, w)
	list, err := Install(claude, w, Options{Program: "/opt/tape"})
	apply(t, w, list, err)
	text := strings.Replace(content(t, file), "\"later\": true", "\"later\": true,\n  \"model\": \"haiku\"", 1)
	write(t, file, text, 0o600)
	list, err = Uninstall(claude, w, filepath.Join(w.Home, "receipts"))
	apply(t, w, list, err)
	want := strings.Replace(corpus["others' hooks"].text, "\"later\": true", "\"later\": true,\n  \"model\": \"haiku\"", 1)
	if got := content(t, file); got != want {
		t.Errorf("it becomes\n%s\nnot\n%s", got, want)
	}
}

// TestSettingsMoved: if the program was moved, installing replaces its path, and adds nothing twice.
func TestSettingsMoved(t *testing.T) {
	w := settings(t, claude, corpus["comments"].text)
	for _, program := range []string{"/opt/a/tape", "/opt/b/tape"} {
		list, err := Install(claude, w, Options{Program: program})
		apply(t, w, list, err)
	}
	after := content(t, HooksFile(claude.Agent, w))
	checkInstalled(t, claude, corpus["comments"].text, after, Options{Program: "/opt/b/tape"})
	list, err := Uninstall(claude, w, filepath.Join(w.Home, "receipts"))
	apply(t, w, list, err)
	if got := content(t, HooksFile(claude.Agent, w)); got != corpus["comments"].text {
		t.Errorf("after uninstalling it is\n%s\nnot\n%s", got, corpus["comments"].text)
	}
}

// TestSettingsFiles: links stay links, permissions stay, and what is read-only is left alone.
func TestSettingsFiles(t *testing.T) {
	o := Options{Program: "/opt/tape"}
	w := settings(t, claude, "")
	file, real := HooksFile(claude.Agent, w), filepath.Join(w.Home, "dotfiles", "claude.json")
	write(t, real, "{}\n", 0o640)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, file); err != nil {
		t.Skip(err)
	}
	list, err := Install(claude, w, o)
	apply(t, w, list, err)
	st, err := os.Lstat(file)
	if err != nil || st.Mode()&os.ModeSymlink == 0 || !strings.Contains(content(t, real), mark(claude)) {
		t.Errorf("want a link to a file with our hooks, got %v %v", st, err)
	}
	if st, err := os.Stat(real); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("the link's file: %v %v, want the permissions 0640", st, err)
	}
	for _, c := range []struct {
		text  string
		spoil func() error
	}{
		{"read-only", func() error { return os.Chmod(real, 0o400) }},
		{"leads nowhere", func() error { return os.Remove(real) }},
	} {
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		list, err := Install(claude, w, Options{Program: "/elsewhere/tape"})
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %d changes, error %v; want an error that says so", c.text, len(list), err)
		}
	}
}

// TestTOML: Codex's servers are a block at the end, which is removed without a trace.
func TestTOML(t *testing.T) {
	for _, text := range []string{"", "model = \"x\"\n", "model = \"x\"", "[a]\r\nb = 1 # c\r\n", "# only\n\n"} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			after, err := addTOML(codexFormat.Agent, []byte(text), `C:\tape`)
			if err != nil || !bytes.HasPrefix(after, []byte(text)) {
				t.Fatalf("%v: %q", err, after)
			}
			if again, err := addTOML(codexFormat.Agent, after, "other"); err != nil || !bytes.Equal(again, after) {
				t.Errorf("twice gives %v: %q", err, again)
			}
			if got := removeTOML(after); strings.TrimSuffix(string(got), "\n") != strings.TrimSuffix(text, "\n") {
				t.Errorf("it goes back to %q, not %q", got, text)
			}
		})
	}
	for text, want := range map[string]string{"# mine\nmodel = ": "line 2", "x = '''\nopen": "line", "mcp_servers = { a = { command = \"x\" } }\n": "write it as tables"} {
		if _, err := addTOML(codexFormat.Agent, []byte(text), "tape"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
	}
}

// TestTOMLHooks: Kimi Code's hooks are tables at the end, which are removed without a trace, also if Kimi Code has written
// the file again without comments. What does not fit is refused.
func TestTOMLHooks(t *testing.T) {
	const theirs = "[[hooks]]\nevent = \"Stop\"\ncommand = \"say done\"\n"
	o := Options{Program: "/opt/it's/tape"}
	for _, text := range []string{"", "# mine\nmodel = \"x\"\n", theirs, "hooks = []\nmodel = \"x\"\n", "hooks = []\n[other]\nhooks = []\n", "hooks = [\n]\nmodel = \"x\"\n", "[a]\r\nb = 1 # c\r\n", "model = \"x\""} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			rest := strings.TrimPrefix(strings.TrimPrefix(text, "hooks = []\n"), "hooks = [\n]\n")
			w := settings(t, kimiFormat, text)
			file := HooksFile(kimiFormat.Agent, w)
			list, err := Install(kimiFormat, w, Options{Program: "/opt/old/tape"})
			apply(t, w, list, err)
			list, err = Install(kimiFormat, w, o)
			apply(t, w, list, err)
			after := content(t, file)
			if again, err := Install(kimiFormat, w, o); err != nil || len(again) > 0 || !strings.HasPrefix(after, rest) || strings.Contains(after, "/opt/old") {
				t.Errorf("installing twice changes %d files more: %v\n%s", len(again), err, after)
			}
			if st := Inspect(kimiFormat, w, w.Home, o.Program); !st.Installed || len(st.Missing) > 0 || st.Program != o.Program || st.Problem != "" {
				t.Errorf("the state is %+v, want all installed", st)
			}
			var plain []string
			for line := range strings.Lines(after) {
				if !strings.HasPrefix(line, "# ") {
					plain = append(plain, line)
				}
			}
			bare := strings.Join(plain, "") + "\n[later]\nx = 1\n"
			if got, err := removeHooksTOML(kimiFormat, []byte(bare)); err != nil || strings.Contains(string(got), "tape hook") || !strings.HasSuffix(string(got), "[later]\nx = 1\n") {
				t.Errorf("without marks: %v, and it becomes %q", err, got)
			}
			twice := strings.Replace(after, tomlBegin, tomlBegin+"\n[[hooks]]\nevent = \"Stop\"\ncommand = \""+mark(kimiFormat)+"\"\n"+tomlEnd+"\n"+tomlBegin, 1)
			want := strings.TrimSuffix(rest, "\n")
			for _, have := range []string{after, twice} {
				if got, err := removeHooksTOML(kimiFormat, []byte(have)); err != nil || strings.TrimSuffix(string(got), "\n") != want {
					t.Errorf("without a receipt: %v, and %q becomes %q", err, have, got)
				}
			}
			list, err = Uninstall(kimiFormat, w, filepath.Join(w.Home, "receipts"))
			apply(t, w, list, err)
			if _, err := os.Lstat(file); content(t, file) != text || (err == nil) != (text != "") {
				t.Errorf("after uninstalling it is %q (%v)", content(t, file), err)
			}
		})
	}
	for _, text := range []string{"model = ", "prompt = '''\nhooks = []\n'''\nhooks = []\n", "\"hooks\" = []\n[other]\nhooks = []\n", "hooks = [{event = \"Stop\", command = \"x\"}]\n"} {
		w := settings(t, kimiFormat, text)
		if list, err := Install(kimiFormat, w, o); err == nil {
			t.Errorf("%q is not refused, but changed: %+v", text, list)
		}
	}
	odd := "[[hooks]]\nevent = \"Stop\"\n# why\ncommand = \"" + mark(kimiFormat) + "\"\n"
	if got, err := removeHooksTOML(kimiFormat, []byte(odd)); err == nil {
		t.Errorf("%q becomes %q without an error", odd, got)
	}
}
