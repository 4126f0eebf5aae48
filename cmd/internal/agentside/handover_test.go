package agentside

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/about"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// goOn runs tape resume --print, or --json, on a session of two messages, on a machine that has Codex.
func goOn(t *testing.T, in Target, asJSON bool) (out string, home string, err error) {
	t.Helper()
	home = t.TempDir()
	bin := storetest.Mkdir(t, home, "bin")
	storetest.WriteFile(t, filepath.Join(bin, "codex"), []byte("#!/bin/sh\nexit 1\n"))
	storetest.Must(t, os.Chmod(filepath.Join(bin, "codex"), 0o700))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Chdir(t.TempDir())
	tp := storetest.Tape(t, storetest.New(t, nil), "main")
	storetest.Append(t, tp, repo.Message("user", "add a menu"), repo.Message("assistant", "It has tea."))
	var b bytes.Buffer
	s := &stdio.Streams{Stdin: strings.NewReader(""), Stdout: &b, Stderr: &b, Out: bufio.NewWriter(&b), Getenv: func(string) string { return "" }, Now: time.Now, JSON: asJSON}
	facts := func(context.Context, *repo.Tape) (about.Tape, error) { return about.Tape{}, nil }
	brief := func(context.Context, *repo.Tape) (string, error) { return "the page\n", nil }
	_, err = Continue(t.Context(), s, tp, record.Where{Home: home, Getenv: s.Getenv}, in, !asJSON, facts, brief)
	storetest.Must(t, s.Flush())
	return b.String(), home, err
}

// If no agent on this machine has the session, a page for another agent is printed.
func TestPage(t *testing.T) {
	out, _, err := goOn(t, Target{}, false)
	if err != nil || !strings.Contains(out, "the session cannot go on here") || !strings.HasSuffix(out, "the page\n") {
		t.Errorf("it does not print the page: %v\n%s", err, out)
	}
}

// With --print nothing is written: the command that is shown does it.
func TestOnlyShown(t *testing.T) {
	out, home, err := goOn(t, Target{Agent: "codex"}, false)
	storetest.Must(t, err)
	if !strings.Contains(out, "nothing is written yet; the command writes a session of Codex with 2 messages and 0 calls") || !strings.Contains(out, " resume main --in codex\n") {
		t.Errorf("it says %q", out)
	}
	if _, err := os.Stat(filepath.Join(home, ".codex")); err == nil {
		t.Error("it has written something")
	}
}

// The session is written as a file of the other agent, and the command resumes that file's session.
func TestElsewhere(t *testing.T) {
	out, home, err := goOn(t, Target{Agent: "codex"}, true)
	storetest.Must(t, err)
	_, id, _ := strings.Cut(out, `"command":["codex","resume","`)
	id, _, ok := strings.Cut(id, `"]`)
	if !ok || id == "" {
		t.Fatalf("it says %q", out)
	}
	found, err := filepath.Glob(filepath.Join(home, ".codex", "sessions", "*", "*", "*", "*"+id+".jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("files of the session: %q, %v; want one", found, err)
	}
	if raw, err := os.ReadFile(found[0]); err != nil || !bytes.Contains(raw, []byte("It has tea.")) {
		t.Errorf("the file lacks the answer: %v\n%s", err, raw)
	}
}

// Errors say what to do.
func TestRefused(t *testing.T) {
	for hint, in := range map[string]Target{
		"name the agent: --in AGENT": {From: "plan"},
		"the agents are: ":           {Agent: "vim"},
	} {
		if _, _, err := goOn(t, in, false); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(strings.Join(hintsOf(err), "\n"), hint) {
			t.Errorf("%+v: %v, %q, want the hint %q", in, err, hintsOf(err), hint)
		}
	}
}

func hintsOf(err error) (out []string) {
	for _, h := range repo.Hints(err) {
		out = append(out, h.Text)
	}
	return out
}
