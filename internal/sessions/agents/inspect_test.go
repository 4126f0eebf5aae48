package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"tape/internal/sessions/importer/pi"
	"tape/internal/sessions/importer/record"
)

// program makes a file that can be run.
func program(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	write(t, file, "#!/bin/sh\n", 0o700)
	return file
}

// TestInspectProgram: a program that was moved is reported as missing, unless PATH has
// another one.
func TestInspectProgram(t *testing.T) {
	for _, agent := range []*record.Format{claude, codexFormat, geminiFormat, openCodeFormat} {
		w := settings(t, agent, "")
		former, now := program(t, "tape"), program(t, "tape")
		list, err := Install(agent, w, Options{Program: former})
		apply(t, w, list, err)
		t.Setenv("PATH", t.TempDir())
		if st := Inspect(agent, w, w.Home, former); !st.Installed || st.ProgramMissing || st.OtherProgram || st.Program != former || len(st.Missing) > 0 {
			t.Errorf("%s as it was installed: %+v", agent.Name, st)
		}
		if err := os.Remove(former); err != nil {
			t.Fatal(err)
		}
		if st := Inspect(agent, w, w.Home, now); !st.ProgramMissing {
			t.Errorf("%s without the program: %+v", agent.Name, st)
		}
		t.Setenv("PATH", filepath.Dir(now))
		if st := Inspect(agent, w, w.Home, now); st.ProgramMissing || st.OtherProgram {
			t.Errorf("%s with another one in PATH: %+v", agent.Name, st)
		}
	}
}

// TestInspectOff: the state names the setting that turns hooks off.
func TestInspectOff(t *testing.T) {
	for _, c := range []struct {
		agent      *record.Format
		text, want string
		rule       bool
	}{
		{claude, "{ \"disableAllHooks\": true } // so", "disableAllHooks", false},
		{claude, `{"disableAllHooks": false}`, "", false},
		{claude, `{"allowManagedHooksOnly": true}`, "", false},
		{claude, `{"allowManagedHooksOnly": true}`, "allowManagedHooksOnly", true},
		{geminiFormat, `{"hooksConfig": {"enabled": false}}`, "hooksConfig.enabled = false", false},
		{geminiFormat, `{"hooksConfig": {"disabled": ["x", "tape"]}}`, "hooksConfig.disabled", false},
		{geminiFormat, `{"disableAllHooks": true}`, "", false},
		{codexFormat, "[features]\nhooks = false\n", "features.hooks = false", false},
		{codexFormat, "allow_managed_hooks_only = true\n", "allow_managed_hooks_only", true},
		{codexFormat, "allow_managed_hooks_only = true\n", "", false},
		{codexFormat, "not toml", "", false},
	} {
		w := settings(t, c.agent, "")
		file := settingsFile(c.agent.Agent, w)
		write(t, file, c.text, 0o600)
		if got := c.agent.Agent.Off(readSettings(file), c.rule); got != c.want {
			t.Errorf("%s, %s: off by %q, want %q", c.agent.Name, c.text, got, c.want)
		}
		if st := Inspect(c.agent, w, t.TempDir(), "tape"); !c.rule && (st.Off != "") != (c.want != "") {
			t.Errorf("%s, %s: the state is off by %q, want %q", c.agent.Name, c.text, st.Off, c.want)
		}
	}
}

// TestTrust: the state has what the user decided about the hooks in Codex, as Codex stores it.
func TestTrust(t *testing.T) {
	w := settings(t, codexFormat, "")
	list, err := Install(codexFormat, w, Options{Program: "/opt/tape"})
	apply(t, w, list, err)
	if st := Inspect(codexFormat, w, w.Home, "/opt/tape"); st.Trust != record.NotReviewed {
		t.Errorf("before a review the trust is %q, want %q", st.Trust, record.NotReviewed)
	}
	var off strings.Builder
	for _, event := range codexFormat.Events {
		var name strings.Builder
		for i, r := range event.Name {
			if unicode.IsUpper(r) && i > 0 {
				name.WriteByte('_')
			}
			name.WriteRune(unicode.ToLower(r))
		}
		fmt.Fprintf(&off, "[hooks.state.\"%s:%s:0:0\"]\ntrusted_hash = \"x\"\nenabled = false\n", HooksFile(codexFormat.Agent, w), name.String())
	}
	write(t, mcpFile(codexFormat.Agent, w), off.String(), 0o600)
	if st := Inspect(codexFormat, w, w.Home, "/opt/tape"); st.Trust != record.SwitchedOff {
		t.Errorf("with hooks switched off the trust is %q, want %q", st.Trust, record.SwitchedOff)
	}
}

// An agent without MCP gets only its extension, and --mcp is refused.
func TestWithoutMCP(t *testing.T) {
	w := record.Where{Home: t.TempDir(), Getenv: func(string) string { return "" }}
	if list, err := Install(&pi.Format, w, Options{Program: "/opt/tape", MCP: true}); err == nil {
		t.Errorf("MCP was not refused: %v", list)
	}
	list, err := Install(&pi.Format, w, Options{Program: "/opt/tape"})
	if err != nil || len(list) != 1 || !strings.Contains(string(list[0].After), `{"args":["hook","pi"],"program":"/opt/tape"}`) {
		t.Errorf("installing changes %v, %v; want one file with the settings", list, err)
	}
	if st := Inspect(&pi.Format, w, "", "/opt/tape"); st.Installed || st.MCP {
		t.Errorf("before the change is applied, the state is %+v, want nothing installed", st)
	}
}
