package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program makes a file that can be run.
func program(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	write(t, file, "#!/bin/sh\n", 0o700)
	return file
}

// TestInspectProgram: a program that was moved is missed, unless PATH has another one.
func TestInspectProgram(t *testing.T) {
	for _, agent := range Names() {
		w := settings(t, agent, "")
		was, now := program(t, "tape"), program(t, "tape")
		list, err := Install(agent, w, Options{Program: was})
		apply(t, w, list, err)
		t.Setenv("PATH", t.TempDir())
		if st := Inspect(agent, w, w.Home, was); !st.Installed || st.Gone || st.Elsewhere || st.Program != was || len(st.Missing) > 0 {
			t.Errorf("%s as it was installed: %+v", agent, st)
		}
		if err := os.Remove(was); err != nil {
			t.Fatal(err)
		}
		if st := Inspect(agent, w, w.Home, now); !st.Gone {
			t.Errorf("%s without the program: %+v", agent, st)
		}
		t.Setenv("PATH", filepath.Dir(now))
		if st := Inspect(agent, w, w.Home, now); st.Gone || st.Elsewhere {
			t.Errorf("%s with another one in PATH: %+v", agent, st)
		}
	}
}

// TestInspectOff: whoever has switched hooks off is named.
func TestInspectOff(t *testing.T) {
	for _, c := range []struct {
		agent, text, want string
		rule              bool
	}{
		{ClaudeCode, "{ \"disableAllHooks\": true } // so", "disableAllHooks", false},
		{ClaudeCode, `{"disableAllHooks": false}`, "", false},
		{ClaudeCode, `{"allowManagedHooksOnly": true}`, "", false},
		{ClaudeCode, `{"allowManagedHooksOnly": true}`, "allowManagedHooksOnly", true},
		{Gemini, `{"hooksConfig": {"enabled": false}}`, "hooksConfig.enabled = false", false},
		{Gemini, `{"hooksConfig": {"disabled": ["x", "tape"]}}`, "hooksConfig.disabled", false},
		{Gemini, `{"disableAllHooks": true}`, "", false},
		{Codex, "[features]\nhooks = false\n", "features.hooks = false", false},
		{Codex, "allow_managed_hooks_only = true\n", "allow_managed_hooks_only", true},
		{Codex, "allow_managed_hooks_only = true\n", "", false},
		{Codex, "not toml", "", false},
	} {
		if got := offIn(c.agent, []byte(c.text), c.rule); got != c.want {
			t.Errorf("%s, %s: %q, not %q", c.agent, c.text, got, c.want)
		}
	}
}

// TestTrust: what Codex keeps of a review holds for the words of the hook that was reviewed. The hash
// is one that Codex 0.169 has given for this hook.
func TestTrust(t *testing.T) {
	const known = "sha256:ba3bbb72fec2d449dd4825eea531873de3e2a6de6676e10df888485091569c73"
	for event, want := range map[string]string{"SessionStart": known, "SessionEnd": "sha256:d02b7559b871dfb33bbfa562366219a1097155bfe19a0e38291c3d201490aa42"} {
		p := place{event: event, handler: hook(Codex, event, Options{Program: "/opt/tape"})}
		if event == "SessionEnd" {
			p.handler.Command = "tape hook codex"
		}
		if got := trustHash(p); got != want {
			t.Errorf("%s: %s, not %s", event, got, want)
		}
	}
	w := settings(t, Codex, "")
	list, err := Install(Codex, w, Options{Program: "/opt/tape"})
	apply(t, w, list, err)
	d, err := readDocument([]byte(content(t, w.HooksFile(Codex))))
	if err != nil {
		t.Fatal(err)
	}
	record := func(change func(event, hash string) string) {
		var out strings.Builder
		for _, p := range d.ours(Codex) {
			fmt.Fprintf(&out, "[hooks.state.\"%s:%s:%d:%d\"]\n%s\n", w.HooksFile(Codex), snake(p.event), p.group, p.hook, change(p.event, trustHash(p)))
		}
		write(t, w.MCPFile(Codex), out.String(), 0o600)
	}
	for want, change := range map[Trust]func(event, hash string) string{
		Reviewed:       func(_, hash string) string { return fmt.Sprintf("trusted_hash = %q", hash) },
		Changed:        func(_, hash string) string { return fmt.Sprintf("trusted_hash = %q", hash[:20]) },
		NotReviewed:    func(string, string) string { return "" },
		"switched off": func(_, hash string) string { return fmt.Sprintf("trusted_hash = %q\nenabled = false", hash) },
	} {
		record(change)
		if st := Inspect(Codex, w, w.Home, "/opt/tape"); st.Trust != want {
			t.Errorf("it is %q, not %q", st.Trust, want)
		}
	}
}
