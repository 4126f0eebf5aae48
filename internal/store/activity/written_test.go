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
		if got := Written(e, "a.py"); !slices.Equal(got, want) {
			t.Errorf("%s wrote %q, not %q", args, got, want)
		}
	}
}
