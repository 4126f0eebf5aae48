//go:build unix

package hostcli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tape/cmd/internal/agentstest/model"
	"tape/internal/testkit"
)

// twoSteps is a model that says something before it calls a tool, and after that.
func twoSteps() model.Script {
	return model.Script{"work": {{Text: "First I look.", Calls: []model.Call{tool("bash", `{"cmd":"echo seen"}`)}}, {Text: "That was all."}}}
}

// program returns tape-host in the project, without a terminal, and what it will print.
func (c *talk) program(stdin string, arg ...string) (*exec.Cmd, *bytes.Buffer) {
	out := &bytes.Buffer{}
	cmd := exec.CommandContext(c.t.Context(), c.options.Argv[0], arg...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.project, append(os.Environ(), c.options.Env...), strings.NewReader(stdin)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// hold begins a turn of a session in another process. letGo ends the turn.
func (c *talk) hold(session string) (letGo func()) {
	c.t.Helper()
	cmd, out := c.program("", "run", "--mode", "auto", "--session-id", session, ",touch began; while [ ! -e go ]; do sleep 0.02; done")
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	letGo = sync.OnceFunc(func() {
		c.file("go", "")
		if err := cmd.Wait(); err != nil {
			c.t.Errorf("%v: %s", err, out)
		}
	})
	c.t.Cleanup(letGo)
	if !testkit.Eventually(func() bool { _, err := os.Stat(filepath.Join(c.project, "began")); return err == nil }) {
		c.t.Fatal("the turn has not begun")
	}
	return letGo
}

// TestRunInPipe: tape run prints only the final answer; with --stream, the text of each step in a paragraph of its own.
func TestRunInPipe(t *testing.T) {
	t.Parallel()
	c := newTalk(t, twoSteps(), 80)
	for want, arg := range map[string][]string{"That was all.\n": nil, "First I look.\n\nThat was all.\n": {"--stream"}} {
		cmd, out := c.program("", append([]string{"run", "--mode", "auto", "--session-id", fmt.Sprint(len(arg)), "work"}, arg...)...)
		if err := cmd.Run(); err != nil || out.String() != want {
			t.Errorf("run %v: %v, %q, want %q", arg, err, out, want)
		}
	}
}

// TestChatDoesNotWait: with --no-wait, a chat refuses a message while another process has a turn, and answers one
// after that turn.
func TestChatDoesNotWait(t *testing.T) {
	t.Parallel()
	c := newTalk(t, nil, 80)
	letGo := c.hold("s")
	cmd, out := c.program(",echo hello\n", "chat", "--mode", "auto", "--session-id", "s", "--no-wait")
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "session s: another process has a turn") || strings.Contains(out.String(), "hello\n") {
		t.Errorf("%v: %s", err, out)
	}
	letGo()
	cmd, out = c.program(",echo hello\n", "chat", "--mode", "auto", "--session-id", "s", "--no-wait")
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "hello\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// bot is a stub of Telegram's Bot API, enough for a private chat.
type bot struct {
	arrived chan bool // ends a poll that waits

	mu      sync.Mutex
	updates []string // with their numbers from 1 on
	sent    []string
}

func (b *bot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var args struct {
		Offset int
		Text   string
	}
	_ = json.NewDecoder(r.Body).Decode(&args) // a request without arguments has no body
	b.mu.Lock()
	defer b.mu.Unlock()
	result := "true"
	switch filepath.Base(r.URL.Path) {
	case "getMe":
		result = `{"id":1,"is_bot":true,"first_name":"Bot","username":"bot"}`
	case "getUpdates":
		result = "[" + strings.Join(b.updates[min(max(0, args.Offset-1), len(b.updates)):], ",") + "]"
		if result == "[]" {
			b.mu.Unlock()
			select {
			case <-b.arrived:
			case <-r.Context().Done():
			}
			b.mu.Lock()
		}
	case "sendMessage":
		b.sent = append(b.sent, args.Text)
		result = fmt.Sprintf(`{"message_id":%d,"date":1,"chat":{"id":7,"type":"private"}}`, 1000+len(b.sent))
	}
	_, _ = fmt.Fprintf(w, `{"ok":true,"result":%s}`, result)
}

func (b *bot) say(text string) {
	defer func() { b.arrived <- true }()
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.updates) + 1
	b.updates = append(b.updates, fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"date":1700000000,"from":{"id":7,"first_name":"Ann"},"chat":{"id":7,"type":"private"},"text":%q}}`, n, n, text))
}

func (b *bot) has(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Contains(strings.Join(b.sent, "\x00"), text)
}

// TestGateway: in Telegram, the text of each step is a paragraph of its own; with --no-wait, the sender is told that
// another process has a turn.
func TestGateway(t *testing.T) {
	c := newTalk(t, twoSteps(), 80, "TAPE_TELEGRAM_TOKEN=1:abcdefghijklmnopqrstuvwxyz0123456789")
	b := &bot{arrived: make(chan bool, 10)}
	server := httptest.NewServer(b)
	defer server.Close()
	for _, v := range c.options.Env {
		if home, ok := strings.CutPrefix(v, "TAPE_HOME="); ok {
			t.Setenv("TAPE_HOME", home)
		}
	}
	if err := c.store.SetSetting("telegram", `{"allow_users":["7"],"base_url":"`+server.URL+`"}`); err != nil {
		t.Fatal(err)
	}
	cmd, out := c.program("", "gateway", "--mode", "auto", "--no-wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // out has what it printed
		if t.Failed() {
			t.Logf("%s\nsent %q", out, b.sent)
		}
	}()
	b.say("work")
	if !testkit.Eventually(func() bool { return b.has("First I look.\n\nThat was all.") }) {
		t.Fatal("the texts of the two steps are not separated")
	}
	letGo := c.hold("telegram:7")
	b.say("work")
	if !testkit.Eventually(func() bool { return b.has("another process has a turn") }) {
		t.Error("the sender is not told that another process has a turn")
	}
	letGo()
}
