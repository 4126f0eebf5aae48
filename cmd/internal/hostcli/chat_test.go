//go:build unix

package hostcli

//tape:race: a chat and its agent run side by side

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/agentstest/model"
	"tape/cmd/internal/cli"
	"tape/internal/agent/sandbox"
	"tape/internal/testkit/wait"
	"tape/repo"
)

// envProgram makes the test binary the program tape-host.
const envProgram = "TAPE_TEST_AS_HOST"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Arg {
		os.Exit(sandbox.Child(os.Args[2:]))
	}
	if os.Getenv(envProgram) != "" {
		app := cli.OS("", "")
		app.Host = Host{}
		os.Exit(cli.Main(app))
	}
	os.Exit(m.Run())
}

// tool makes a call of a script: the tool's name, and its arguments as JSON.
func tool(name, arguments string) model.Call { return model.Call{Tool: name, Arg: arguments} }

func script() model.Script {
	return model.Script{
		"fix the sum": {
			{Calls: []model.Call{tool("fs_edit", `{"path":"add.sh","old":"-","new":"+"}`)}},
			{Calls: []model.Call{tool("bash", `{"cmd":"sh test.sh"}`)}},
			{Text: "It is fixed, grün."},
		},
		"print much": {
			{Calls: []model.Call{tool("bash", `{"cmd":"seq 1 20000"}`)}},
			{Calls: []model.Call{tool("artifact_read", `{"offset":100000}`)}},
			{Text: "I have read a piece."},
		},
		"look back":   {{Calls: []model.Call{tool("tape_search", `{"query":"grün"}`)}}, {Text: "It was there."}},
		"two helpers": {{Calls: []model.Call{tool("subagent", `{"prompt":"child one"}`), tool("subagent", `{"prompt":"child two","model":"nobody:x"}`)}}, {Text: "One of two failed."}},
		"child one":   {{Text: "The child is done."}},
		"be slow":     {{Text: strings.Repeat("word ", 2000), Pause: 50 * time.Millisecond}},
		"go on":       {{Text: "Here I am."}},
	}
}

// call returns a call's arguments; an artifact's id is the one in the last result.
func call(c model.Call, told []model.Item) (string, any) {
	arguments := map[string]any{}
	_ = json.Unmarshal([]byte(c.Arg), &arguments)
	if c.Tool == "artifact_read" {
		for _, item := range told {
			if _, rest, ok := strings.Cut(item.Text, "are the artifact "); ok {
				arguments["id"], _, _ = strings.Cut(rest, " ")
			}
		}
	}
	return c.Tool, arguments
}

// TestChat talks to the agent in a terminal: it edits a file, runs tests, reads a long result in
// pieces, searches its tape, continues after a handoff, is steered during a turn that Ctrl-C ends,
// and asks subagents.
func TestChat(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("a terminal takes tmux")
	}
	server := model.New(script(), call)
	defer server.Close()
	dir := t.TempDir()
	project, ws := filepath.Join(dir, "project"), filepath.Join(dir, "ws")
	store, _, err := repo.Init(t.Context(), ws, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"add.sh": "echo $(($1 - $2))\n", "test.sh": `test "$(sh add.sh 2 3)" = 5 && echo PASS` + "\n"} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tmux := func(arg ...string) string {
		t.Helper()
		cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(dir, "tmux"), "-f", "/dev/null", "-u"}, arg...)...)
		cmd.Dir = project
		cmd.Env = append(os.Environ(), envProgram+"=1", "TAPE_WORKSPACE="+ws, "TAPE_HOME="+filepath.Join(dir, "home"), "HOME="+dir,
			"TAPE_MODE=auto", "TAPE_MODEL=openai:scripted", "OPENAI_BASE_URL="+server.URL+"/v1", "OPENAI_API_KEY=sk-test-0123456789abcdef", "LC_ALL=C.UTF-8")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v\n%s", arg, err, out)
		}
		return string(out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmux("new-session", "-d", "-x", "120", "-y", "60", self+" chat --session-id talk; echo left $?; sleep 1000")
	defer tmux("kill-server")
	until := func(text string) {
		t.Helper()
		shown := ""
		if !wait.Eventually(func() bool {
			shown = tmux("capture-pane", "-p")
			return strings.Contains(shown, text)
		}) {
			t.Fatalf("the terminal never shows %q, but\n%s", text, strings.TrimSpace(shown))
		}
	}
	say := func(line string, want ...string) {
		t.Helper()
		tmux("send-keys", "-l", line)
		tmux("send-keys", "Enter")
		for _, text := range want {
			until(text)
		}
	}
	until("twice leaves")
	say("fix the sum, gründlich", "▸ fs.edit  add.sh", "- echo $(($1 - $2))", "+ echo $(($1 + $2))", "▸ bash  sh test.sh", "exit 0 · 1 line", "It is fixed, grün.")
	say("print much", "20000 lines", "▸ artifact.read", "I have read a piece.")
	say("look back", "▸ tape.search  grün", "It was there.")
	say(",tape.handoff name=phase-2 summary='the sum is fixed'", "phase-2")
	say("two helpers", "▸ subagent  child two", "the subagent failed", "One of two failed.")
	say("be slow", "word word")
	say("go on", "steers: go on") // it is next if the turn does not read it
	tmux("send-keys", "C-c")
	until("interrupted")
	until("Here I am.")
	tmux("send-keys", "C-d")
	until("left 0")
	checkTape(t, store)
}

func checkTape(t *testing.T, store *repo.Store) {
	report, err := store.Verify(t.Context())
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("verify: %v, %v", report, err)
	}
	tape, err := store.Tape(t.Context(), "talk")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for e, err := range tape.Entries(t.Context(), repo.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		all.Write(e.JSON())
	}
	for _, text := range []string{"PASS", "gründlich", "phase-2", "The child is done.", "the subagent failed", `"cancelled"`, "Here I am."} {
		if !strings.Contains(all.String(), text) {
			t.Errorf("the tape has no %q", text)
		}
	}
	if strings.Contains(all.String(), "sk-test-") {
		t.Error("the key stands on the tape")
	}
}
