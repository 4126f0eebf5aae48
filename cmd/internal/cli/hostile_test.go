//go:build unix

package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/internal/testkit/hostile"
)

// healthyRemote is a bare repository of a tape with two handoffs and a fork.
func healthyRemote(t *testing.T) string {
	t.Helper()
	w := newWorkspace(t)
	say := func(text string, more ...string) {
		w.must(append([]string{"append", "--kind", "message", "--role", "user", "--text", text}, more...)...)
	}
	say("one")
	w.must("handoff", "second")
	say("two")
	w.must("handoff", "third")
	say("three")
	w.must("fork", "try")
	say("tried", "--tape", "main/try")
	w.must("commit")
	w.must("commit", "--tape", "main/try")
	dir := filepath.Join(t.TempDir(), "good.git")
	gitIn(t, w.dir, "clone", "-q", "--mirror", "--no-hardlinks", ".", dir)
	return dir
}

func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// Whatever a remote makes up, people and scripts are told so: a tape that is rejected is
// exit code 4, what is refused as a whole is 6, with the thing, the remote, and a way out.
func TestHostileExitCodes(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	good := healthyRemote(t)
	knows := filepath.Join(t.TempDir(), "knows")
	(&sandbox{t, knows}).must("clone", good, knows)
	every := testkit.Size(7, 1)
	for i, k := range hostile.Cases() {
		if k.Unsent || i%every != 0 {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			evil := filepath.Join(t.TempDir(), "evil.git")
			k.Build(t, evil, good)
			for j, op := range []string{"clone", "fetch", "pull"} {
				// All at length; else each in its turn.
				if (testkit.Soak() || i/every%3 == j) && !(op == "clone" && k.OnlyThen) {
					hostileCase(t, k, evil, knows, op)
				}
			}
		})
	}
}

func hostileCase(t *testing.T, k hostile.Case, evil, knows, op string) {
	t.Helper()
	told, code := meet(t, evil, knows, op)
	tape, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(k.Ref, "refs/heads/"), "refs/tags/anchor/"), "tape/"), "/")
	switch {
	case k.Want == "":
		if code != exitOK {
			t.Errorf("%s of a harmless remote: exit code %d: %+v", op, code, told)
		}
	case code == exitConflict && told.Code == "conflict":
		if !strings.Contains(told.Message, "was rejected: ") || !strings.Contains(told.Message, tape) {
			t.Errorf("%s does not say what was rejected: %+v", op, told)
		}
	case code == exitCorrupt && told.Code == "corrupt":
		if !strings.Contains(told.Message, map[bool]string{true: evil, false: "origin"}[op == "clone"]) {
			t.Errorf("%s does not say which remote it was: %+v", op, told)
		}
	default:
		t.Errorf("%s: exit code %d: %+v", op, code, told)
	}
	if code != exitOK && told.Hint == "" {
		t.Errorf("%s: no way out: %+v", op, told)
	}
}

// toldError is an error as programs are told.
type toldError struct{ Code, Message, Hint string }

// meet runs a command that meets with a remote, and returns the error that it told.
func meet(t *testing.T, remote, knows, op string) (told toldError, code int) {
	t.Helper()
	w := &sandbox{t, filepath.Join(t.TempDir(), "ws")}
	args := []string{"--json", op}
	if op == "clone" {
		args = append(args, remote, w.dir)
	} else {
		if err := os.CopyFS(w.dir, os.DirFS(knows)); err != nil {
			t.Fatal(err)
		}
		gitIn(t, w.dir, "config", "remote.origin.url", remote)
	}
	_, errs, code := w.run("", args...)
	if code == exitOK {
		return told, code
	}
	lines := strings.Split(strings.TrimSpace(errs), "\n")
	var out struct{ Error toldError }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &out); err != nil {
		t.Fatalf("%s: %v in %q", op, err, errs)
	}
	if _, err := os.Lstat(w.dir); op == "clone" && code == exitCorrupt && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a clone that was refused left something: %v", err)
	}
	return out.Error, code
}
