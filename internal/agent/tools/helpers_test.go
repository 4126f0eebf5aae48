//go:build unix

package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/hooks"
	"tape/internal/testkit"
	"tape/repo"
)

// helper is the environment variable that says what the test's program does when a test starts it again.
const helper = "TAPE_TOOLS_TEST"

func TestMain(m *testing.M) {
	switch os.Getenv(helper) {
	case "mcp":
		serveMCP()
	case "host":
		hostThatIsKilled()
	default:
		_ = os.Setenv("MY_TOKEN", "more") // newMCP passes it on, also in parallel tests, which cannot set it
		os.Exit(m.Run())
	}
}

// env has the tools of a test, in a project of their own.
type env struct {
	*Set
	t   *testing.T
	dir string
	log *bytes.Buffer
}

func newEnv(t *testing.T, change func(o *Options)) *env {
	t.Helper()
	e := &env{t: t, dir: t.TempDir(), log: &bytes.Buffer{}}
	o := Options{Dir: e.dir, Log: slog.New(slog.NewTextHandler(e.log, nil))}
	if change != nil {
		change(&o)
	}
	e.Set = New(o)
	t.Cleanup(e.Close)
	return e
}

// call calls a tool as an agent does; args is a JSON object.
func (e *env) call(name, args string) (string, error) {
	return e.callIn(e.t.Context(), "s", name, args)
}

func (e *env) callIn(ctx context.Context, session, name, args string) (string, error) {
	e.t.Helper()
	tool, ok := Find(e.All(ctx), name)
	if !ok {
		return "", fmt.Errorf("no tool %s", name)
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-done:
		case <-time.After(60 * time.Second):
			panic(name + " " + args + " hangs")
		}
	}()
	return tool.Run(ctx, hooks.ToolContext{Session: session, CallID: "c"}, json.RawMessage(args))
}

func (e *env) must(name, args string) string {
	e.t.Helper()
	out, err := e.call(name, args)
	if err != nil {
		e.t.Fatalf("%s %s: %v", name, args, err)
	}
	return out
}

// fails checks that a call is refused with these words.
func (e *env) fails(name, args string, words ...string) string {
	e.t.Helper()
	out, err := e.call(name, args)
	if err == nil {
		e.t.Fatalf("%s %s: no error, but %s", name, args, clip(out, 300))
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			e.t.Errorf("%s %s: %q does not say %q", name, clip(args, 200), clip(err.Error(), 1000), w)
		}
	}
	return err.Error()
}

// put writes a file of the project.
func (e *env) put(name, content string) {
	e.t.Helper()
	path := filepath.Join(e.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		e.t.Fatal(err)
	}
}

// got returns the content of a file of the project.
func (e *env) got(name string) string {
	e.t.Helper()
	b, err := os.ReadFile(filepath.Join(e.dir, name))
	if err != nil {
		e.t.Fatal(err)
	}
	return string(b)
}

// obj returns a JSON object of names and values.
func obj(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in %q", w, clip(text, 1500))
		}
	}
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	testkit.Until(t, what, f)
}

// newTape returns a tape in a workspace that is verified when the test ends.
func newTape(t *testing.T) *repo.Tape {
	t.Helper()
	store, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if report, err := store.Verify(context.Background()); err != nil || !report.OK {
			t.Errorf("verify: %v %v", err, report)
		}
	})
	tp, err := store.Tape(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return tp
}
