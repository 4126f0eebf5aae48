//go:build unix

package hostcli

//tape:race: a chat and its agent run side by side

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/agentstest/model"
	"tape/cmd/internal/cli"
	"tape/internal/agent/sandbox"
	"tape/internal/testkit"
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
	testkit.Parallel(4) // programs in a terminal mostly wait
	testkit.Main(m, nil, nil)
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

// call returns a call's tool and arguments. The id for artifact_read is that of the artifact in the last result.
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

// talk is a chat in a terminal, with a scripted model.
type talk struct {
	*screen
	t       *testing.T
	store   *repo.Store
	project string
	options screenOptions
}

func newTalk(t *testing.T, script model.Script, width int, env ...string) *talk {
	t.Helper()
	server := model.New(script, call)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	c := &talk{t: t, project: filepath.Join(dir, "project")}
	var err error
	if c.store, _, err = repo.Init(t.Context(), filepath.Join(dir, "ws"), nil); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Mkdir(c.project, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.options = screenOptions{Argv: []string{self, "chat", "--session-id", "talk"}, Dir: c.project, Width: width, Height: 40,
		Env: append([]string{envProgram + "=1", "TAPE_WORKSPACE=" + c.store.Dir(), "TAPE_HOME=" + filepath.Join(dir, "home"), "HOME=" + dir, "PAGER=cat", "EDITOR=cat",
			"TAPE_MODEL=openai:scripted", "OPENAI_BASE_URL=" + server.URL + "/v1", "OPENAI_API_KEY=sk-test-0123456789abcdef", "LC_ALL=C.UTF-8"}, env...)}
	return c
}

func (c *talk) file(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.project, name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *talk) start() {
	c.t.Helper()
	c.screen = startScreen(c.t, c.options)
	c.Until("session talk")
}

// Say waits for the end of the turn that runs, types a line, and waits for texts.
func (c *talk) Say(line string, want ...string) {
	c.t.Helper()
	c.idle()
	c.screen.Say(line, want...)
}

func (c *talk) idle() {
	c.t.Helper()
	c.UntilIt("is idle", func(seen string) bool {
		return !strings.Contains(seen, "Enter steers") && !strings.Contains(seen, "sending: ")
	})
}

// TestChat talks to the agent in a terminal: it edits a file, runs tests, reads a long result in
// pieces, searches its tape, continues after a handoff, is steered during a turn that Ctrl-C ends,
// and asks subagents.
func TestChat(t *testing.T) {
	t.Parallel()
	c := newTalk(t, script(), 120, "TAPE_MODE=auto")
	c.file("add.sh", "echo $(($1 - $2))\n")
	c.file("test.sh", `test "$(sh add.sh 2 3)" = 5 && echo PASS`+"\n")
	c.start()
	c.Say("fix the sum, gründlich", "▸ fs.edit  add.sh", "- echo $(($1 - $2))", "+ echo $(($1 + $2))", "▸ bash  sh test.sh", "exit 0 · 1 line", "It is fixed, grün.")
	c.Say("print much", "20000 lines", "▸ artifact.read", "I have read a piece.")
	c.Say("look back", "▸ tape.search  grün", "It was there.")
	c.Say(",tape.handoff name=phase-2 summary='the sum is fixed'", "phase-2")
	c.Say("two helpers", "▸ subagent  child two", "the subagent failed", "One of two failed.")
	c.Say("be slow", "word word")
	c.screen.Say("go on", "steers: go on") // answered after the turn if the turn does not read it
	c.Keys("C-c")
	c.Until("interrupted", "Here I am.")
	c.idle()
	c.Keys("C-d")
	c.Until("left 0")
	checkTape(t, c.store)
}

func checkTape(t *testing.T, store *repo.Store) {
	t.Helper()
	all := checkEntries(t, store, "PASS", "gründlich", "phase-2", "The child is done.", "the subagent failed", `"cancelled"`, "Here I am.")
	if strings.Contains(all, "sk-test-") {
		t.Error("the tape contains the API key")
	}
}

// checkEntries checks that the workspace is sound and that the tape has the texts, and returns its lines.
func checkEntries(t *testing.T, store *repo.Store, texts ...string) string {
	t.Helper()
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
	for _, text := range texts {
		if !strings.Contains(all.String(), text) {
			t.Errorf("the tape has no %q", text)
		}
	}
	return all.String()
}
