package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/sessions/importer/crush"
)

// TestNoHooks: for an agent without hooks, only the user's or the project's MCP settings change.
func TestNoHooks(t *testing.T) {
	f, others := &crush.Format, "{\n  // mine\n  \"mcp\": {\"other\": {\"type\": \"stdio\", \"command\": \"x\"}}\n}\n"
	home, project := t.TempDir(), t.TempDir()
	for _, c := range []struct{ project, env, file, before string }{
		{"", "", filepath.Join(home, ".config", "crush", "crush.json"), ""},
		{"", filepath.Join(home, "elsewhere"), filepath.Join(home, "elsewhere", "crush.json"), others},
		{project, "", filepath.Join(project, "crush.json"), ""},
		{project, "", filepath.Join(project, ".crush.json"), others},
	} {
		w := settings(t, f, "")
		w.Home, w.Project = home, c.project
		w.Getenv = func(name string) string {
			if name == "CRUSH_GLOBAL_CONFIG" {
				return c.env
			}
			return ""
		}
		if c.before != "" {
			write(t, c.file, c.before, 0o600)
		}
		for _, o := range []Options{{Program: "/opt/tape"}, {Program: "/opt/tape", MCP: true, Push: true}} {
			if _, err := Install(f, w, o); err == nil || !strings.Contains(err.Error(), "to record with") {
				t.Errorf("%+v: error %v, want one that says that there are no hooks", o, err)
			}
		}
		o := Options{Program: "/opt/tape", MCP: true}
		list, err := Install(f, w, o)
		apply(t, w, list, err)
		text := content(t, c.file)
		for _, want := range []string{`"tape"`, `"stdio"`, `"/opt/tape"`, `["mcp"]`} {
			if !strings.Contains(strings.Join(strings.Fields(text), ""), want) || strings.Contains(text, "hooks") {
				t.Errorf("%s has no %s, or hooks:\n%s", c.file, want, text)
			}
		}
		if c.before != "" && (!strings.Contains(text, "// mine") || !strings.Contains(text, `"other"`)) {
			t.Errorf("%s has lost something:\n%s", c.file, text)
		}
		if st := Inspect(f, w, w.Home, "/opt/tape"); st.Installed || !st.MCP || st.File != c.file {
			t.Errorf("the state is %+v, want only MCP, in %s", st, c.file)
		}
		if again, err := Install(f, w, o); err != nil || len(again) > 0 {
			t.Errorf("installing twice changes %d files more: %v", len(again), err)
		}
		list, err = Uninstall(f, w, filepath.Join(w.Home, "receipts"))
		apply(t, w, list, err)
		if got, err := os.ReadFile(c.file); c.before == "" && !os.IsNotExist(err) || string(got) != c.before {
			t.Errorf("after uninstalling, %s is %q, %v; want %q", c.file, got, err, c.before)
		}
	}
}
