package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestPick chooses a session on a pseudo-terminal, in the list that tape without arguments shows. It waits only for
// texts that are drawn in one piece, because when a screen changes, only the different characters are drawn.
func TestPick(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("needs the program script, for a terminal")
	}
	dir := t.TempDir()
	env := append(os.Environ(), "HOME="+dir, "TAPE_HOME="+dir+"/tapes", "TAPE_WORKSPACE="+dir+"/ws", "TERM=xterm-256color", "TAPE_PAGER=cat", "NO_COLOR=1", "LC_ALL=C.UTF-8")
	run := func(args ...string) {
		cmd := exec.Command("tape", args...)
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("tape %v: %v\n%s", args, err, out)
		}
	}
	run("init", dir+"/ws")
	run("append", "--role", "user", "--text", "why does the cart test fail?")
	run("new", "other")
	run("--tape", "other", "append", "--role", "user", "--text", "add a health check")

	// pick presses keys, each when its text is on the screen, and returns the output after the last key.
	pick := func(steps ...[2]string) string {
		cmd := exec.CommandContext(t.Context(), "script", "-qec", "stty cols 80 rows 24; tape", "/dev/null")
		cmd.Env, cmd.Dir = env, dir
		keys, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var screen bytes.Buffer
		from := bufio.NewReader(out)
		for _, step := range steps {
			for !strings.Contains(screen.String(), step[0]) {
				c, err := from.ReadByte()
				if err != nil {
					t.Fatalf("there is no %q on the screen: %q", step[0], screen.String())
				}
				screen.WriteByte(c)
			}
			screen.Reset()
			if _, err := io.WriteString(keys, step[1]); err != nil {
				t.Fatal(err)
			}
		}
		rest, _ := io.ReadAll(from) // ends with an error when the terminal closes
		keys.Close()
		_ = cmd.Wait() // of script
		return string(rest)
	}
	if s := pick([2]string{"add a health check", "fail"}, [2]string{"1 of ", "\r"}); !strings.Contains(s, "@2  why does the cart test fail?") {
		t.Errorf("after enter, want the log, got\n%q", s)
	}
	if s := pick([2]string{"add a health check", "c"}, [2]string{"cannot", "\x1b"}); strings.Contains(s, "@2") {
		t.Errorf("after escape, want no log, got\n%q", s)
	}
}
