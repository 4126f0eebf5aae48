package text_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"tape/internal/text"
)

func TestAppendEntry(t *testing.T) {
	blob := strings.Repeat("QUJD/A", 200)
	for _, c := range []struct{ kind, payload, want string }{
		{"message", `{"role":"user","content":"h\u00e9llo\n\"x\" \ud83d\ude00","name":"Ann"}`, "héllo\n\"x\" 😀|Ann"},
		{"message", `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}],"tool_calls":[{"id":"call_1","type":"function","function":{"name":"run","arguments":"{\"cmd\":\"ls -l\",\"type\":\"t\",\"n\":7}"}}]}`, "a|run|ls -l|t|7"},
		{"message", `{"role":"assistant","content":null,"refusal":"no","reasoning":[["deep",{"text":"thought","signature":"sig"}]],"n":12}`, "no|deep|thought"},
		{"message", `{"content":"` + blob + `","x":"` + strings.Repeat("word ", 400) + `"}`, strings.Repeat("word ", 400)},
		{"tool_call", `{"calls":[{"id":"c","type":"function","function":{"name":"edit","arguments":"not json"}},"odd",{"name":"x","input":{"id":5,"p":"q"}}]}`, "edit|not json|odd|x|5|q"},
		{"tool_call", `{"calls":[{"function":{"name":"w","arguments":"{\"path\":\"a\\\\b\",\"text\":\"l1\\nl2\\u00e9\"}"}}]}`, "w|a\\b|l1\nl2é"},
		{"tool_result", `{"results":["{\"a\": 1}",{"exit":0,"out":"ok","t":-1.5e3,"f":false}]}`, `{"a": 1}|0|ok|-1.5e3`},
		{"tool_result", `{"results":[{"type":"text","text":"begins","artifact":{"id":"ab12","mime_type":"text/plain","name":"build.log","size_bytes":3,"sha256":"ab12"}}]}`, "text|begins|build.log"},
		{"event", `{"name":"x","data":{"artifact":{"kind":"vase","year":3}}}`, "x|vase"},
		{"anchor", `{"state":{"summary":"done","n":3},"name":"plan"}`, "plan|done|3"},
		{"anchor", `{"name":"compaction","state":{"replacement_history":[{"content":"again"}],"kept":["0198c7d2-5a1e-7000-8000-00000000abcd"],"n":["0198c7d2-5a1e-7000-8000-00000000abcd","x"]}}`,
			"compaction|0198c7d2-5a1e-7000-8000-00000000abcd|x"},
		{"message", `{"replacement_history":"said"}`, "said"},
		{"system", ` { "content" : "be kind" } `, "be kind"},
		{"error", `{"kind":"timeout","message":"slow","details":{"code":504}}`, "timeout|slow|504"},
		{"event", `{"data":{"status":"fine","ms":12},"name":"run"}`, "run|fine"},
		{"note", `{"a":["b",1,null,true,{"c":"d"}],"":""}`, "b|1|d"},
		{"message", `{}`, ""},
		{"message", `{"content":""}`, ""},
	} {
		got := string(text.AppendEntry([]byte("kept"), c.kind, []byte(c.payload)))
		if want := "kept" + strings.ReplaceAll(c.want, "|", string(text.Sep)); got != want {
			t.Errorf("AppendEntry of %s %s:\n%q, want\n%q", c.kind, c.payload, got, want)
		}
	}
}

func FuzzAppendEntry(f *testing.F) {
	f.Add("message", []byte(`{"content":[{"a":"\u00e9\n"},1,null],"arguments":"{\"a\":[1]}"}`))
	f.Add("anchor", []byte(`{"name":"a","state":{"b":"c`))
	f.Fuzz(func(t *testing.T, kind string, payload []byte) {
		got := text.AppendEntry(nil, kind, payload)
		var v map[string]any
		if kind != "other" || json.Unmarshal(payload, &v) != nil {
			return
		}
		for _, x := range v {
			s, ok := x.(string)
			if ok && (len(s) < 100 || strings.Contains(s, " ")) && !strings.HasPrefix(s, "data:") && !bytes.Contains(got, []byte(s)) {
				t.Fatalf("AppendEntry of %q: %q lacks the string %q", payload, got, s)
			}
		}
	})
}
