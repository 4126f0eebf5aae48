//go:build unix && extra

package agentstest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tape/internal/testkit"
)

// screen runs a program in a terminal of tmux.
type screen struct {
	b      *box
	socket string
}

// open starts the agent in a terminal.
func (b *box) open(arg ...string) *screen {
	b.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		b.skip("the terminal needs tmux, which is not installed")
	}
	s := &screen{b: b, socket: filepath.Join(filepath.Dir(b.home), "tmux")}
	s.tmux(append([]string{"-f", "/dev/null", "new-session", "-d", "-x", "140", "-y", "50", b.agent.path()}, arg...)...)
	b.t.Cleanup(func() { _ = exec.Command("tmux", "-S", s.socket, "kill-server").Run() }) // it ends with the agent, too
	return s
}

func (s *screen) tmux(arg ...string) string {
	s.b.t.Helper()
	return s.b.command("tmux", append([]string{"-S", s.socket}, arg...)...)
}

// waitFor waits until the screen shows a text.
func (s *screen) waitFor(text string) {
	s.b.t.Helper()
	var shown string
	for end := time.Now().Add(patience / 4); time.Now().Before(end); testkit.Pause(200 * time.Millisecond) {
		if shown = s.tmux("capture-pane", "-p"); strings.Contains(shown, text) {
			testkit.Pause(time.Second) // the program may draw before it reads keys
			return
		}
	}
	s.b.fatalf("the terminal never shows %q, but\n%s", text, strings.TrimSpace(shown))
}

// say types a line.
func (s *screen) say(line string) {
	s.b.t.Helper()
	s.tmux("send-keys", "-l", line)
	testkit.Pause(500 * time.Millisecond) // sent at once, Enter would be taken for part of a pasted text
	s.tmux("send-keys", "Enter")
}

// review approves the hooks as a person does. Without that, Codex does not run them.
func (b *box) review() {
	if b.agent.name != "codex" {
		b.skip("only Codex asks")
	}
	if status := b.status(); !strings.Contains(status, `"not_trusted"`) {
		b.fatalf("before the approval, status does not say not_trusted: %s", status)
	}
	s := b.open("--no-daemon")
	s.waitFor("Trust all and continue")
	s.say("2")
	s.waitFor("Ask Codex to do anything")
	s.say("say hello")
	s.waitFor("It said hello-from-tool.")
	s.say("/quit")
	b.proved()
	b.command(b.agent.path(), "exec", "three things")
	b.proved()
	if status := b.status(); strings.Contains(status, `"not_trusted"`) {
		b.fatalf("after the approval, status still says not_trusted: %s", status)
	}
}
