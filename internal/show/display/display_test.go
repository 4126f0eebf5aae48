package display

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestSafe(t *testing.T) {
	for _, c := range []struct{ in, text, line string }{
		{"plain", "plain", "plain"},
		{"世界 é 👍", "世界 é 👍", "世界 é 👍"},
		{"a\nb\tc", "a\nb\tc", `a\x0ab\x09c`},
		{"a\r\nb", "a\nb", `a\x0d\x0ab`},
		{"a\rb", `a\x0db`, `a\x0db`},
		{"\x1b[31m\x7f", `\x1b[31m\x7f`, `\x1b[31m\x7f`},
		{"\u009b31m", "<U+009B>31m", "<U+009B>31m"},
		{"\u202eexe\u2066\u200b", "<U+202E>exe<U+2066><U+200B>", "<U+202E>exe<U+2066><U+200B>"},
		{"a\u2028b\U000e0041", "a<U+2028>b<U+E0041>", "a<U+2028>b<U+E0041>"},
		{"a\ufdd0\U0001ffff", "a<U+FDD0><U+1FFFF>", "a<U+FDD0><U+1FFFF>"},
		{"👩\u200d👧 ❤\ufe0f\u200d🔥", "👩\u200d👧 ❤\ufe0f\u200d🔥", "👩\u200d👧 ❤\ufe0f\u200d🔥"},
		{"👩\u200d\u202e👧\u200d\u200d👧", "👩<U+200D><U+202E>👧<U+200D><U+200D>👧", "👩<U+200D><U+202E>👧<U+200D><U+200D>👧"},
		{"a\u200d👧\u200d", "a<U+200D>👧<U+200D>", "a<U+200D>👧<U+200D>"},
		{"bad\xff\xc3", `bad\xff\xc3`, `bad\xff\xc3`},
	} {
		if got := Text(c.in); got != c.text && c.in != "a\r\nb" {
			t.Errorf("Text(%q) = %q, not %q", c.in, got, c.text)
		}
		if got := Line(c.in); got != c.line {
			t.Errorf("Line(%q) = %q, not %q", c.in, got, c.line)
		}
	}
	if got := Text("a\r\nb"); got != "a\nb" {
		t.Errorf("the line end of Windows becomes %q, not a newline", got)
	}
}

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		in    string
		cells int
		want  string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abcd", 0, "abcd"}, {"世界世界", 8, "世界世界"}, {"世界世界", 7, "世界世…"},
		{"世界世界", 6, "世界…"}, {"世界", 1, "…"}, {"👩\u200d👧\u200d👦", 5, "👩\u200d👧…"}, {"👩\u200d👧x", 4, "👩…"}, {"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
	} {
		if got := Truncate(c.in, c.cells); got != c.want {
			t.Errorf("Truncate(%q, %d) = %q, not %q", c.in, c.cells, got, c.want)
		}
	}
}

func TestTruncateStart(t *testing.T) {
	for _, c := range []struct {
		in    string
		cells int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "…cd"}, {"abcd", 0, "abcd"}, {"世界世界", 6, "…世界"}, {"世界", 1, "…"}} {
		if got := TruncateStart(c.in, c.cells); got != c.want {
			t.Errorf("TruncateStart(%q, %d) = %q, not %q", c.in, c.cells, got, c.want)
		}
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct{ path, home, want string }{{"/h/ann/x", "/h/ann", "~/x"}, {"/h/ann", "/h/ann", "~"}, {"/h/anna/x", "/h/ann", "/h/anna/x"}, {"/x", "", "/x"}, {"/h/\n", "/h", "~/\\x0a"}} {
		if got := Path(c.path, c.home); got != c.want {
			t.Errorf("Path(%q, %q) = %q, not %q", c.path, c.home, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in    string
		cells int
		want  []string
	}{
		{"", 10, []string{""}},
		{"one two three", 8, []string{"one two", "three"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"onetwothree", 4, []string{"onet", "woth", "ree"}},
		{"世界世界", 5, []string{"世界", "世界"}},
		{"  indented text here", 12, []string{"  indented", "text here"}},
	} {
		if got := Wrap(c.in, c.cells); !slices.Equal(got, c.want) {
			t.Errorf("Wrap(%q, %d) = %q, not %q", c.in, c.cells, got, c.want)
		}
	}
}

// Whatever was recorded: what is shown has no control character and no invalid byte, and no
// line is wider than the screen; wrapping loses nothing but spaces.
func FuzzShown(f *testing.F) {
	f.Add("a\x1b[31m 世界 \u202e\xff  b", 10)
	f.Add("\r\n\t\x00\u0085", 3)
	f.Fuzz(func(t *testing.T, s string, cells int) {
		cells = 2 + (cells&0x7fffffff)%100
		line := Line(s)
		for _, text := range []string{line, strings.NewReplacer("\n", "", "\t", "").Replace(Text(s))} {
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r != emojiJoiner && unicode.In(r, unicode.Cc, unicode.Cf) }) {
				t.Fatalf("%q is shown as %q", s, text)
			}
		}
		if got := Truncate(line, cells); Width(got) > cells && len(line) > cells {
			t.Errorf("Truncate(%q, %d) is too wide: %d cells", line, cells, Width(got))
		}
		parts := Wrap(line, cells)
		if strings.ReplaceAll(strings.Join(parts, ""), " ", "") != strings.ReplaceAll(line, " ", "") {
			t.Errorf("Wrap(%q, %d) = %q, which loses text", line, cells, parts)
		}
		for _, part := range parts {
			if Width(part) > cells && len(line) > cells {
				t.Errorf("Wrap(%q, %d) has a line that is too wide: %q", line, cells, part)
			}
		}
	})
}

func TestAgo(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for date, want := range map[string]string{
		"2026-11-20T11:59:30.5+00:00": "just now",
		"2026-11-20T11:58:59Z":        "1 minute ago",
		"2026-11-20T10:00:00+01:00":   "3 hours ago",
		"2026-11-18T12:00:00":         "2 days ago",
		"2026-10-01":                  "2026-10-01",
		"2026-12-24T18:00:00Z":        "2026-12-24 18:00",
		"\x1bwhen":                    `\x1bwhen`,
	} {
		if got := Ago(now, date, time.DateOnly); got != want {
			t.Errorf("%q is %q, not %q", date, got, want)
		}
	}
}

// JSON for a terminal has no character that moves the cursor, reorders or hides text, and the same value.
func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"x` + "\u202e\u0085\u009b31m\u007f\u2028\U000e0041" + `é👨‍👩‍👧"}`: `{"a":"x\u202e\u0085\u009b31m\u007f\u2028\udb40\udc41é👨‍👩‍👧"}`,
		`{"a":"plain"}`: `{"a":"plain"}`, "{\n\"a\":\"\xff\"}": "{\n\"a\":\"\\ufffd\"}",
	} {
		if got := string(JSON([]byte(in))); got != want {
			t.Errorf("JSON(%q) is %q, want %q", in, got, want)
		}
		var was, is any
		if json.Unmarshal([]byte(in), &was) != nil || json.Unmarshal(JSON([]byte(in)), &is) != nil || !reflect.DeepEqual(was, is) {
			t.Errorf("the value of %q has changed", in)
		}
	}
}
