package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/testkit"
)

// TestRecordKilled kills hooks and record sync at random moments. The last ones record all entries, each once.
func TestRecordKilled(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "s.jsonl")
	env := append(os.Environ(), "HOME="+home, "TAPE_HOME="+filepath.Join(home, "tapes"), "XDG_RUNTIME_DIR="+home, "TAPE_AUTHOR=Ada <ada@example.org>")
	tape := func(stdin string, args ...string) *exec.Cmd {
		cmd := exec.Command("tape", args...)
		cmd.Dir, cmd.Env, cmd.Stdin = home, env, strings.NewReader(stdin)
		return cmd
	}
	payload := fmt.Sprintf(`{"session_id":"s","transcript_path":%q,"cwd":%q,"hook_event_name":"UserPromptSubmit"}`, file, home)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const rounds = 40
	parent := "null"
	for i := range rounds {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(f, `{"parentUuid":%s,"isSidechain":false,"type":"user","uuid":"u%d","sessionId":"s","cwd":%q,"timestamp":"2026-11-22T09:00:%02d.000Z","message":{"role":"user","content":"prompt %d."}}`+"\n",
			parent, i, home, i, i)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		parent = fmt.Sprintf(`"u%d"`, i)
		for _, args := range [][]string{{"hook", "claude-code"}, {"record", "sync"}} {
			cmd := tape(payload, args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			testkit.AtSomeTime(random, 12*time.Millisecond)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	end := strings.Replace(payload, "UserPromptSubmit", "SessionEnd", 1) // before this event, the recorder waits for an answer
	if out, err := tape(end, "hook", "claude-code").CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := tape("", "record", "sync").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := tape("", "--tape", "s", "log", "--all", "--kind", "message", "--json").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i := range rounds {
		if n := bytes.Count(out, fmt.Appendf(nil, `"prompt %d."`, i)); n != 1 {
			t.Errorf("prompt %d is recorded %d times, want once", i, n)
		}
	}
	if out, err := tape("", "verify").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
