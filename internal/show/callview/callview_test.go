package callview_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tape/internal/show/callview"
	"tape/internal/show/conversation"
	"tape/repo"
)

// asLines writes a view as lines.
func asLines(v callview.View) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s +%d -%d", v.Shape, v.Subject, v.Added, v.Removed)
	for _, f := range v.Files {
		fmt.Fprintf(&b, "\n%s %s", f.Path, f.Op)
		for _, h := range f.Hunks {
			fmt.Fprintf(&b, " @%d", h.From)
			for _, l := range h.Lines {
				fmt.Fprintf(&b, " %c%s", l.Sign, l.Text)
			}
		}
	}
	for _, t := range v.Tasks {
		fmt.Fprintf(&b, "\n%s %s", t.State, t.Text)
	}
	return b.String()
}

// viewOf returns the view of a call with a detail.
func viewOf(t *testing.T, name, args, detail string) callview.View {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	entries := []repo.Entry{
		{ID: 1, Kind: repo.KindToolCall, Payload: json.RawMessage(`{"calls":[{"id":"1","function":{"name":"` + name + `","arguments":` + string(raw) + `}}]}`)},
		{ID: 2, Kind: repo.KindToolResult, Payload: json.RawMessage(`{"results":["ok"]}`), Meta: json.RawMessage(`{"call_ids":["1"]}`)},
		{ID: 3, Kind: repo.KindEvent, Payload: json.RawMessage(`{"name":"tool.detail","data":` + detail + `}`)},
	}
	var v callview.View
	err = conversation.Each(context.Background(), func(yield func(repo.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}, func(it *conversation.Item) error {
		for _, c := range it.Calls {
			v = callview.Of(c, "/shop")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestShapes: each kind of call has its shape, as several agents record it.
func TestShapes(t *testing.T) {
	for _, c := range []struct{ name, args, detail, want string }{
		{"Bash", `{"command":"go test ./..."}`, `{}`, "command: go test ./... +0 -0"},
		{"exec_command", `{"cmd":"ls"}`, `{}`, "command: ls +0 -0"},
		{"Read", `{"file_path":"/shop/a/b.go"}`, `{}`, "read: a/b.go +0 -0"},
		{"Edit", `{"file_path":"/shop/b.go","old_string":"one\ntwo","new_string":"one\nzwei"}`, `{}`, "edit: b.go +1 -1\nb.go  @0  one -two +zwei"},
		{"Edit", `{"file_path":"/shop/b.go","old_string":"x","new_string":"y"}`, `{"call_id":"1","structuredPatch":[{"newStart":7,"lines":[" a","-x","+y"]}]}`, "edit: b.go +1 -1\nb.go  @7  a -x +y"},
		{"Write", `{"file_path":"/shop/n.go","content":"1\n2\n"}`, `{}`, "write: n.go +2 -0\nn.go new"},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** Delete File: old.go\n*** End Patch"}`, `{}`, "edit: a.go +1 -1\na.go  @0 -x +y\nold.go deleted"},
		{"TodoWrite", `{"todos":[{"content":"read","status":"completed"},{"content":"write","status":"in_progress"},{"content":"rest","status":"pending"}]}`, `{}`, "tasks: write +0 -0\ndone read\ndoing write\nopen rest"},
		{"update_plan", `{"plan":[{"step":"read","status":"completed"}]}`, `{}`, "tasks: 1 task done +0 -0\ndone read"},
		{"Grep", `{"pattern":"retry","path":"/shop/cmd"}`, `{}`, "search: retry  cmd +0 -0"},
		{"Task", `{"description":"Review it","prompt":"long"}`, `{"call_id":"1","agentId":"a7"}`, "agent: Review it +0 -0"},
		{"WebFetch", `{"url":"https://example.com"}`, `{}`, "web: https://example.com +0 -0"},
		{"mcp__linear__get", `{"id":"ENT-1"}`, `{}`, "tool: ENT-1 +0 -0"},
		{"TodoWrite", `{"todos":"none"}`, `{}`, "tool: none +0 -0"},
		{"Edit", `not JSON`, `{}`, "edit: not JSON +0 -0"},
	} {
		v := viewOf(t, c.name, c.args, c.detail)
		if got := asLines(v); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(c.want), " ") {
			t.Errorf("%s %s:\n%s\nwant\n%s", c.name, c.args, got, c.want)
		}
		if c.name == "Task" && v.AgentID != "a7" {
			t.Errorf("the subagent is %q, not a7", v.AgentID)
		}
	}
}
