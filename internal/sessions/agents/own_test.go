package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer/copilot"
)

// TestOwnFile: the file that tape writes has a hook for each event. Uninstalling removes it, and restores the bytes of
// the MCP settings.
func TestOwnFile(t *testing.T) {
	f := &copilot.Format
	w := settings(t, f, "")
	servers, was := filepath.Join(w.Home, ".copilot", "mcp-config.json"), "{ \"mcpServers\": {\"mine\": {}} }"
	write(t, servers, was, 0o600)
	o := Options{Program: "/opt/it's tape", MCP: true, Push: true}
	list, err := Install(f, w, o)
	apply(t, w, list, err)
	file := filepath.Join(w.Home, ".copilot", "hooks", "tape.json")
	var all struct {
		Version int
		Hooks   map[string][]struct{ Type, Bash string }
	}
	if err := json.Unmarshal([]byte(content(t, file)), &all); err != nil || all.Version != 1 {
		t.Errorf("%v: %s", err, content(t, file))
	}
	for _, event := range f.Events {
		if h := all.Hooks[event.Name]; len(h) != 1 || h[0].Type != "command" || !strings.Contains(h[0].Bash, "hook copilot --push") || !strings.HasSuffix(h[0].Bash, "exit 0") {
			t.Errorf("%s: %+v", event.Name, h)
		}
	}
	if text := content(t, servers); !strings.Contains(text, `"local"`) || !strings.Contains(text, `"mine"`) {
		t.Errorf("the MCP servers are\n%s", text)
	}
	if again, err := Install(f, w, o); err != nil || len(again) > 0 {
		t.Errorf("installing twice changes %d files more: %v", len(again), err)
	}
	if st := Inspect(f, w, w.Home, "/opt/it's tape"); !st.Installed || len(st.Missing) > 0 || st.Program != "/opt/it's tape" || !st.MCP || st.Problem != "" {
		t.Errorf("%+v", st)
	}
	list, err = Uninstall(f, w, filepath.Join(w.Home, "receipts"))
	apply(t, w, list, err)
	if _, err := os.Stat(file); !os.IsNotExist(err) || content(t, servers) != was {
		t.Errorf("%v, %q", err, content(t, servers))
	}
}

// TestOwnFileOfOthers: a file in which somebody else wrote is not changed.
func TestOwnFileOfOthers(t *testing.T) {
	f := &copilot.Format
	for _, text := range []string{
		`{"version":1,"hooks":{"agentStop":[{"type":"command","bash":"say done"}]}}`,
		`{"version":1,"hooks":{"agentStop":[{"type":"command","bash":"say done"},{"type":"command","bash":"tape hook copilot"}]}}`, "no JSON",
	} {
		w := settings(t, f, text)
		if _, err := Install(f, w, Options{Program: "/opt/tape"}); err == nil || !strings.Contains(err.Error(), "is left as it is") {
			t.Errorf("%s: %v", text, err)
		}
		if list, _ := Uninstall(f, w, filepath.Join(w.Home, "receipts")); slices.ContainsFunc(list, func(c Change) bool { return c.After == nil }) {
			t.Errorf("%s: %+v", text, list)
		}
	}
}
