package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tape/internal/store/workspace"
	"tape/internal/testkit"
	"tape/repo"
)

// TestMain puts the programs, built as a user would build them, on the path of the scripts.
// The programs have no race detector: scripts start a thousand programs, and with the detector they took four
// minutes instead of eight seconds.
func TestMain(m *testing.M) {
	os.Exit(testkit.WithHome(func() int { return withProgram(m.Run) }))
}

func withProgram(tests func() int) int {
	dir, err := os.MkdirTemp("", "tape-scripts-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", dir, ".", "../tape-host")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the programs: %v\n%s", err, out)
		return 1
	}
	if err := os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return tests()
}

// scriptState is what our commands remember during a script.
type scriptState struct {
	damaged bool
}

// TestScripts runs the scripts. They have these commands besides those of testscript:
//
//	code N PROGRAM ARG…       runs a program that has to exit with N
//	fill FILE A B N C         writes A, then N times B, then C
//	edit FILE OLD NEW         replaces the first OLD in a file; \xNN stands for a byte
//	cut FILE N                takes N bytes off the end of a file
//	database FILE SQL         runs the statements in the file SQL on a SQLite database
//	damaged                   says that the workspaces that the script leaves need not verify
//
// Every workspace that a script leaves is verified, by tape and by git.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":     cmdCode,
			"fill":     cmdFill,
			"edit":     cmdEdit,
			"cut":      cmdCut,
			"database": cmdDatabase,
			"damaged":  func(ts *testscript.TestScript, _ bool, _ []string) { ts.Value("state").(*scriptState).damaged = true },
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, errors.New("unknown condition " + cond)
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("TAPE_HOME", filepath.Join(env.WorkDir, "tapes"))
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			env.Setenv("TAPE_AUTHOR", "Ada <ada@example.org>")
			env.Setenv("LC_ALL", "C.UTF-8")
			env.Setenv("NL", "\n")
			env.Setenv("TZ", "UTC")
			env.Setenv("GOGC", os.Getenv("GOGC"))
			state := &scriptState{}
			env.Values["state"] = state
			env.Defer(func() {
				if !state.damaged && !t.Failed() {
					verifyAll(t, env.WorkDir)
				}
			})
			// For small repositories, automatic upkeep does nothing but start git once more.
			gitconfig := "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n" +
				"[maintenance]\n\tauto = false\n[receive]\n\tautogc = false\n"
			return os.WriteFile(filepath.Join(env.WorkDir, ".gitconfig"), []byte(gitconfig), 0o600)
		},
	})
}

func cmdDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: database FILE SQL")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(os.Expand(ts.ReadFile(args[1]), ts.Getenv))
	ts.Check(errors.Join(err, db.Close()))
}

func verifyAll(t *testing.T, dir string) {
	homes, _ := filepath.Glob(filepath.Join(dir, "tapes", "*"))
	others, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, ws := range append(homes, others...) {
		if st, err := os.Stat(filepath.Join(ws, ".git", "tape")); err != nil || !st.IsDir() {
			continue
		}
		// Git runs in the user's own workspaces without a look at their settings.
		if err := workspace.Trust(ws, true); err != nil {
			t.Error(err)
		}
		store, err := repo.Open(context.Background(), ws, nil)
		if err != nil {
			t.Errorf("open %s: %v", ws, err)
			continue
		}
		report, err := store.Verify(context.Background())
		if err != nil || !report.OK {
			t.Errorf("verify %s: %v %v", ws, err, report)
		}
		if report != nil && report.GitFsck {
			continue // git fsck --strict is part of it
		}
		if out, err := exec.Command("git", "-C", ws, "fsck", "--strict").CombinedOutput(); err != nil {
			t.Errorf("git fsck in %s: %v\n%s", ws, err, out)
		}
	}
}

func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("run %s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exits with %d, want %d", args[1], got, want)
	}
}

func cmdFill(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 5 {
		ts.Fatalf("usage: fill FILE A B N C")
	}
	n, err := strconv.Atoi(args[3])
	ts.Check(err)
	content := args[1] + strings.Repeat(args[2], n) + args[4]
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(content), 0o600))
}

func cmdEdit(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	path := onlyFile(ts, args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	if !bytes.Contains(data, []byte(args[1])) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[2], `"`, `\"`) + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(path, bytes.Replace(data, []byte(args[1]), []byte(text), 1), 0o600))
}

func cmdCut(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: cut FILE N")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	path := onlyFile(ts, args[0])
	st, err := os.Stat(path)
	ts.Check(err)
	ts.Check(os.Truncate(path, st.Size()-n))
}

// onlyFile returns the one file that a pattern matches.
func onlyFile(ts *testscript.TestScript, pattern string) string {
	found, err := filepath.Glob(ts.MkAbs(pattern))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s matches %d files, want 1", pattern, len(found))
	}
	return found[0]
}
