//go:build unix && extra

package agentstest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tape/cmd/internal/agentstest/model"
	"tape/internal/testkit"
)

// cline continues a session only in a terminal. In these trials, each prompt is a session.
func cline() agent {
	return agent{
		name: "cline", program: "cline", files: found, awake: 6 * time.Second,
		cases: []string{"tools", "long answer", "subagent", "two at once", "agent killed", "full disk", "mcp", "uninstall"},
		env: func(*box) []string {
			return []string{"CLINE_NO_AUTO_UPDATE=1", "CLINE_TELEMETRY_DISABLED=1", "DO_NOT_TRACK=1",
				"CLINE_SESSION_BACKEND_MODE=local"} // otherwise it leaves a server running
		},
		rewrites: ".cline/data/settings/providers.json",
		settings: func(b *box) map[string]string {
			return map[string]string{".cline/data/settings/cli-notices.json": `{"shown": {"cline-cli-cline-pass-intro": true}}`, ".cline/data/settings/providers.json": fmt.Sprintf(`{
  "version": 1,
  "lastUsedProvider": "openai-compatible",
  "modes": {},
  "providers": {"openai-compatible": {
    "settings": {"provider": "openai-compatible", "apiKey": "none", "model": "one", "baseUrl": "%s/v1"},
    "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"
  }}
}
`, b.model.URL)}
		},
		run: func(prompt string, _ bool) []string { return []string{prompt} },
		call: func(c model.Call, _ []model.Item) (string, any) {
			switch c.Tool {
			case model.Shell:
				return "run_commands", args{"commands": []string{c.Arg}}
			case model.Agent:
				return "spawn_agent", args{"systemPrompt": "You count files.", "task": c.Arg}
			}
			return mcp("tape__", c)
		},
		subagent: helper(nil, model.Step{Text: "There are two files."}),
	}
}

// listens waits until the terminal shows what is typed: keys that come too early are lost.
func (s *screen) listens() {
	s.b.t.Helper()
	const typed = "zz"
	for end := time.Now().Add(patience / 4); time.Now().Before(end); testkit.Pause(time.Second) {
		s.tmux("send-keys", "-l", typed)
		testkit.Pause(time.Second)
		if shown := strings.Count(s.tmux("capture-pane", "-p"), typed); shown > 0 {
			for range len(typed) * shown {
				s.tmux("send-keys", "BSpace")
			}
			return
		}
	}
	s.b.fatalf("the terminal shows nothing that is typed")
}

// stopServer kills the server that Cline starts in a terminal and leaves running, and other slow processes of Cline.
func (b *box) stopServer() {
	for range 10 {
		list, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
		for _, file := range list {
			line, err := os.ReadFile(file)
			pid, err2 := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			dir, _ := os.Readlink(filepath.Join(filepath.Dir(file), "cwd"))
			if err == nil && err2 == nil && strings.Contains(string(line), "cline") && (dir == b.project || strings.Contains(string(line), b.project)) {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		}
		testkit.Pause(500 * time.Millisecond)
	}
}

// TestTerminal goes on with a session after its terminal was closed, and takes the last prompt back. Cline can do
// both only in a terminal.
func TestTerminal(t *testing.T) {
	if programs() == "" {
		t.Skip("needs the agents themselves: make test-agents")
	}
	t.Run("cline/terminal", func(t *testing.T) {
		b := newBox(t, cline(), talk(cline()))
		b.install()
		b.inTerminal()
	})
}

func (b *box) inTerminal() {
	b.t.Helper()
	b.t.Cleanup(b.stopServer)
	s := b.open("-i")
	s.waitFor("⏵⏵") // perhaps below an advertisement, which the next key closes
	s.listens()
	for _, turn := range [][2]string{{"say hello", "It said hello-from-tool."}, {"three things", "All three are done."}, {"/compact", "Context compacted"}} {
		s.say(turn[0])
		s.waitFor(turn[1])
	}
	s.tmux("kill-server")
	b.tape("", "record", "sync")
	first := b.tapes("")
	s = b.open("-i", "--id", first[0])
	s.waitFor("All three are done.")
	s.listens()
	s.say("go on now")
	s.waitFor("It goes on.")
	b.proved()
	if anchors := b.tape("", "--tape", first[0], "anchors", "--json"); !strings.Contains(anchors, `"compaction"`) {
		b.fatalf("no anchor is the compaction: %s", anchors)
	}
	s.say("/undo")
	for _, shown := range []string{"Restore to Checkpoint", "Restore chat only", "go on now"} {
		s.waitFor(shown)
		s.tmux("send-keys", "Enter")
	}
	var list []string
	for end := time.Now().Add(soon); time.Now().Before(end); testkit.Pause(300 * time.Millisecond) {
		if list = b.tapes(""); len(list) == 2 && strings.Contains(b.log("", list[1]), `"It goes on."`) {
			break
		}
	}
	b.same()
	if len(list) != 2 || !strings.Contains(b.log("", list[1]), `"forked_from":"`+first[0]+`"`) {
		b.fatalf("after the undo there are the tapes %v, want two, the second forked from %s", list, first[0])
	}
}
