package claudecode_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tape/internal/sessions/importer/claudecode"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
)

// said is what the checker, which shares no code with the importer, expects to
// find of a transcript: what was said, and nothing of the envelopes of its lines.
type said struct {
	text, calls, results, thoughts []string
}

func (s *said) blocks(content any) {
	if str, ok := content.(string); ok {
		s.text = append(s.text, str)
		return
	}
	list, _ := content.([]any)
	for _, e := range list {
		b, _ := e.(map[string]any)
		switch b["type"] {
		case "text":
			s.text = append(s.text, b["text"].(string))
		case "thinking":
			s.thoughts = append(s.thoughts, b["thinking"].(string), b["signature"].(string))
		case "tool_use":
			formattest.Leaves(b["input"], func(v string) { s.calls = append(s.calls, v) })
			s.calls = append(s.calls, b["id"].(string))
		case "tool_result":
			formattest.Leaves(b["content"], func(v string) { s.results = append(s.results, v) })
		}
	}
}

func (s *said) message(rec map[string]any) {
	if m, ok := rec["message"].(map[string]any); ok {
		s.blocks(m["content"])
	}
	if d, ok := rec["data"].(map[string]any); ok {
		if inner, ok := d["message"].(map[string]any); ok {
			s.message(inner)
		}
	}
}

// TestClaudeLosesNothing finds every text, thought, input and result of the
// real sessions in the entries, as often as they were said.
func TestClaudeLosesNothing(t *testing.T) {
	for name, b := range formattest.Fixture(t, "claude-code") {
		t.Run(name, func(t *testing.T) {
			var want said
			dec := json.NewDecoder(strings.NewReader(string(b)))
			records := 0
			for dec.More() {
				var rec map[string]any
				if err := dec.Decode(&rec); err != nil {
					t.Fatal(err) // not for two records on a line
				}
				records++
				want.message(rec)
			}
			items, stats := imp.Items(t, claudecode.Format.Name, name, b, formattest.Seen{})
			if stats.Records != records {
				t.Errorf("%d records, want %d", stats.Records, records)
			}
			have := map[string]map[string]int{}
			for _, it := range items {
				place := it.Entry.Kind
				payload := formattest.Decode(t, it.Entry.Payload).(map[string]any)
				if place == record.KindEvent {
					place += payload["name"].(string)
				}
				if place == record.KindAnchor {
					place = record.KindMessage // a summary is a message in the source
				}
				if have[place] == nil {
					have[place] = map[string]int{}
				}
				formattest.Leaves(payload, func(s string) { have[place][s]++ })
			}
			check := func(what, place string, list []string) {
				n := map[string]int{}
				for _, s := range list {
					n[s]++
				}
				for s, n := range n {
					if got := have[place][s]; got != n {
						t.Errorf("%s %.80q: %d times, want %d", what, s, got, n)
					}
				}
			}
			check("result", record.KindToolResult, want.results)
			check("thought", record.KindEvent+record.EventThinking, want.thoughts)
			for _, s := range want.calls {
				if have[record.KindToolCall][s] == 0 {
					t.Errorf("input %.80q is missing", s)
				}
			}
			texts := map[string]bool{}
			for s := range have[record.KindMessage] {
				texts[s] = true
			}
			for _, s := range want.text {
				if !texts[s] && !within(texts, s) {
					t.Errorf("text %.80q is missing", s)
				}
			}
		})
	}
}

func within(texts map[string]bool, s string) bool {
	for long := range texts {
		if strings.Contains(long, s) {
			return true
		}
	}
	return false
}

// TestDetailHasTheRest: what a program records of a result beyond what it sent to the
// model is stored, and what it sent is not stored twice.
func TestDetailHasTheRest(t *testing.T) {
	for name, b := range formattest.Fixture(t, "claude-code") {
		items, _ := imp.Items(t, claudecode.Format.Name, name, b, formattest.Seen{})
		all := map[string]bool{}
		results := map[string]bool{}
		for _, it := range items {
			formattest.Leaves(formattest.Decode(t, it.Entry.Payload), func(s string) { all[s] = true })
			if it.Entry.Kind == record.KindToolResult {
				formattest.Leaves(formattest.Decode(t, it.Entry.Payload), func(s string) { results[s] = true })
			}
		}
		var whole strings.Builder
		for s := range all {
			whole.WriteString(s)
			whole.WriteByte('\n')
		}
		text := whole.String()
		plain := withoutLineNumbersAnywhere(text)
		dec := json.NewDecoder(strings.NewReader(string(b)))
		for dec.More() {
			var rec map[string]any
			if err := dec.Decode(&rec); err != nil {
				t.Fatal(err)
			}
			formattest.Leaves(rec["toolUseResult"], func(s string) {
				s = strings.TrimPrefix(strings.TrimSpace(s), "Error: ")
				if s != "" && s != "text" && !strings.Contains(text, s) && !strings.Contains(plain, s) {
					t.Errorf("%s: detail %.100q is lost", name, s)
				}
			})
		}
		for _, it := range items {
			if it.Entry.Kind != record.KindEvent || !strings.Contains(string(it.Entry.Payload[:30]), "tool.detail") {
				continue
			}
			formattest.Leaves(formattest.Decode(t, it.Entry.Payload), func(s string) {
				if len(s) > 200 && results[s] {
					t.Errorf("%s: a result is stored again in a detail: %.100q", name, s)
				}
			})
		}
	}
}

func withoutLineNumbersAnywhere(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if _, rest, ok := strings.Cut(line, "→"); ok {
			line = rest
		}
		b.WriteString(line)
	}
	return b.String()
}
