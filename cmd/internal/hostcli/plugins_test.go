//go:build unix

package hostcli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/cmd/internal/cli"
	"tape/hooks"
	"tape/internal/store/workspace"
	"tape/repo"
)

// scriptPlugin is a plugin written in shell that answers two hooks.
const scriptPlugin = `while read -r line; do
	id=${line#*\"id\":} id=${id%%,*}
	case $line in
	*initialize*) result='{"hooks":[{"name":"onboard_config"},{"name":"dispatch_outbound"}]}' ;;
	*onboard_config*) result='{"value":{"max_steps":20,"web_private":true,"nonsense":1,"plugins":[{"name":"x","command":["no-such-program"]}]}}' ;;
	*) result='{"value":true}' ;;
	esac
	echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done`

func pluginOptions(t *testing.T) (cli.AgentOptions, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TAPE_HOME", filepath.Join(dir, "home"))
	store, _, err := repo.Init(t.Context(), filepath.Join(dir, "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugin.sh"), []byte(scriptPlugin), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store.SetSetting("plugins", fmt.Sprintf(`[{"name":"settings","command":["sh",%q]}]`, filepath.Join(dir, "plugin.sh"))); err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	return cli.AgentOptions{Store: store, Project: dir, Folder: dir, Home: dir, Getenv: func(string) string { return "" },
		Out: out, Err: io.Discard, Warn: func(text string) { t.Error(text) }}, out
}

// Plugins of the settings are asked before a command's own.
func TestOwnPluginsAreAskedLast(t *testing.T) {
	o, _ := pluginOptions(t)
	a, err := newAssembly(t.Context(), o, func(a *assembly) error {
		return a.rt.Register(&hooks.Plugin{Name: "own", DispatchOutbound: func(context.Context, hooks.Envelope) (bool, error) { return true, nil }})
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	var asked []string
	for _, h := range a.rt.Report() {
		if h.Hook == "dispatch_outbound" {
			for _, p := range h.Plugins {
				asked = append(asked, p.Name)
			}
		}
	}
	if got := strings.Join(asked, " "); got != "settings own" {
		t.Errorf("dispatch_outbound asks %q, want settings before own", got)
	}
}

// A plugin may ask for settings; the user decides which are set.
func TestOnboardAsksBeforePluginsChangeSettings(t *testing.T) {
	o, out := pluginOptions(t)
	b := &onboarder{AgentOptions: o, lines: bufio.NewReader(strings.NewReader("y\n\n"))}
	if err := b.plugins(t.Context()); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"max_steps": "20", "web_private": "", "plugins": fmt.Sprintf(`[{"name":"settings","command":["sh",%q]}]`, filepath.Join(o.Project, "plugin.sh"))} {
		if got, err := o.Store.Setting(key); got != want || err != nil {
			t.Errorf("%s is %q, %v; wanted %q", key, got, err, want)
		}
	}
	for _, text := range []string{"A plugin asks for max_steps = 20: set it? (yes, no) [no]: ", "A plugin asks for web_private = true: set it?",
		"A plugin asks for nonsense, which is not set: the agent has no such setting", "A plugin asks for plugins, which is not set: plugins: the program of \"x\" cannot be run"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("it does not say %q:\n%s", text, out)
		}
	}
}

// A path in settings for all workspaces never names a file of a project.
func TestGlobalProgramsDoNotRunInTheProject(t *testing.T) {
	o, _ := pluginOptions(t)
	if err := errors.Join(o.Store.SetSetting("plugins", ""), os.WriteFile(filepath.Join(o.Project, "plugin.sh"), []byte("touch ran"), 0o600),
		workspace.SetGlobalSetting("plugins", `[{"name":"all","command":["sh","plugin.sh"]}]`),
		workspace.SetGlobalSetting("mcp_servers", `{"all":{"command":"sh","args":["plugin.sh"]}}`)); err != nil {
		t.Fatal(err)
	}
	a, err := newAssembly(t.Context(), o, noPlugins)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	if off := a.procs[0].Off(); off == nil {
		t.Error("the plugin runs")
	}
	a.set.All(t.Context())
	if _, err := os.Stat(filepath.Join(o.Project, "ran")); err == nil {
		t.Error("a file of the project has run")
	}
}
