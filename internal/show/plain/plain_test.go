package plain

import (
	"strings"
	"testing"

	"tape/internal/show/display"
	"tape/repo"
)

func TestEntry(t *testing.T) {
	long := strings.Repeat("word ", 50)
	const id = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	const file = `{"artifact":{"id":"` + id + `","sha256":"` + id + `","mime_type":"text/plain","name":"","size_bytes":7},"type":"file"}`
	for _, c := range []struct{ kind, payload, short, whole string }{
		{"message", `{"role":"user","content":"one\ntwo\u001b"}`, "one\ntwo\\x1b", ""},
		{"message", `{"role":"user","content":["a",{"type":"text","text":"b"},{"type":"cite","of":1}]}`, "a\nb\n[cite {\"type\":\"cite\",\"of\":1}]", ""},
		{"message", `{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1}"}}]}`, `f({"a":1})`, ""},
		{"message", `{"content":[{"type":"image","source":{"media_type":"image/png","data":"UE5H"}},` + file + `]}`,
			"[image image/png, 3 bytes]\n[artifact e3b0c44298fc text/plain, 7 bytes]", ""},
		{"tool_call", `{"calls":[{"name":"f","input":{"a":"` + long + `"}},{"name":"g"}]}`,
			display.Truncate(`f({"a":"`+long, 102) + ")\ng()", `f({"a":"` + long + `"})` + "\ng()"},
		{"tool_result", `{"results":["1\n2\n3\n4\n5\n6\n7\n8\n9\n10",{"b":2},["x",{"text":"y"}]]}`,
			"1\n2\n3\n4\n5\n6\n7\n8\n… (2 more lines)\n{\"b\":2}\nx\ny", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n{\"b\":2}\nx\ny"},
		{"anchor", `{"name":"next","state":{"summary":"done","n":1}}`, "next\ndone", ""},
		{"anchor", `{"name":"next","state":{"n":1}}`, `next {"n":1}`, ""},
		{"anchor", `{"name":"next","state":{}}`, "next", ""},
		{"event", `{"name":"run","data":{"n":1}}`, `run {"n":1}`, ""},
		{"event", `{"name":"run"}`, "run", ""},
		{"event", `{"name":"thinking","data":{"thinking":"\na\nb","signature":"xyz"}}`, "thinking a\nb", ""},
		{"error", `{"kind":"net","message":"no route","tries":3}`, "net: no route", "net: no route\ntries: 3"},
		{"my/kind", `{"n":1}`, `{"n":1}`, ""},
		{"message", `{}`, "{}", ""},
	} {
		if c.whole == "" {
			c.whole = c.short
		}
		e := repo.Entry{Kind: c.kind, Payload: []byte(c.payload)}
		if got := strings.Join(Short(e), "\n"); got != c.short {
			t.Errorf("%s %s, short:\n%s\nwant\n%s", c.kind, c.payload, got, c.short)
		}
		if got := strings.Join(Whole(e), "\n"); got != c.whole {
			t.Errorf("%s %s, whole:\n%s\nwant\n%s", c.kind, c.payload, got, c.whole)
		}
	}
}
