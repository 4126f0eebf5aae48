//go:build unix

package tools

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tape/hooks"
	"tape/internal/testkit"
)

func TestBash(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	e.put("sub/a.txt", "x")
	if out := e.must("bash", `{"cmd":"pwd; echo err >&2"}`); out != e.dir+"\nerr" {
		t.Errorf("the output is %q, not the folder and err", out)
	}
	contains(t, e.must("bash", `{"cmd":"ls","cwd":"sub"}`), "a.txt")
	if out := e.must("bash", `{"cmd":"true"}`); out != "(no output)" {
		t.Errorf("a command without output gives %q", out)
	}
	e.fails("bash", `{"cmd":"echo before; exit 3"}`, "exit code 3", "before")
	e.fails("bash", `{"cmd":"kill -9 $$"}`, "signal: killed")
	e.fails("bash", `{"cmd":"ls","cwd":"nowhere"}`, "nowhere")
	e.fails("bash", obj("cmd", "echo a\x00b"), "NUL")
	// Commands get no input: nobody could answer.
	if out := e.must("bash", `{"cmd":"cat; (read x </dev/tty) 2>/dev/null || echo no terminal"}`); out != "no terminal" {
		t.Errorf("a command has input or a terminal: %q", out)
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !regexp.MustCompile(`\) [ZX]`).Match(stat)
}

func pidIn(t *testing.T, text string) int {
	t.Helper()
	m := regexp.MustCompile(`pid=(\d+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no pid in %q", text)
	}
	pid, _ := strconv.Atoi(m[1])
	return pid
}

// What a command starts ends with it: at its end, at a timeout, or with the turn.
func TestBashLeavesNothing(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	pid := pidIn(t, e.must("bash", `{"cmd":"sleep 1000 & echo pid=$!"}`))
	eventually(t, "what was left ends", func() bool { return !alive(pid) })
	text := e.fails("bash", `{"cmd":"trap '' TERM; sleep 1000 & echo pid=$!; wait","timeout_seconds":1}`, "ended after 1s", "background=true")
	eventually(t, "a time-out ends it", func() bool { return !alive(pidIn(t, text)) })

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		testkit.Eventually(func() bool { return strings.Contains(readFile(e.dir+"/pid"), "pid=") })
		cancel()
	}()
	if _, err := e.callIn(ctx, "s", "bash", `{"cmd":"echo begun; sleep 1000 & echo pid=$! > pid; wait"}`); err == nil ||
		!strings.HasPrefix(err.Error(), "interrupted after") || !strings.HasSuffix(err.Error(), "output:\nbegun") {
		t.Errorf("a turn that ends returns %v, want an error with the output", err)
	}
	eventually(t, "the turn's end ends it", func() bool { return !alive(pidIn(t, e.got("pid"))) })
	// A daemon may go on, and nobody waits for it to close the output.
	pid = pidIn(t, e.must("bash", `{"cmd":"setsid sh -c 'echo pid=$$; exec sleep 1000' & sleep 0.3"}`))
	if !alive(pid) {
		t.Error("a daemon ended")
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func readFile(name string) string {
	b, _ := os.ReadFile(name) // a file that is not there yet is empty
	return string(b)
}

func TestBackground(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	out := e.must("bash", `{"cmd":"echo pid=$$; echo ä; read x < go; echo done; exit 4","background":true}`)
	id := regexp.MustCompile(`bash-\w+`).FindString(out)
	eventually(t, "it writes", func() bool { return strings.Contains(e.must("bash.output", obj("shell_id", id)), "pid=") })
	eventually(t, "it ends, because a file is missing", func() bool {
		return strings.Contains(e.must("bash.output", obj("shell_id", id)), "exit_code: 4")
	})
	whole := e.must("bash.output", obj("shell_id", id))
	contains(t, whole, "status: exited", "ä\n", "done")
	next := regexp.MustCompile(`next_offset: (\d+)`).FindStringSubmatch(whole)[1]
	contains(t, e.must("bash.output", `{"shell_id":"`+id+`","offset":`+next+`}`), "(no output)", "next_offset: "+next)
	contains(t, e.must("bash.output", `{"shell_id":"`+id+`","offset":99999999}`), "(no output)", "next_offset: "+next)

	id = regexp.MustCompile(`bash-\w+`).FindString(e.must("bash", `{"cmd":"echo pid=$$; sleep 1000","background":true}`))
	eventually(t, "it writes", func() bool { return strings.Contains(e.must("bash.output", obj("shell_id", id)), "pid=") })
	pid := pidIn(t, e.must("bash.output", obj("shell_id", id)))
	if _, err := e.callIn(t.Context(), "another", "bash.output", obj("shell_id", id)); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("another session reads it: %v", err)
	}
	e.fails("bash.kill", `{"shell_id":"bash-none"}`, id)
	contains(t, e.must("bash.kill", obj("shell_id", id)), "status: exited", "terminated")
	contains(t, e.must("bash.kill", obj("shell_id", id)), "status: exited")
	if alive(pid) {
		t.Error("the command still runs after bash.kill")
	}
}

func TestStopAndClose(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	start := func(session string) int {
		name := "pid-" + session
		if _, err := e.callIn(t.Context(), session, "bash", obj("cmd", "sleep 1000 & echo pid=$! > "+name+"; wait", "background", true)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it runs", func() bool { return strings.Contains(readFile(e.dir+"/"+name), "pid=") })
		return pidIn(t, e.got(name))
	}
	a, b := start("a"), start("b")
	e.Stop("a")
	eventually(t, "a ends", func() bool { return !alive(a) })
	if !alive(b) {
		t.Error("b ended with a")
	}
	e.Close()
	eventually(t, "b ends", func() bool { return !alive(b) })
}

func TestTooManyInBackground(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	for range maxRunning {
		e.must("bash", `{"cmd":"sleep 1000","background":true}`)
	}
	e.fails("bash", `{"cmd":"sleep 1000","background":true}`, "bash.kill")
}

// Of the commands that have ended, each session keeps its newest ones.
func TestEndedInBackground(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	run := func(session, cmd string) (id string) {
		out, err := e.callIn(t.Context(), session, "bash", obj("cmd", cmd, "background", true))
		if err != nil {
			t.Fatal(err)
		}
		id = regexp.MustCompile(`bash-\w+`).FindString(out)
		eventually(t, "it ends", func() bool {
			out, err = e.callIn(t.Context(), session, "bash.output", obj("shell_id", id))
			return err == nil && strings.Contains(out, "exited")
		})
		return id
	}
	mine, oldest := run("s", "echo mine"), run("another", "true")
	for range maxEnded + 1 { // one more than is kept: the last one ends only after the others were counted
		run("another", "true")
	}
	contains(t, e.must("bash.output", obj("shell_id", mine)), "mine")
	if _, err := e.callIn(t.Context(), "another", "bash.output", obj("shell_id", oldest)); err == nil {
		t.Errorf("the oldest of %d is still kept", maxEnded+2)
	}
}

// hostThatIsKilled is a host with a command in the foreground and one in the background.
func hostThatIsKilled() {
	s := New(Options{Dir: os.Args[1]})
	bash, _ := Find(s.All(context.Background()), "bash")
	for _, args := range []string{`{"cmd":"sleep 1000 & echo pid=$!; wait","background":true}`, `{"cmd":"trap '' TERM; echo pid=$$ > pid; sleep 1000"}`} {
		if _, err := bash.Run(context.Background(), hooks.ToolContext{}, []byte(args)); err != nil {
			fmt.Println(err)
		}
		for id := range s.shells.all {
			testkit.Eventually(func() bool {
				text, _ := s.shells.all[id].out.from(0, 100)
				fmt.Print(text)
				return text != ""
			})
		}
	}
}

// Commands end even if the host is killed.
func TestHostKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), helper+"=host")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other one runs", func() bool { return strings.Contains(readFile(dir+"/pid"), "pid=") })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for _, pid := range []int{pidIn(t, line), pidIn(t, readFile(dir+"/pid"))} {
		eventually(t, "it ends", func() bool { return !alive(pid) })
	}
}

// Of very long output, the beginning and the end are kept.
func TestEndlessOutput(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	text := e.must("bash", `{"cmd":"echo first; yes | head -c 40000000; echo ä"}`)
	contains(t, text, "first", "bytes were not kept")
	if len(text) > 4*keptEach || !strings.HasSuffix(text, "ä") {
		t.Errorf("%d bytes are kept, or the end is missing", len(text))
	}
	if text := e.fails("bash", `{"cmd":"yes","timeout_seconds":1}`, "ended after 1s"); len(text) > 4*keptEach {
		t.Errorf("%d bytes are kept", len(text))
	}
}

func TestOutputPieces(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("aä€😀\n", 1000)
	for _, step := range []int{4, 5, 7, 100, 1 << 20} {
		var o output
		_, _ = o.Write([]byte(want))
		var got strings.Builder
		for at := int64(0); at < int64(len(want)); {
			text, next := o.from(at, step)
			if next <= at {
				t.Fatalf("step %d stays at %d", step, at)
			}
			got.WriteString(text)
			at = next
		}
		if got.String() != want {
			t.Errorf("step %d: %d bytes, not %d", step, got.Len(), len(want))
		}
	}
	var o output
	for range 40 {
		_, _ = o.Write(make([]byte, 1<<20))
	}
	_, _ = o.Write([]byte("end"))
	text, next := o.from(keptEach+5, 100)
	contains(t, text, "bytes were not kept")
	if tail, _ := o.from(next, 100<<20); !strings.HasSuffix(tail, "end") || next < 20<<20 {
		t.Errorf("after the gap, output goes on at %d, or its end is missing", next)
	}
}

// Commands do not see the keys of providers.
func TestEnvironment(t *testing.T) {
	for name, value := range map[string]string{"OPENAI_API_KEY": "sk-abcdefghijkl", "anthropic_api_key": "x", "ANTHROPIC_AUTH_TOKEN": "x",
		"TAPE_TELEGRAM_TOKEN": "x", "TELEGRAM_BOT_TOKEN": "x", "OTHER": "Bearer very-secret-key-42", "HARMLESS": "stays",
		"GITHUB_TOKEN": "x", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "DATABASE_URL": "postgres://u:TOKEN@h/d",
		"NPM_TOKEN": "wanted", "SSH_AUTH_SOCK": "/run/agent", "MAX_TOKENS": "5"} {
		t.Setenv(name, value)
	}
	e := newEnv(t, func(o *Options) {
		o.Keys, o.CommandEnv = []string{"very-secret-key-42", "short", ""}, []string{"NPM_TOKEN"}
	})
	out := e.must("bash", `{"cmd":"env"}`)
	contains(t, out, "HARMLESS=stays", "PATH=", "NPM_TOKEN=wanted", "SSH_AUTH_SOCK=/run/agent", "MAX_TOKENS=5")
	for _, gone := range []string{"API_KEY", "api_key", "TOKEN=x", "OTHER", "very-secret", "AWS_ACCESS", "AWS_SECRET", "DATABASE_URL"} {
		if strings.Contains(out, gone) {
			t.Errorf("the environment of commands has %s", gone)
		}
	}
	// A key that a command reads from a file is masked, too.
	if text, _ := e.Keep(t.Context(), hooks.ToolContext{}, "bash", `a file: "very-secret-key-42"`); strings.Contains(text, "very-secret") || !strings.Contains(text, "[redacted:") {
		t.Errorf("a key that a command printed is not masked: %s", text)
	}
}

func BenchmarkBash(b *testing.B) {
	s := New(Options{Dir: b.TempDir()})
	defer s.Close()
	bash, _ := Find(s.All(b.Context()), "bash")
	for b.Loop() {
		if _, err := bash.Run(b.Context(), hooks.ToolContext{}, []byte(`{"cmd":"true"}`)); err != nil {
			b.Fatal(err)
		}
	}
}

// Before a command ends, the last bytes that it wrote are shown, in whole characters.
func TestBashShowsOutput(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	e.put("wait", "")
	var shown string
	c := hooks.ToolContext{Session: "s", Output: func(end string, _ int64) {
		if shown = end; strings.HasSuffix(end, "ü5000\n") { // the command ends when the file is gone
			_ = os.Remove(filepath.Join(e.dir, "wait"))
		}
	}}
	tool, _ := Find(e.All(t.Context()), "bash")
	if _, err := tool.Run(t.Context(), c, []byte(`{"cmd":"for i in $(seq 5000); do echo ü$i; done; while [ -e wait ]; do sleep 0.01; done"}`)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(shown, "ü5000\n") || len(shown) > shownEnd || strings.Contains(shown, "\uFFFD") {
		t.Errorf("what is shown should end with ü5000, in at most %d bytes: %q", shownEnd, shown)
	}
}
