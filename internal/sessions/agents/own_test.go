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
	servers, others := filepath.Join(w.Home, ".copilot", "mcp-config.json"), "{ \"mcpServers\": {\"mine\": {}} }"
	write(t, servers, others, 0o600)
	o := Options{Program: "/opt/it's tape", MCP: true, Push: true}
	list, err := Install(f, w, o)
	apply(t, w, list, err)
	file := filepath.Join(w.Home, ".copilot", "hooks", "tape.json")
	var all struct {
		Version int
		Hooks   map[string][]struct{ Type, Bash string }
	}
	if err := json.Unmarshal([]byte(content(t, file)), &all); err != nil || all.Version != 1 {
		t.Errorf("%v; want version 1 in %s", err, content(t, file))
	}
	for _, event := range f.Events {
		if h := all.Hooks[event.Name]; len(h) != 1 || h[0].Type != "command" || !strings.Contains(h[0].Bash, "hook copilot --push") || !strings.HasSuffix(h[0].Bash, "exit 0") {
			t.Errorf("%s has the hooks %+v, want one with our command", event.Name, h)
		}
	}
	if text := content(t, servers); !strings.Contains(text, `"local"`) || !strings.Contains(text, `"mine"`) {
		t.Errorf("the MCP servers are\n%s", text)
	}
	if again, err := Install(f, w, o); err != nil || len(again) > 0 {
		t.Errorf("installing twice changes %d files more: %v", len(again), err)
	}
	if st := Inspect(f, w, w.Home, "/opt/it's tape"); !st.Installed || len(st.Missing) > 0 || st.Program != "/opt/it's tape" || !st.MCP || st.Problem != "" {
		t.Errorf("the state is %+v, want all installed", st)
	}
	list, err = Uninstall(f, w, filepath.Join(w.Home, "receipts"))
	apply(t, w, list, err)
	if _, err := os.Stat(file); !os.IsNotExist(err) || content(t, servers) != others {
		t.Errorf("after uninstalling: the hooks file: %v, want none; the servers: %q, want %q", err, content(t, servers), others)
	}
}

// TestOwnFileOfOthers: if somebody else wrote to the file, it is not changed.
func TestOwnFileOfOthers(t *testing.T) {
	f := &copilot.Format
	for _, text := range []string{
		`{"version":1,"hooks":{"agentStop":[{"type":"command","bash":"say done"}]}}`,
		`{"version":1,"hooks":{"agentStop":[{"type":"command","bash":"say done"},{"type":"command","bash":"tape hook copilot"}]}}`, "no JSON",
	} {
		w := settings(t, f, text)
		if _, err := Install(f, w, Options{Program: "/opt/tape"}); err == nil || !strings.Contains(err.Error(), "is left as it is") {
			t.Errorf("%s: error %v, want that it is left as it is", text, err)
		}
		if list, _ := Uninstall(f, w, filepath.Join(w.Home, "receipts")); slices.ContainsFunc(list, func(c Change) bool { return c.After == nil }) {
			t.Errorf("%s: uninstalling would remove it: %+v", text, list)
		}
	}
}
