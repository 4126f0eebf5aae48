//go:build unix

package hostcli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tape/cmd/internal/agentstest/model"
	"tape/cmd/internal/cli"
	"tape/hooks"
	"tape/internal/agent/approve"
	"tape/repo"
)

// toolPlugin is a plugin written in shell, which calls the tool bash in load_state, and keeps the answer in a file.
const toolPlugin = `while read -r line; do
	id=${line#*\"id\":} id=${id%%,*}
	case $line in
	*initialize*) echo '{"jsonrpc":"2.0","id":1,"result":{"hooks":[{"name":"load_state"}]}}' ;;
	*hook/load_state*) echo '{"jsonrpc":"2.0","id":"t","method":"tool/call","params":{"call_id":'"$id"',"name":"bash","arguments":{"cmd":"touch plugged"}}}'
		read -r answer
		printf '%s\n' "$answer" >answer
		echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"value":null}}' ;;
	*shutdown*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{}}' ;;
	esac
done`

// consentCase is a project, a workspace and a model that wants to run a command and to write a file.
type consentCase struct {
	t        *testing.T
	dir, url string
	store    *repo.Store
}

func newConsentCase(t *testing.T) *consentCase {
	server := model.New(model.Script{"work": {
		{Calls: []model.Call{tool("bash", `{"cmd":"touch ran && echo 4711"}`), tool("fs_write", `{"path":"sub/new.txt","content":"hello\n"}`)}},
		{Text: "I tried."}}}, call)
	t.Cleanup(server.Close)
	c := &consentCase{t: t, dir: t.TempDir(), url: server.URL}
	t.Setenv("TAPE_HOME", filepath.Join(c.dir, "home"))
	t.Setenv("HOME", c.dir)
	t.Setenv("TAPE_MODE", "")
	var err error
	c.store, _, err = repo.Init(t.Context(), filepath.Join(c.dir, "ws"), nil)
	if err = errors.Join(err, os.Mkdir(filepath.Join(c.dir, "project"), 0o700)); err != nil {
		t.Fatal(err)
	}
	return c
}

// run runs tape run in the project, and returns what it writes to standard output and to standard error.
func (c *consentCase) run(arg ...string) (out, told string) {
	c.t.Helper()
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.CommandContext(c.t.Context(), self, append([]string{"run", "--session-id", "s"}, arg...)...)
	var text bytes.Buffer
	cmd.Dir, cmd.Stderr = filepath.Join(c.dir, "project"), &text
	cmd.Env = append(os.Environ(), envProgram+"=1", "TAPE_WORKSPACE="+c.store.Dir(), "TAPE_MODEL=openai:scripted", "OPENAI_BASE_URL="+c.url+"/v1")
	raw, err := cmd.Output()
	if refused := (&exec.ExitError{}); err != nil && !(strings.HasPrefix(arg[0], ",") && errors.As(err, &refused) && refused.ExitCode() == 1) { // a command fails if it is refused
		c.t.Errorf("%v: %v\n%s", arg, err, text.String())
	}
	return string(raw), text.String()
}

// made returns which files the tools and the plugin have made, and removes them.
func (c *consentCase) made() (made string) {
	for _, name := range []string{"ran", "sub/new.txt", "plugged"} {
		if os.Remove(filepath.Join(c.dir, "project", name)) == nil {
			made += name + " "
		}
	}
	return made
}

func (c *consentCase) results() string {
	tape, err := c.store.Tape(c.t.Context(), "s")
	if err != nil {
		c.t.Fatal(err)
	}
	var all strings.Builder
	for e, err := range tape.Entries(c.t.Context(), repo.Query{Kinds: []string{repo.KindToolResult}}) {
		if err != nil {
			c.t.Fatal(err)
		}
		all.Write(e.JSON())
	}
	return all.String()
}

// Without a terminal, calls that need consent are refused: the model gets the reason, and the person sees it. The mode
// auto and rules allow them, wherever they are set; a rule that denies wins.
func TestConsentWithoutTerminal(t *testing.T) {
	c := newConsentCase(t)
	out, told := c.run("work")
	if made := c.made(); made != "" || !strings.Contains(out, "I tried.") {
		t.Errorf("without consent, the turn made %q and answered %s", made, out)
	}
	for _, want := range []string{"bash touch ran && echo 4711 needs the user's consent", "fs.write sub/new.txt needs", `["bash(touch)","bash(echo)"]`} {
		if escaped := strings.ReplaceAll(want, `"`, `\"`); !strings.Contains(told, want) || !strings.Contains(c.results(), strings.ReplaceAll(escaped, "&", `\u0026`)) && !strings.Contains(c.results(), escaped) {
			t.Errorf("the person or the model was not told %q:\n%s\nresults: %s", want, told, c.results())
		}
	}
	if c.run("work", "--mode", "auto"); c.made() != "ran sub/new.txt " {
		t.Error("--mode auto did not allow it")
	}
	if out, _ := c.run(",touch ran"); c.made() != "" || !strings.Contains(out, "needs the user's consent") {
		t.Errorf("a command in an argument, which may be somebody else's text, was not refused: %s", out)
	}
	set := func(key, value string) {
		t.Helper()
		if err := c.store.SetSetting(key, value); err != nil {
			t.Fatal(err)
		}
	}
	set("allow", `["bash(touch)","bash(echo)"]`)
	if c.run("work"); c.made() != "ran " {
		t.Error("the rules did not allow the command, or allowed more")
	}
	set("mode", "auto")
	set("deny", `["bash(echo)"]`)
	if _, told := c.run("work"); c.made() != "sub/new.txt " || !strings.Contains(c.results(), "denied by the user's rule bash(echo)") {
		t.Errorf("the rule that denies does not win: %s", told)
	}
	t.Setenv("TAPE_MODE", "plan")
	if c.run("work"); c.made() != "" {
		t.Error("a tool changed something in the mode plan")
	}
}

// A file of settings in the working tree, or in the repository's own folder, allows nothing.
func TestConsentOfStrangers(t *testing.T) {
	c := newConsentCase(t)
	text := []byte(`{"mode":"auto","allow":["*"]}`)
	for _, name := range []string{"project/config.json", "ws/config.json", "ws/.git/tape/config.json"} {
		if err := os.WriteFile(filepath.Join(c.dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if c.run("work"); c.made() != "" {
		t.Error("settings in the project or in the repository allowed a call")
	}
}

// A plugin's call of a tool reaches the built-in tools, and needs the same consent.
func TestConsentOfPlugins(t *testing.T) {
	c := newConsentCase(t)
	if err := errors.Join(os.WriteFile(filepath.Join(c.dir, "project", "p.sh"), []byte(toolPlugin), 0o600),
		c.store.SetSetting("plugins", fmt.Sprintf(`[{"name":"p","command":["sh",%q]}]`, filepath.Join(c.dir, "project", "p.sh")))); err != nil {
		t.Fatal(err)
	}
	answer := func() string {
		raw, err := os.ReadFile(filepath.Join(c.dir, "project", "answer"))
		if err != nil {
			t.Error(err)
		}
		return string(raw)
	}
	for _, message := range []string{"work", ",tape.info"} { // also while a command that the user has typed runs
		if c.run(message); c.made() != "" || !strings.Contains(answer(), "needs the user's consent") {
			t.Errorf("%s: the plugin got %s", message, answer())
		}
	}
	if c.run(",tape.info", "--mode", "auto"); c.made() != "plugged " || !strings.Contains(answer(), "(no output)") {
		t.Errorf("auto: the plugin got %s", answer())
	}
}

// decider answers each question with a decision.
type decider struct {
	decision approve.Decision
	asked    []approve.Request
}

func (d *decider) Ask(_ context.Context, r approve.Request) (approve.Answer, error) {
	d.asked = append(d.asked, r)
	return approve.Answer{Decision: d.decision}, nil
}

// "Always" is kept in the user's settings, for this project only, and counts for the next program.
func TestConsentAlways(t *testing.T) {
	c := newConsentCase(t)
	project := filepath.Join(c.dir, "project")
	env := map[string]string{"TAPE_MODEL": "openai:scripted", "OPENAI_BASE_URL": c.url + "/v1"}
	turn := func(project string, d *decider) {
		t.Helper()
		a, err := newAssembly(t.Context(), cli.AgentOptions{Store: c.store, Project: project, Folder: project, Home: filepath.Join(c.dir, "home"), Getenv: func(name string) string { return env[name] }, Warn: func(string) {}}, noPlugins)
		if err != nil {
			t.Fatal(err)
		}
		defer a.close()
		a.gate.SetAsker(d)
		if _, err := a.rt.Process(t.Context(), hooks.Envelope{hooks.KeySession: "s", hooks.KeyContent: "work"}, hooks.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	first := &decider{decision: approve.Always}
	turn(project, first)
	if made := c.made(); made != "ran sub/new.txt " || len(first.asked) != 2 {
		t.Errorf("made %q after %d questions, want both files after 2", made, len(first.asked))
	}
	for _, r := range first.asked {
		if r.Session != "s" || r.Tool == "bash" && (r.Rule != "touch, echo" || r.Command != "touch ran && echo 4711" || r.Title != "run a command") ||
			r.Tool == "fs.write" && (r.Path != "sub/new.txt" || r.Title != "create sub/new.txt (6 bytes)" || r.Diff != "--- /dev/null\n+++ sub/new.txt\n@@ -0,0 +1 @@\n+hello\n") {
			t.Errorf("the question is %+v", r)
		}
	}
	again := &decider{decision: approve.Deny}
	turn(project, again)
	if made := c.made(); made != "ran sub/new.txt " || len(again.asked) != 0 {
		t.Errorf("the next program made %q after %d questions, want both files after none", made, len(again.asked))
	}
	other := filepath.Join(c.dir, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	turn(other, again)
	if len(again.asked) != 2 {
		t.Errorf("in another project there were %d questions, want 2", len(again.asked))
	}
	text, err := c.store.Setting("allow")
	var list []string
	if err = errors.Join(err, json.Unmarshal([]byte(text), &list)); err != nil || len(list) != 3 || list[0] != "bash(touch) in "+project {
		t.Errorf("the setting is %s, %v", text, err)
	}
}
