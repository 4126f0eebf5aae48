package query

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"tape/internal/text"
)

func TestSnippet(t *testing.T) {
	long := strings.Repeat("before it ", 30) + "the needle here" + strings.Repeat(" after it", 30)
	for _, c := range []struct {
		text, word string
		width      int
		want       string
	}{
		{"short text", "text", 40, "short [text]"},
		{"a\n\n\tb\x1ec \x1b[0m d", "b", 40, "a [b] c [0m d"},
		{long, "needle", 40, "…it the [needle] here after it after it…"},
		{long, "", 24, "before it before it…"},
		{"x " + strings.Repeat("数据库", 40) + "锚" + strings.Repeat("点", 50), "锚点", 10, "…库[锚点]点点…"},
		{"one " + strings.Repeat("pad ", 50) + "two three two", "two", 20, "…[two] three [two]"},
		{"", "", 10, ""},
		{"a b", "", 0, ""},
	} {
		var spans []text.Span
		if c.word != "" {
			m, ok := Parse(c.word, Options{}).Match([]byte(c.text))
			if !ok {
				t.Fatalf("%q not found", c.word)
			}
			spans = m.Spans
		}
		s, rel := text.Snippet([]byte(c.text), spans, c.width)
		for i := len(rel) - 1; i >= 0; i-- {
			s = s[:rel[i].Start] + "[" + s[rel[i].Start:rel[i].End] + "]" + s[rel[i].End:]
		}
		if s != c.want {
			t.Errorf("%.20q width %d:\n%s, want\n%s", c.text, c.width, s, c.want)
		}
	}
}

// TestSnippetBounds: whatever the text and the spans are, a snippet is one line of valid UTF-8, of at most width
// characters and two ellipses, and has its spans in order.
func TestSnippetBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 6_000 {
		body := []byte(randomText(rng, 30))
		var spans []text.Span
		last := 0
		for last < len(body) && rng.IntN(4) > 0 {
			start := last + rng.IntN(len(body)-last)
			end := start + 1 + rng.IntN(min(20, len(body)-start))
			spans = append(spans, text.Span{Start: start, End: end})
			last = end
		}
		width := rng.IntN(30)
		s, rel := text.Snippet(body, spans, width)
		if !utf8.ValidString(s) || utf8.RuneCountInString(s) > width+2 || strings.ContainsAny(s, "\n\t\x00\x1e") || strings.Contains(s, "  ") {
			t.Fatalf("%q, spans %v, width %d: bad snippet %q", body, spans, width, s)
		}
		last = 0
		for _, r := range rel {
			if r.Start < last || r.End <= r.Start || r.End > len(s) || !utf8.ValidString(s[r.Start:r.End]) {
				t.Fatalf("%q, spans %v, width %d: snippet %q with bad spans %v", body, spans, width, s, rel)
			}
			last = r.End
		}
	}
}
