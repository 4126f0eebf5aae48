package activity

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"tape/internal/store/layout"
)

// An edit wrote the lines that it changed, not those that it repeats to say where.
func TestWritten(t *testing.T) {
	for args, want := range map[string][]string{
		`{"file_path":"/p/a.py","old_string":"import a\nuse(a)","new_string":"import a\nimport b\nuse(a)"}`:                      {"import b"},
		`{"file_path":"/p/a.py","old_string":"x = 1","new_string":"    x = 1\nx = 1"}`:                                           {"    x = 1"},
		`{"file_path":"/p/a.py","edits":[{"old_string":"a()","new_string":"a()\na()"},{"old_string":"b()","new_string":"c()"}]}`: {"a()", "c()"},
		`{"file_path":"/p/other.py","old_string":"a","new_string":"b"}`:                                                          nil,
	} {
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		e := layout.Entry{Kind: layout.KindToolCall, Payload: fmt.Appendf(nil, `{"calls":[{"id":"c","function":{"name":"Edit","arguments":%s}}]}`, raw)}
		var got []string
		for _, text := range Written(e, "a.py") {
			got = append(got, text.Lines...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s wrote %q, not %q", args, got, want)
		}
	}
}

// TestResult: what came out of an edit are whole lines, as each agent says it.
func TestResult(t *testing.T) {
	const header = `Index: a.py\n===\n--- a.py\tCurrent\n+++ a.py\tProposed\n`
	for name, data := range map[string]string{
		"Claude Code": `"structuredPatch":[{"lines":[" import a","-x = use(0)","+x = use(1)"]}]`,
		"Codex":       `"changes":{"/p/a.py":{"type":"update","unified_diff":"@@ -1,2 +1,2 @@\n import a\n-x = use(0)\n+x = use(1)\n"},"/p/b.py":{"unified_diff":"@@ @@\n+no"}}`,
		"Gemini":      `"resultDisplay":{"fileDiff":"` + header + `@@ -1,2 +1,2 @@\n import a\n-x = use(0)\n+x = use(1)\n"}`,
		"opencode":    `"metadata":{"diff":"--- /p/b.py\n+++ /p/b.py\n@@ -1 +1 @@\n+no\n` + header + `@@ -1 +1 @@\n-x = use(0)\n+x = use(1)\n"}`,
		"Pi":          `"details":{"patch":"--- /p/a.py\n+++ /p/a.py\n@@ -2,1 +2,1 @@\n-x = use(0)\n+x = use(1)\n"}`,
		"Pi 0.73":     `"details":{"diff":"  8 import a\n- 9 x = use(0)\n+ 9 x = use(1)\n 10 \n    ...","firstChangedLine":9}`,
		"Copilot":     `"result":{"detailedContent":"\ndiff --git a/p/a.py b/p/a.py\n--- a/p/a.py\n+++ b/p/a.py\n@@ -2,1 +2,1 @@\n-x = use(0)\n+x = use(1)\n \n"}`,
		"Crush":       `"old_content":"import a\nx = use(0)\n","new_content":"import a\nx = use(1)\n"`,
	} {
		e := layout.Entry{Kind: layout.KindEvent, Payload: []byte(`{"name":"tool.detail","data":{"call_id":"c",` + data + `}}`)}
		if got, ok := Result(e, "a.py"); !ok || got.Call != "c" || !slices.Equal(got.Lines, []string{"x = use(1)"}) {
			t.Errorf("%s: the result is %q, %v", name, got, ok)
		}
	}
	for _, data := range []string{`"structuredPatch":[]`, `"result":{"detailedContent":"+ set -x"}`, `"metadata":{"exit":1}`} {
		e := layout.Entry{Kind: layout.KindEvent, Payload: []byte(`{"name":"tool.detail","data":{"call_id":"c",` + data + `}}`)}
		if got, ok := Result(e, "a.py"); ok {
			t.Errorf("%s is the result %q of an edit", data, got)
		}
	}
}
