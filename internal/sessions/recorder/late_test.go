package recorder_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/sessions/importer/copilot"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/spool"
)

// TestWrittenLate: Copilot still writes the last turn when its session has ended. A subagent does
// not count as ended while only its beginning is written.
func TestWrittenLate(t *testing.T) {
	const id = "11111111-2222-4333-8444-555555555555"
	w := newWorld(t)
	project := filepath.Join(w.home, "shop")
	var lines []string
	line := func(typ, agent, data string) {
		lines = append(lines, fmt.Sprintf(`{"type":%q%s,"data":%s,"id":"e%d","timestamp":"2026-01-01T00:00:%02d.000Z"}`+"\n", typ, agent, data, len(lines), len(lines)))
	}
	const helper = `,"agentId":"s1"`
	line("session.start", "", fmt.Sprintf(`{"sessionId":%q,"producer":"copilot-agent","copilotVersion":"1.0","context":{"cwd":%q}}`, id, project))
	line("user.message", "", `{"content":"send a helper"}`)
	line("assistant.message", "", `{"messageId":"m1","content":"so","toolRequests":[{"toolCallId":"t1","name":"task","arguments":{"prompt":"count"}}]}`)
	line("user.message", helper, `{"content":"count"}`)
	half := len(lines)
	line("assistant.message", helper, `{"messageId":"m2","content":"two"}`)
	line("subagent.completed", helper, `{"toolCallId":"t1"}`)
	line("tool.execution_complete", "", `{"toolCallId":"t1","success":true,"result":{"content":"two"}}`)
	line("assistant.message", "", `{"messageId":"m3","content":"There are two."}`)

	file := filepath.Join(w.home, ".copilot", "session-state", id, "events.jsonl")
	write := func(n int) {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.Join(lines[:n], "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(half)
	// Each reading of the clock advances it.
	start := time.Now()
	at := start
	w.Now = func() time.Time {
		if at = at.Add(20 * time.Millisecond); at.Sub(start) > 700*time.Millisecond {
			write(len(lines))
		}
		return at
	}
	told := copilot.Format.Agent.TranslateInput(fmt.Appendf(nil, `{"sessionId":%q,"cwd":%q,"reason":"complete"}`, id, project), record.Where{Home: w.home, Getenv: func(string) string { return "" }})
	if err := spool.Add(w.FS, w.Places, spool.Note{Agent: copilot.Format.Name, At: start, Payload: told}); err != nil {
		t.Fatal(err)
	}
	w.run()
	same(t, tapes(t, w.workspaces(1)[0]), tapes(t, imported(t, []string{file})))
}
