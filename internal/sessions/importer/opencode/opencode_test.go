package opencode_test

import (
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/opencode"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

// openCodeSample are the messages of an export.
var openCodeSample = []string{
	`{"info":{"id":"m1","role":"user","time":{"created":1795337226161}},"parts":[{"id":"p1","type":"text","text":"list"},{"id":"p2","type":"file","url":"file:///a"},{"id":"p10","type":"file","mime":"image/png","filename":"b.png","url":"data:image/png;base64,aGk="}]}`,
	`{"info":{"id":"m2","role":"assistant","modelID":"m","tokens":{"input":5,"cache":{"read":1}},"time":{"created":1795337226200,"completed":1795337226900}},"parts":[{"id":"p3","type":"reasoning","text":"hm"},{"id":"p4","type":"tool","tool":"bash","callID":"c1","state":{"status":"completed","input":{"command":"ls"},"output":"a"}},{"id":"p5","type":"tool","tool":"bash","callID":"c2","state":{"status":"error","input":{},"error":"no"}},{"id":"p6","type":"text","text":"two"}]}`,
	`{"info":{"id":"m3","role":"user"},"parts":[{"id":"p7","type":"compaction","auto":true}]}`,
	`{"info":{"id":"m4","role":"assistant","summary":true},"parts":[{"id":"p8","type":"text","text":"so far"}]}`,
	`{"info":{"id":"m5","role":"assistant","error":{"name":"APIError"}},"parts":[{"id":"p9","type":"patch","hash":"h"}]}`,
}

func FuzzOpenCode(f *testing.F) { imp.Fuzz(f, opencode.Format.Name, openCodeSample) }

// TestExport: an export, which is one JSON document, gives the entries of its messages.
func TestExport(t *testing.T) {
	doc := `{"info":{"id":"ses_1","directory":"/w","title":"x"},"messages":[` + strings.Join(openCodeSample, ",") + `]}`
	if got, ok := imp.Detect("x.json", []byte(doc)); !ok || got != opencode.Format.Name {
		t.Errorf("taken for %q, want %q", got, opencode.Format.Name)
	}
	seen := formattest.Seen{}
	items, stats := imp.Items(t, opencode.Format.Name, "x.json", []byte(doc), seen)
	formattest.Want(t, items,
		`event {"name":"session","data":{"id":"ses_1","directory":"/w"}}`,
		`message {"role":"user","content":[{"type":"text","text":"list"},{"type":"file","url":"file:///a"},{"type":"image_url","filename":"b.png","mime":"image/png","image_url":"data:image/png;base64,aGk="}]}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`tool_call {"calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}]}`,
		`tool_result {"results":["a","no"]}`,
		`message {"role":"assistant","content":"two"}`,
		`event {"name":"run","data":{"model":"m","usage":{"input_tokens":5,"cached_input_tokens":1}}}`,
		`event {"name":"tape.title","data":{"title":"x"}}`,
		`anchor {"name":"compaction","state":{"summary":"so far","auto":true}}`,
		`event {"name":"run"}`,
		`event {"name":"part.patch","data":{"hash":"h"}}`,
		`event {"name":"model.error","data":{"name":"APIError"}}`,
		`event {"name":"run"}`,
	)
	if stats.Damaged > 0 {
		t.Errorf("want no damage: %+v", stats)
	}
	if again, _ := imp.Items(t, opencode.Format.Name, "x.json", []byte(doc), seen); len(again) > 0 {
		t.Errorf("read again, want no entries: %s", formattest.Show(again))
	}
	info, err := importer.Describe(t.Context(), &opencode.Format, formattest.Source("x.json", []byte(doc)))
	if err != nil || info.Session != "ses_1" {
		t.Errorf("%+v, %v; want session ses_1", info, err)
	}
}

// TestUndo: what a person took back with /undo is not in the context.
func TestUndo(t *testing.T) {
	doc := `{"info":{"id":"ses_1","directory":"/w","title":"x","revert":{"messageID":"m3"}},"messages":[` +
		`{"info":{"id":"m1","role":"user","time":{"created":1795337226161}},"parts":[{"id":"p1","type":"text","text":"kept"}]},` +
		`{"info":{"id":"m3","role":"user","time":{"created":1795337226961}},"parts":[{"id":"p3","type":"text","text":"taken back"}]}]}`
	items, _ := imp.Items(t, opencode.Format.Name, "x.json", []byte(doc), formattest.Seen{})
	for _, it := range items {
		text, hidden := string(it.Entry.Payload), strings.Contains(string(it.Entry.Meta), `"context":false`)
		if strings.Contains(text, "kept") && hidden || strings.Contains(text, "taken back") && !hidden {
			t.Errorf("%s: hidden: %t", text, hidden)
		}
	}
}
