package plain

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"

	"tape/internal/show/display"
	"tape/internal/testkit"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Whatever was recorded: a conversation has no line that is wider than the screen, nothing that
// moves the cursor, and the text of every message, or the command that shows it.
func TestConversationFits(t *testing.T) {
	rng := testkit.Random(t)
	for range 300 {
		width := []int{0, 40, 60, 120}[rng.IntN(4)]
		whole := rng.IntN(2) == 0
		entries, said := randomSession(rng)
		var out strings.Builder
		screen := &Screen{Width: width, Whole: whole, Events: rng.IntN(2) == 0, Zone: time.UTC,
			Style: func(_ Style, text string) string { return text }, More: func(e repo.Entry) string { return fmt.Sprintf("all of @%d", e.ID) }}
		if _, err := Show(t.Context(), &out, screen, entries); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if w := display.Width(line); width > 0 && w > width {
				t.Fatalf("a line of %d cells on a screen of %d: %q", w, width, line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }) {
				t.Fatalf("a line has characters that are unsafe on a terminal: %q", line)
			}
		}
		for id, word := range said {
			if !strings.Contains(out.String(), word) && (whole || !strings.Contains(out.String(), fmt.Sprintf("all of @%d", id))) {
				t.Fatalf("@%d is not shown:\n%s", id, out.String())
			}
		}
	}
}

// What a person typed for the agent's program, and what the program printed, is shown without the tags.
func TestLocalCommands(t *testing.T) {
	const clear = "<command-name>/clear</command-name>\n   <command-message>clear</command-message>\n   <command-args></command-args>"
	for text, want := range map[string]string{
		clear: "/clear\n",
		"<command-message>hi</command-message>\n<command-name>/hi</command-name>\n<command-args>Ada</command-args>": "/hi Ada\n",
		"<bash-input>echo a</bash-input>":                                            "! echo a\n",
		"<bash-stdout>one\ntwo</bash-stdout><bash-stderr></bash-stderr>":             "◂ one two\n",
		"<bash-stdout></bash-stdout><bash-stderr></bash-stderr>":                     "◂ no output\n",
		"<local-command-stdout>\x1b[2mDone\x1b[22m \x1b[1A</local-command-stdout>":   `◂ Done \x1b[1A` + "\n",
		"<local-command-caveat>Caveat: …</local-command-caveat>":                     "◂ Caveat: …\n",
		"<bash-input>a</bash-input><bash-stdout>b</bash-stdout>":                     "! a\n    @2  ◂ b\n",
		"<message_context>\ndate: today\n</message_context>\nsay hello":              "say hello\n",
		"<local-command-stdout>Bye!":                                                 "<local-command-stdout>Bye!\n",
		"<command-name>/x</command-name><task-notification>y</task-notification>":    "<command-name>/x</command-name><task-notification>y</task-notification>\n",
		"<system-reminder>about <command-name>/x</command-name></system-reminder>\n": "<system-reminder>about <command-name>/x</command-name></system-reminder>\n",
	} {
		content := string(jsonl.AppendString(nil, text))
		entries := func(yield func(repo.Entry, error) bool) {
			_ = yield(repo.Entry{ID: 1, Kind: repo.KindAnchor, Payload: []byte(`{"name":"x","state":{"content":` + string(jsonl.AppendString(nil, clear)) + `}}`), AnchorSeq: 1, Anchor: "x"}, nil) &&
				yield(repo.Entry{ID: 2, Kind: repo.KindMessage, Payload: []byte(`{"role":"user","content":` + content + `}`), AnchorSeq: 1, Anchor: "x"}, nil)
		}
		for _, whole := range []bool{false, true} {
			var out strings.Builder
			if _, err := Show(t.Context(), &out, &Screen{Whole: whole, Zone: time.UTC, Style: func(_ Style, text string) string { return text }}, entries); err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(out.String(), "@2  ")
			if !whole && (got != want || !strings.Contains(out.String(), "@1  /clear\n")) {
				t.Errorf("%q is shown as\n%s", text, out.String())
			} else if first, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); whole && !strings.HasPrefix(got, display.Line(first)) {
				t.Errorf("all of %q is shown as\n%s", text, out.String())
			}
		}
	}
}

// What is counted as left out is shown with Events. Gemini also records results as messages.
func TestLeftOut(t *testing.T) {
	entries := func(yield func(repo.Entry, error) bool) {
		_ = yield(repo.Entry{ID: 1, Kind: repo.KindMessage, Payload: []byte(`{"role":"user","content":[{"functionResponse":{"name":"ls","response":{"output":"a"}}}]}`)}, nil) &&
			yield(repo.Entry{ID: 2, Kind: repo.KindEvent, Payload: []byte(`{"name":"info","data":{"content":"note"}}`)}, nil)
	}
	for events, want := range map[bool]int{false: 2, true: 0} {
		var out strings.Builder
		left, err := Show(t.Context(), &out, &Screen{Events: events, Zone: time.UTC, Style: func(_ Style, text string) string { return text }}, entries)
		if err != nil || left != want || strings.Contains(out.String(), "@1") != events || strings.Contains(out.String(), "@2") != events {
			t.Errorf("with events %v, %d entries are left out, want %d: %v\n%s", events, left, want, err, out.String())
		}
	}
}

// randomSession makes entries, with the last word of each message by its id.
func randomSession(rng *rand.Rand) (iter.Seq2[repo.Entry, error], map[int64]string) {
	hostile := []string{"word ", "\x1b[31m", "\u202e", "世界", "\n", "\n\n- item ", "\t", strings.Repeat("x", 90), strings.Repeat("line\n", 50), "\xff"}
	text := func() string {
		var b strings.Builder
		for range rng.IntN(12) {
			b.WriteString(hostile[rng.IntN(len(hostile))])
		}
		return b.String()
	}
	quote := func(s string) string { return string(jsonl.AppendString(nil, strings.ToValidUTF8(s, "?"))) }
	said := map[int64]string{}
	var list []repo.Entry
	add := func(kind, payload, meta string) {
		list = append(list, repo.Entry{ID: int64(len(list) + 1), Kind: kind, Payload: []byte(payload), Meta: []byte(meta),
			Date: "2026-01-01T10:00:00Z", Tape: "main", Anchor: text(), AnchorSeq: 1 + len(list)/20})
	}
	add(repo.KindAnchor, `{"name":`+quote(text())+`,"state":{"cwd":"/a","summary":`+quote(text())+`}}`, `{}`)
	for range rng.IntN(30) {
		id := int64(len(list) + 1)
		switch rng.IntN(6) {
		case 0, 1:
			said[id] = fmt.Sprintf("end%dend", id)
			add(repo.KindMessage, `{"role":`+quote([]string{"user", "assistant", text()}[rng.IntN(3)])+`,"content":`+quote("so "+text()+" "+said[id])+`}`, `{}`)
		case 2:
			add(repo.KindToolCall, `{"calls":[{"id":"1","function":{"name":`+quote(text())+`,"arguments":`+quote(text())+`}},{"x":1}]}`, `{}`)
		case 3:
			add(repo.KindToolResult, `{"results":[`+quote(text())+`,{"a":`+quote(text())+`}]}`, `{"call_ids":["1"],"is_error":["1"]}`)
		case 4:
			add(repo.KindEvent, `{"name":"thinking","data":{"thinking":`+quote(text())+`}}`, `{}`)
		default:
			add(text()+"k", `{"name":`+quote(text())+`}`, `{"author":`+quote(text())+`}`)
		}
	}
	return func(yield func(repo.Entry, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}, said
}

// A patch is shown by its files, and a failed command of Codex by what it printed, without the facts before it.
func TestCodexCalls(t *testing.T) {
	entries := func(yield func(repo.Entry, error) bool) {
		_ = yield(repo.Entry{ID: 1, Kind: repo.KindToolCall, Payload: []byte(`{"calls":[{"id":"1","function":{"name":"apply_patch","arguments":` +
			string(jsonl.AppendString(nil, `{"input":"*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** Delete File: b.go\n*** End Patch"}`)) + `}}]}`)}, nil) &&
			yield(repo.Entry{ID: 2, Kind: repo.KindToolResult, Payload: []byte(`{"results":["Chunk ID: 1\nProcess exited with code 1\nOutput:\nno test passes\n"]}`), Meta: []byte(`{"call_ids":["1"]}`)}, nil)
	}
	var out strings.Builder
	if _, err := Show(t.Context(), &out, &Screen{Width: 60, Zone: time.UTC, Style: func(_ Style, text string) string { return text }}, entries); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(out.String()), " "); got != "assistant @1 ▸ apply_patch a.go, b.go failed 4 lines no test passes" {
		t.Errorf("it shows %s", got)
	}
}

// Blank lines at the beginning of an answer are left out; the indent of its first line stays.
func TestLeadingBlankLines(t *testing.T) {
	e := repo.Entry{ID: 2, Kind: repo.KindMessage, Payload: []byte(`{"role":"assistant","content":"\n \n\n  indented\n\nmore"}`), Meta: []byte(`{}`), AnchorSeq: 1, Tape: "main"}
	for _, whole := range []bool{false, true} {
		var out strings.Builder
		screen := &Screen{Whole: whole, Zone: time.UTC, Style: func(_ Style, text string) string { return text }, More: func(repo.Entry) string { return "" }}
		if _, err := Show(t.Context(), &out, screen, func(yield func(repo.Entry, error) bool) { yield(e, nil) }); err != nil {
			t.Fatal(err)
		}
		if want := "    @2    indented\n\n        more\n"; !strings.HasSuffix(out.String(), "assistant  \n"+want) {
			t.Errorf("the answer is shown as %q, not %q", out.String(), want)
		}
	}
}

// TestNothing: a terminal that shows no entries says so; a pipe stays empty.
func TestNothing(t *testing.T) {
	for width, want := range map[int]string{80: "No matching entries.\n", 0: ""} {
		var out strings.Builder
		screen := &Screen{Width: width, Zone: time.UTC, Style: func(_ Style, text string) string { return text }}
		if _, err := Show(t.Context(), &out, screen, func(func(repo.Entry, error) bool) {}); err != nil || out.String() != want {
			t.Errorf("at width %d, nothing is shown as %q, not %q: %v", width, out.String(), want, err)
		}
	}
}
