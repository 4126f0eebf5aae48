package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/stdio"
)

// sharedCase is a case of the suite that other implementations run, too.
type sharedCase struct {
	Name    string
	Entries []struct {
		Ref, Kind, Date string
		Payload, Meta   json.RawMessage
	}
	Query *struct {
		AfterLast     bool `json:"after_last"`
		After         string
		Between       []string
		Since, Until  string
		Kinds         []string
		Limit         *int
		SkipBootstrap bool `json:"skip_bootstrap"`
	}
	Search *struct {
		Text  string
		Kinds []string
		Limit *int
	}
	Context *struct {
		From     string
		NoAnchor bool `json:"no_anchor"`
		Raw      bool
	}
	Expect struct {
		Refs      []string
		Unordered []string `json:"refs_unordered"`
		Any       bool
		Error     string
		Messages  json.RawMessage
	}
}

// sandbox runs commands in a workspace of its own.
type sandbox struct {
	t   *testing.T
	dir string
}

func newWorkspace(t *testing.T) *sandbox {
	t.Helper()
	w := &sandbox{t, filepath.Join(t.TempDir(), "ws")}
	w.must("init", w.dir)
	return w
}

// run runs one command and returns what it wrote and its exit code.
func (w *sandbox) run(stdin string, args ...string) (out, errs string, code int) {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	a := &App{Streams: stdio.Streams{Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr, Now: time.Now,
		Getenv: func(key string) string {
			return map[string]string{"TAPE_WORKSPACE": w.dir, "TAPE_AUTHOR": "Test <test@example.org>"}[key]
		}}}
	if args[0] == "init" {
		a.Getenv = func(string) string { return "" }
	}
	code = Run(context.Background(), a, args)
	return stdout.String(), stderr.String(), code
}

func (w *sandbox) must(args ...string) string {
	w.t.Helper()
	out, errs, code := w.run("", args...)
	if code != exitOK {
		w.t.Fatalf("tape %q: exit %d\n%s", args, code, errs)
	}
	return out
}

// record appends a case's entries, and returns the names that the case gives them, by id.
func (c *sharedCase) record(w *sandbox) map[int64]string {
	w.t.Helper()
	refs := map[int64]string{1: "session/start"}
	for _, e := range c.Entries {
		args := []string{"append", "--json", "--kind", e.Kind, "--payload", string(e.Payload)}
		if e.Kind == "anchor" {
			var anchor struct {
				Name  string
				State json.RawMessage
			}
			if err := json.Unmarshal(e.Payload, &anchor); err != nil {
				w.t.Fatal(err)
			}
			args = []string{"handoff", "--json", anchor.Name}
			if anchor.State != nil {
				args = append(args, "--state", string(anchor.State))
			}
		} else if e.Meta != nil {
			args = append(args, "--meta", string(e.Meta))
		}
		if e.Date != "" {
			args = append(args, "--date", e.Date)
		}
		var done struct{ ID, Entry int64 }
		if err := json.Unmarshal([]byte(w.must(args...)), &done); err != nil {
			w.t.Fatal(err)
		}
		refs[done.ID+done.Entry] = e.Ref
	}
	return refs
}

// queryArgs returns the arguments that a case's query stands for.
func (c *sharedCase) queryArgs() []string {
	q := c.Query
	var args []string
	switch {
	case q.AfterLast:
		args = []string{"log", "--after", "latest"}
	case q.After != "":
		args = []string{"log", "--after", q.After}
	case q.Between != nil:
		args = append([]string{"between"}, q.Between...)
	default:
		args = []string{"log", "--all"}
	}
	for _, kind := range q.Kinds {
		args = append(args, "--kind", kind)
	}
	if q.Limit != nil {
		args = append(args, "--limit", strconv.Itoa(*q.Limit))
	}
	if q.Since != "" {
		args = append(args, "--since", q.Since)
	}
	if q.Until != "" {
		args = append(args, "--until", q.Until)
	}
	return append(args, "--json")
}

func (c *sharedCase) searchArgs() []string {
	args := []string{"search", "--json"}
	for _, kind := range c.Search.Kinds {
		args = append(args, "--kind", kind)
	}
	if c.Search.Limit != nil {
		args = append(args, "-n", strconv.Itoa(*c.Search.Limit))
	}
	return append(args, "--", c.Search.Text)
}

func (c *sharedCase) contextArgs() []string {
	args := []string{"context", "--json"}
	if c.Context.From != "" {
		args = append(args, "--from", c.Context.From)
	}
	if c.Context.NoAnchor {
		args = append(args, "--no-anchor")
	}
	if c.Context.Raw {
		args = append(args, "--raw")
	}
	return args
}

// listed returns the names of the entries that a command printed.
func listed(t *testing.T, out string, refs map[int64]string) []string {
	t.Helper()
	names := []string{}
	for line := range strings.Lines(out) {
		var e struct{ ID int64 }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		names = append(names, refs[e.ID])
	}
	return names
}

func (c *sharedCase) check(t *testing.T, out, errs string, code int, refs map[int64]string) {
	t.Helper()
	if c.Expect.Error != "" {
		want := map[string]int{"not_found": exitNotFound, "usage": exitUsage}[c.Expect.Error]
		if code != want || !strings.Contains(errs, `"`+c.Expect.Error+`"`) && !strings.Contains(errs, "error") {
			t.Errorf("exit %d, want %d: %s", code, want, errs)
		}
		return
	}
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	switch {
	case c.Expect.Messages != nil:
		c.checkMessages(t, out)
	case c.Expect.Unordered != nil:
		got, want := listed(t, out, refs), slices.Clone(c.Expect.Unordered)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v in any order", got, want)
		}
	case c.Expect.Any:
		listed(t, out, refs)
	default:
		got := listed(t, out, refs)
		if c.Query.SkipBootstrap {
			got = slices.DeleteFunc(got, func(ref string) bool { return ref == "session/start" })
		}
		if !slices.Equal(got, append([]string{}, c.Expect.Refs...)) {
			t.Errorf("got %v, want %v", got, c.Expect.Refs)
		}
	}
}

func (c *sharedCase) checkMessages(t *testing.T, out string) {
	t.Helper()
	var got, want any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if err := json.Unmarshal(c.Expect.Messages, &want); err != nil {
		t.Fatal(err)
	}
	if _, rules := want.(map[string]any); rules {
		c.checkRules(t, out)
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %s\nwant %s", out, c.Expect.Messages)
	}
}

// checkRules checks that a provider would accept the messages, and that no result was lost.
func (c *sharedCase) checkRules(t *testing.T, out string) {
	t.Helper()
	var messages []struct {
		Role, Content string
		ToolCallID    string                `json:"tool_call_id"`
		ToolCalls     []struct{ ID string } `json:"tool_calls"`
	}
	if err := json.Unmarshal([]byte(out), &messages); err != nil {
		t.Fatal(err)
	}
	open := map[string]bool{}
	for _, m := range messages {
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				t.Errorf("a tool message answers %q, which is not an open call", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			t.Errorf("calls without a result: %v", open)
		}
		open = map[string]bool{}
		for _, call := range m.ToolCalls {
			open[call.ID] = true
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without a result: %v", open)
	}
	for _, e := range c.Entries {
		var payload struct{ Results []string }
		_ = json.Unmarshal(e.Payload, &payload)
		for _, result := range payload.Results {
			if !strings.Contains(out, result) {
				t.Errorf("the result %q is gone", result)
			}
		}
	}
	if n := len(messages); n == 0 || messages[n-1].Role != "user" || messages[n-1].Content != "next" {
		t.Errorf("the last message is not the user's: %s", out)
	}
}

// TestConformance runs the shared cases, if they lie beside the project, as a user
// would: with commands.
func TestConformance(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "conformance", "cases.json"))
	if err != nil {
		t.Skipf("the shared cases are not here: %v", err)
	}
	var all struct{ Cases []sharedCase }
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			var args []string
			switch {
			case c.Query != nil:
				args = c.queryArgs()
			case c.Search != nil:
				args = c.searchArgs()
			case c.Context != nil:
				args = c.contextArgs()
			default:
				t.Fatal("the case has no query, search or context")
			}
			w := newWorkspace(t)
			refs := c.record(w)
			out, errs, code := w.run("", args...)
			c.check(t, out, errs, code, refs)
		})
	}
}
