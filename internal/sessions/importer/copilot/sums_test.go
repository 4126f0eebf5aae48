package copilot_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/sessions/importer/copilot"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/store/about"
	"tape/internal/text/jsonl"
)

// TestSums: of a session that is resumed, older versions begin the sums anew, later ones go on with them, and note them also
// if nothing was asked (PanAchy/copilot-arewecooked#45, junhoyeo/tokscale#1032, github/copilot-cli#3886).
func TestSums(t *testing.T) {
	for _, x := range []struct{ lines, want string }{
		{"start say=3 sum=10,5,6 resume say=30 sum=20,32,2", "-,3 10,2 -,30 20,2"},
		{"start say=3 sum=10,5,6 resume say=30 sum=30,37,8", "-,3 10,2 -,30 20,2"},
		{"start sum=10,5,6 resume sum=30,37,8 sum=30,37,8 resume sum=30,37,8", "10,5 20,32"},
		{"start say=3 sum=10,5,6 say=4 sum=15,10,6 resume say=9", "-,3 10,2 -,4 5,1 -,9"},
		{"start say=3 resume say=4 sum=15,8,6", "-,3 -,4 15,4"},
		{"start say=3 sum=10,3,6 resume say=4 resume say=5 sum=30,12,8", "-,3 10,0 -,4 -,5 20,0"},
		{"start record say=2 sum=9,2,0 resume sum=9,2,0 resume sum=9,2,0", "9,2"},
	} {
		var lines []string
		for n, word := range strings.Fields(x.lines) {
			typ, number, _ := strings.Cut(word, "=")
			data := "{}"
			switch typ {
			case "start":
				data = `{"sessionId":"c-1","selectedModel":"m"}`
			case "say":
				typ, data = "assistant.message", `{"content":"a","outputTokens":`+number+`}`
			case "sum":
				f := strings.Split(number, ",")
				typ, data = "session.shutdown", `{"modelMetrics":{"m":{"usage":{"inputTokens":`+f[0]+`,"outputTokens":`+f[1]+`,"cacheReadTokens":`+f[2]+`,"cacheWriteTokens":0}}}}`
			case "record":
				typ, data = "session.usage_record", `{"usage":{"model":"m","inputTokens":9,"outputTokens":2}}`
			}
			if !strings.Contains(typ, ".") {
				typ = "session." + typ
			}
			lines = append(lines, fmt.Sprintf(`{"type":%q,"data":%s,"id":"e%d","timestamp":"2026-01-01T00:00:%02d.000Z","parentId":null}`, typ, data, n, n))
		}
		items, _ := imp.Items(t, copilot.Format.Name, "events.jsonl", formattest.Lines(lines...), formattest.Seen{})
		var runs []string
		for _, i := range items {
			if about.EventName(i.Entry.Payload) == "run" {
				usage := jsonl.Get(i.Entry.Payload, "data", "usage")
				in, out := string(jsonl.Get(usage, "input_tokens")), string(jsonl.Get(usage, "output_tokens"))
				runs = append(runs, cmp.Or(in, "-")+","+out)
			}
		}
		if got := strings.Join(runs, " "); got != x.want {
			t.Errorf("%s: %s, want %s", x.lines, got, x.want)
		}
	}
}

// TestName: the title is in a note beside the session (kenn-io/agentsview#430).
func TestName(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{
		"Tidy the cellar": "Tidy the cellar", `'Tidy: the ''cellar'''`: "Tidy: the 'cellar'", `"Tidy: \"it\""`: `Tidy: "it"`, ">-\n  long": "", "null": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, "workspace.yaml"), []byte("id: c-1\r\nname: "+name+"\r\nuser_named: false\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		items, _ := imp.Items(t, copilot.Format.Name, filepath.Join(dir, "events.jsonl"), formattest.Lines(sample...), formattest.Seen{})
		got := ""
		if last := items[len(items)-1].Entry.Payload; about.EventName(last) == "tape.title" {
			got = jsonl.GetString(last, "data", "title")
		}
		if got != want {
			t.Errorf("%s: title %q, want %q", name, got, want)
		}
	}
}
