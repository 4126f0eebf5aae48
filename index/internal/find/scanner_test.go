package find

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"tape/internal/text"
)

// encode spells a string as JSON, with the necessary escapes and some others. About one character
// in often is an escape with \u; 0 means none.
func encode(rng *rand.Rand, s string, often int) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		short := map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\t': `\t`, '\r': `\r`, '\b': `\b`, '\f': `\f`, '/': `\/`}[r]
		must := r < ' ' || r == '"' || r == '\\'
		switch {
		case short != "" && (must && rng.IntN(4) > 0 || !must && rng.IntN(2) == 0):
			b.WriteString(short)
		case must || often > 0 && rng.IntN(often) == 0:
			if r > 0xFFFF {
				r -= 0x10000
				fmt.Fprintf(&b, `\u%04x\u%04X`, 0xD800+(r>>10), 0xDC00+(r&0x3FF))
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

var scanWords = strings.Fields(`task TASK Kelvin mass maſs Key a/b/c C:\dir "quoted" tab数据库 Ünï 😀x 100% end. x.y(z)`)

func randomLines(rng *rand.Rand, n int) (lines []string, texts [][]byte) {
	for range n {
		var words []string
		for range rng.IntN(5) + 1 {
			words = append(words, scanWords[rng.IntN(len(scanWords))])
		}
		s := strings.Join(words, []string{" ", "\n", "", "\t"}[rng.IntN(4)])
		often := []int{0, 0, 3, 40}[rng.IntN(4)]
		kind, payload := "message", `{"role":"user","content":`+encode(rng, s, often)+`}`
		if rng.IntN(2) == 0 {
			kind = "tool_call"
			args := encode(rng, `{"cmd":`+encode(rng, s, often)+`,"n":100}`, often)
			payload = `{"calls":[{"function":{"name":"run","arguments":` + args + `}}]}`
		}
		lines = append(lines, `{"id":1,"kind":"`+kind+`","payload":`+payload+`}`)
		texts = append(texts, text.AppendEntry(nil, kind, []byte(payload)))
	}
	return lines, texts
}

// hits returns the lines of a file that a scan finds.
func hits(s *Scanner, lines []string, texts [][]byte) []int {
	file := []byte(strings.Join(lines, "\n") + "\n")
	var found []int
	may := s.Lines("")
	may.Reset(file)
	for from := may.Next(0); from < len(file); from = may.Next(from) {
		line := bytes.Count(file[:from], []byte("\n"))
		if _, ok := s.Match(texts[line]); ok {
			found = append(found, line)
		}
		from += bytes.IndexByte(file[from:], '\n') + 1
	}
	return found
}

func TestNoLineIsMissed(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	exprs := []string{`ta?sk`, `(task|mass)`, `\d+%`, `a/b`, `x\.y\(`, `(?i)kelvin`, `^end`, `k.y$`, `[qz]uo(ted)+`, `(?:数据){1,2}库`, `\Qa/b/c`, `C:\\d`, `x*`, `"q`, `(?i:MASS) |100`,
		`mass.*tas`, `(k)(e).*100`, `(?i)mass.*k`, `数.*x`, `end.*\s*(mass|kelvin)`, `(?:C|T)[:A].*x`}
	for range 3000 {
		lines, texts := randomLines(rng, rng.IntN(12)+1)
		word := scanWords[rng.IntN(len(scanWords))]
		if rng.IntN(3) == 0 {
			_, n := utf8.DecodeRuneInString(word)
			word = word[n:]
		}
		fold := rng.IntN(2) == 0
		s := NewSubstring(word, fold)
		if rng.IntN(2) == 0 {
			var err error
			word = exprs[rng.IntN(len(exprs))]
			if s, err = NewRegexp(word, fold); err != nil {
				t.Fatal(err)
			}
		}
		var want []int
		for i, body := range texts {
			if _, ok := s.Match(body); ok {
				want = append(want, i)
			}
		}
		if got := hits(s, lines, texts); !slices.Equal(got, want) {
			t.Fatalf("%q (ignore case %v) in\n%s\nlines %v, want %v", word, fold, strings.Join(lines, "\n"), got, want)
		}
	}
}

// Lines that cannot match are passed over. TestNoLineIsMissed does not notice if they are decoded.
func TestLinesPassedOver(t *testing.T) {
	file := []byte(`{"id":1,"payload":{"content":"nothing to see\there, task"}}` + "\n")
	next := func(s *Scanner, text string) int {
		may := s.Lines(text)
		may.Reset(file)
		return may.Next(0)
	}
	for _, expr := range []string{"absent", `absent\d+`, `(absent|gone)`, `x+absent`, `(?i)ABSENT`, `a?absent{2,}`, `task.*absent`, `absent.*see`, `see.*(gone|absent)`} {
		s, err := NewRegexp(expr, false)
		if err != nil {
			t.Fatal(err)
		}
		if i := next(s, ""); i < len(file) {
			t.Errorf("%s: a line at %d may match, want none", expr, i)
		}
	}
	task := bytes.Index(file, []byte("task"))
	if i := next(NewSubstring("TASK", true), ""); i != task {
		t.Errorf("TASK in any case: offset %d, want %d", i, task)
	}
	if i := next(NewSubstring("TASK", false), ""); i != len(file) {
		t.Errorf("TASK: offset %d, want %d, the end", i, len(file))
	}
	if i := next(NewSubstring("ABSENT", true), "task"); i != task {
		t.Errorf("ABSENT, with the extra text task: offset %d, want %d", i, task)
	}
}

func TestScanMatch(t *testing.T) {
	const body = "Error: timeout\x1eÜber K and K\x1elast line\nend"
	for _, c := range []struct {
		needle string
		regexp bool
		fold   bool
		want   string
	}{
		{"error", false, true, "Error"},
		{"error", false, false, ""},
		{"k", false, true, "K|K"},
		{"über", false, true, "Über"},
		{"^(Über|end)$|^last", true, false, "last|end"},
		{"T.*t\x1e", true, true, ""},
		{"(?s)timeout.Ü", true, false, "timeout\x1eÜ"},
		{"x*", true, false, ""},
	} {
		s := NewSubstring(c.needle, c.fold)
		if c.regexp {
			var err error
			if s, err = NewRegexp(c.needle, c.fold); err != nil {
				t.Fatal(err)
			}
		}
		spans, ok := s.Match([]byte(body))
		var got []string
		for _, sp := range spans {
			got = append(got, body[sp.Start:sp.End])
		}
		if strings.Join(got, "|") != c.want || ok != (c.want != "" || c.needle == "x*") {
			t.Errorf("%q: %q %v, want %q", c.needle, got, ok, c.want)
		}
	}
	for expr, want := range map[string]string{
		"(a":        "missing closing )",
		"a)":        "unexpected )",
		"[z-a]":     "invalid character class range",
		`\Qa` + "(": "",
		"*":         "missing argument to repetition operator",
	} {
		_, err := NewRegexp(expr, false)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", expr, err, want)
		}
	}
}
