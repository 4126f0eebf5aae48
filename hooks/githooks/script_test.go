package githooks

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// shell runs a hook with a PATH that has only a few tools and a script tape with the content program; no tape
// if program is "".
func shell(t *testing.T, hook, program, stdin string, args ...string) (out, errs string, code int) {
	t.Helper()
	bin := t.TempDir()
	for _, tool := range []string{"cat", "sh"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Skip(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	if program != "" {
		put(t, filepath.Join(bin, "tape"), program, 0o755)
	}
	cmd := exec.Command(hook, args...)
	cmd.Env = []string{"PATH=" + bin}
	cmd.Stdin = strings.NewReader(stdin)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// Exit code 4 refuses if the hook may refuse. After any other code git goes on, and a failure prints one line.
func TestExitCodes(t *testing.T) {
	needsShell(t)
	store := newStore(t)
	mustInstall(t, store)
	for _, c := range []struct {
		hook, program string
		refused       bool
		says          string
		lines         int
	}{
		{"pre-commit", "", false, "no program tape", 1},
		{"pre-push", "", false, "the push was not checked", 1},
		{"post-merge", "", false, "", 0},
		{"pre-commit", "exit 0", false, "", 0},
		{"pre-push", "echo by the way >&2", false, "by the way", 1},
		{"pre-commit", "echo 'tape: error: no'; echo 'tape: hint: so'; exit 4", true, "tape: error: no\ntape: hint: so\n", 2},
		{"pre-push", "echo no >&2; exit 4", true, "no", 1},
		{"post-commit", "echo 'tape: error: no' >&2; echo 'tape: hint: so'; exit 4", false, "tape: error: no\ntape: hint: so\n", 2},
		{"pre-commit", "echo 'tape: error: there is no command \"hook\"'; echo 'tape: hint: x'; exit 2", false, "(there is no command \"hook\")", 1},
		{"pre-commit", "exit 1", false, "exit code 1: the commit was not checked", 1},
		{"pre-commit", "printf '%s\\n' 'panic: a\\b%s' '' 'goroutine 1'; exit 2", false, `(panic: a\b%s)`, 1},
		{"post-checkout", "echo panic: x; echo goroutine; exit 2", false, "exit code 2 (panic: x)", 1},
		{"post-rewrite", "exit 137", false, "exit code 137", 1},
		{"pre-push", "exit 137", false, "exit code 137", 1},
	} {
		program := c.program
		if program != "" {
			program = "#!/bin/sh\n" + program + "\n"
		}
		out, errs, code := shell(t, filepath.Join(hooksOf(store), c.hook), program, "line\n", "a")
		if code != 0 != c.refused || out != "" || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") != c.lines {
			t.Errorf("%s with %q: exit %d, %q, %q; want refused %v, and %d lines with %q", c.hook, c.program, code, out, errs, c.refused, c.lines, c.says)
		}
	}
}

// A user's own hook is called first, with the same arguments and standard input; if it refuses,
// tape is not called.
func TestOwnHookFirst(t *testing.T) {
	needsShell(t)
	input := "refs/heads/a 1 refs/heads/b 2\nsecond line\n\n"
	for _, hook := range []string{"pre-commit", "pre-push", "post-merge"} {
		for _, status := range []int{0, 3} {
			store := newStore(t)
			log := filepath.Join(t.TempDir(), "log")
			put(t, filepath.Join(hooksOf(store), hook), "#!/bin/sh\n{ echo own \"$@\"; cat; } >>"+log+"\nexit "+strconv.Itoa(status)+"\n", 0o755)
			mustInstall(t, store)
			program := "#!/bin/sh\n{ echo tape \"$@\"; cat; } >>" + log + "\n"
			_, errs, code := shell(t, filepath.Join(hooksOf(store), hook), program, input, "x y", "z")
			if code != status || errs != "" {
				t.Errorf("%s: exit %d, %q; want exit %d and no errors", hook, code, errs, status)
			}
			want := "own x y z\n" + input
			if status == 0 || hook == "post-merge" {
				want += "tape hook " + hook + " x y z\n"
				if hook == "pre-push" {
					want += input
				}
			}
			got, err := os.ReadFile(log)
			if string(got) != want || err != nil {
				t.Errorf("%s: the calls were %q (%v), want %q", hook, got, err, want)
			}
		}
	}
}

// A user's hook need not read its standard input, even if that is long; tape still gets all of it.
func TestOwnHookReadsNothing(t *testing.T) {
	needsShell(t)
	store := newStore(t)
	put(t, filepath.Join(hooksOf(store), "pre-push"), "#!/bin/sh\nexit 0\n", 0o755)
	mustInstall(t, store)
	input := strings.Repeat("refs/heads/a 1 refs/heads/b 2\n", 20_000)
	path := filepath.Join(t.TempDir(), "got")
	_, errs, code := shell(t, filepath.Join(hooksOf(store), "pre-push"), "#!/bin/sh\ncat >"+path+"\n", input)
	got, err := os.ReadFile(path)
	if code != 0 || errs != "" || string(got) != input || err != nil {
		t.Errorf("exit %d, %q, tape read %d bytes of %d, %v; want exit 0 and all bytes", code, errs, len(got), len(input), err)
	}
}
