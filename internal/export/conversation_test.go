package export

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"

	"tape/internal/display"
	"tape/internal/jsonl"
	"tape/internal/testkit"
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
			Ink: func(_ Ink, text string) string { return text }, More: func(e repo.Entry) string { return fmt.Sprintf("all of @%d", e.ID) }}
		if _, err := Conversation(t.Context(), &out, screen, entries); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if w := display.Width(line); width > 0 && w > width {
				t.Fatalf("a line of %d cells on a screen of %d: %q", w, width, line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }) {
				t.Fatalf("unsafe: %q", line)
			}
		}
		for id, word := range said {
			if !strings.Contains(out.String(), word) && (whole || !strings.Contains(out.String(), fmt.Sprintf("all of @%d", id))) {
				t.Fatalf("@%d is not shown:\n%s", id, out.String())
			}
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
