package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A hook's arguments are never options of tape. Outside a repository, a hook fails instead of looking for
// a workspace elsewhere.
func TestHookArguments(t *testing.T) {
	w := newWorkspace(t)
	t.Setenv("GIT_DIR", "")
	t.Chdir(w.dir)
	for _, c := range []struct {
		args, says string
		code       int
	}{
		{"hook", "NAME is missing", exitUsage},
		{"hook frobnicate", `there is no hook "frobnicate"`, exitUsage},
		{"hook pre-receive --help --json --nothing", "", exitOK}, // no refs, no refusal
		{"hook pre-push --all url", "", exitOK},
		{"hook post-checkout 1 2 0", "", exitOK},
	} {
		out, errs, code := w.run("", strings.Fields(c.args)...)
		if code != c.code || out != "" || !strings.Contains(errs, c.says) || c.code == exitOK && errs != "" {
			t.Errorf("tape %s: exit %d, want %d; wrote %q, and on standard error %q, want %q", c.args, code, c.code, out, errs, c.says)
		}
	}
	t.Chdir(filepath.Dir(w.dir))
	for _, name := range []string{"pre-commit", "post-merge", "pre-receive"} {
		if _, errs, code := w.run("", append([]string{"hook"}, strings.Fields(name)...)...); code != exitNotFound || !strings.Contains(errs, "not a git repository") {
			t.Errorf("%s outside a repository: exit %d, want %d: %q", name, code, exitNotFound, errs)
		}
	}
}

// The hook pre-push refuses what it must; a line of git's that is malformed does not refuse a push.
func TestHookPushLines(t *testing.T) {
	w := newWorkspace(t)
	t.Setenv("GIT_DIR", filepath.Join(w.dir, ".git"))
	zero := strings.Repeat("0", 40)
	for _, c := range []struct {
		line, says string
		code       int
	}{
		{"", "", exitOK},
		{"nonsense", "", exitOK},
		{"refs/heads/x " + strings.Repeat("1", 40) + " refs/heads/x " + zero, "could not be searched for secrets", exitConflict},
		{"(delete) " + zero + " refs/heads/fork/main/x " + zero, "", exitOK},
		{"(delete) " + zero + " refs/heads/tape/main " + strings.Repeat("1", 40), "git fetch origin", exitConflict},
		// The local side is as somebody spelt it, spaces included.
		{"tape/main@{1 day ago} " + strings.Repeat("2", 40) + " refs/heads/tape/main " + strings.Repeat("1", 40), "git fetch origin", exitConflict},
		{"refs/heads/tape/main x refs/heads/tape/main y", "read what git pushes", exitFailure},
	} {
		_, errs, code := w.run(c.line+"\n", "hook", "pre-push", "origin", "url")
		if code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%q: exit %d, want %d; said %q, want %q", c.line, code, c.code, errs, c.says)
		}
	}
}

// The merge driver writes the merged entries or, in a conflict, leaves our file as it is.
func TestMergeDriver(t *testing.T) {
	w := newWorkspace(t)
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("GIT_DIR", "")
	line := func(id, text string) string {
		return `{"id":` + id + `,"kind":"message","payload":{"role":"user","content":"` + text + `"},"meta":{},"date":"2026-11-20T09:30:00.000000+00:00"}` + "\n"
	}
	a, b, c, d := line("2", "a"), line("3", "b"), line("3", "c"), line("4", "d")
	for name, v := range map[string]struct {
		base, ours, theirs, want string
		code                     int
		says                     string
	}{
		"nothing new":   {a, a, a, a, exitOK, ""},
		"theirs is new": {a, a, a + c, a + c, exitOK, ""},
		"ours is new":   {a, a + b, a, a + b, exitOK, ""},
		"the same":      {a, a + b, a + b, a + b, exitOK, ""},
		"ours has more": {a, a + b + d, a + b, a + b + d, exitOK, ""},
		"both are new":  {"", b, c, "", exitOK, ""},
		"ours changed":  {a + b, a + c, a + b, a + c, exitConflict, "our side has changed"},
		"theirs edited": {a + b, a + b, a + c + d, a + b, exitConflict, `payload.content: "b" became "c"`},
		"theirs cut":    {a + b, a + b + d, a, a + b + d, exitConflict, "@3 removed"},
	} {
		for file, text := range map[string]string{"base": v.base, "ours": v.ours, "theirs": v.theirs} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, errs, code := w.run("", "merge-driver", "base", "ours", "theirs", "anchors/x/messages.jsonl")
		got, err := os.ReadFile("ours")
		if code != v.code || !strings.Contains(errs, v.says) || strings.Contains(errs, "@4") || err != nil {
			t.Errorf("%s: exit %d, want %d; said %q, want %q (%v)", name, code, v.code, errs, v.says, err)
		}
		if v.want != "" && string(got) != v.want {
			t.Errorf("%s: merged to %q, want %q", name, got, v.want)
		}
		if !strings.HasPrefix(string(got), v.ours) {
			t.Errorf("%s: ours is not a prefix of %q", name, got)
		}
	}
}
