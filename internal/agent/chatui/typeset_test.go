package chatui

import (
	"strings"
	"testing"

	xansi "github.com/charmbracelet/x/ansi"
)

const sample = "# Title\n\nSome *text* with `code` and [a link](https://example.org/x).\n\n" +
	"1. one\n\n   more of one\n2. two\n\n- a\n- b\n\n```go\nfunc main() {\n\n\tprintln(\"hi\")\n}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\nend\n"

// TestStream: however a text is cut, the lines are the same, and none is lost.
func TestStream(t *testing.T) {
	want := ""
	for _, size := range []int{len(sample), 1, 3, 7, 50} {
		s := &stream{Renderer: newRenderer(60, false)}
		var lines []string
		for at := 0; at < len(sample); at += size {
			lines = append(lines, s.Write(sample[at:min(at+size, len(sample))])...)
			if live := s.Live(5); len(live) > 5 {
				t.Errorf("%d live lines, want at most 5", len(live))
			}
		}
		lines = append(lines, s.Close()...)
		got := strings.Join(lines, "\n")
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("written in pieces of %d bytes:\n%s\nwant\n%s", size, got, want)
		}
	}
	for _, text := range []string{"Title\n\nSome text with code and a link https://example.org/x.", "1. one", "more of one", "2. two", "• a\n• b", "  func main() {\n\n", "println(\"hi\")", "│ quoted\n\nend"} {
		if !strings.Contains(want, text) {
			t.Errorf("no %q in\n%s", text, want)
		}
	}
}

// TestHostile: a text cannot command the terminal, and no line is too wide.
func TestHostile(t *testing.T) {
	for _, text := range []string{"\x1b[2Jx", "a &#27;[2Jb &#x9b;2J `&#27;]0;t&#7;`", "```\n\x1b]52;c;xx\x07&#27;[8m\n```", "[x](https://a.example/\x1b[2J)", "[x](&#27;]0;x)", "![p](http://e.example/\x07)",
		"a\r\nb\rc", "<b>&ZeroWidthSpace;&rlm;x</b>", "\u202egnp.exe", strings.Repeat("x", 500), strings.Repeat("漢字", 100), "```\n" + strings.Repeat("y", 300) + "\n```",
		strings.Repeat("> ", 200) + "deep", strings.Repeat("x\n", 60000), "|" + strings.Repeat("a|", 60) + "\n|" + strings.Repeat("-|", 60) + "\n"} {
		for _, width := range []int{1, 10, 20, 80} {
			for _, line := range newRenderer(width, true).Lines(text) {
				bare := xansi.Strip(coloursOnly(line))
				if strings.Contains(strings.ReplaceAll(line, "\x1b[", ""), "\x1b") || strings.ContainsAny(bare, "\x1b\x07\r\u009b\u202e\u200f\u200b") || strings.Contains(line, "2J") && !strings.Contains(bare, "2J") {
					t.Errorf("%.40q at width %d has control characters: %q", text, width, line)
				}
				if got := xansi.StringWidth(line); got > max(width, 2) {
					t.Errorf("%.40q at width %d has a line of %d cells: %q", text, width, got, line)
				}
			}
		}
	}
}

// What is said is shown: tags, which are no HTML here, escapes of invisible characters, and lines
// (gastownhall/beads#5495, cli/cli#1875, mycelium-io/mycelium#833).
func TestTagsAndLines(t *testing.T) {
	for text, want := range map[string]string{
		"Use <Button> in List<String>, <name>.txt and `<b>`.": "Use <Button> in List<String>, <name>.txt and <b>.",
		"<details>\n<!-- x -->\nin it\n</details>":            "<details>\n<!-- x -->\nin it\n</details>",
		"```html\n<b>x</b>\n```\n<i>":                         "  <b>x</b>\n\n<i>",
		"see <https://example.org/a>, a < b":                  "see https://example.org/a, a < b",
		"one\ntwo\n\n> three\n> four":                         "one\ntwo\n\n│ three\n│ four",
		"- a\n  b\n- c":                                       "• a\nb\n• c",
		"\u202egnp.exe":                                       "<U+202E>gnp.exe",
	} {
		if got := strings.Join(newRenderer(60, false).Lines(text), "\n"); got != want {
			t.Errorf("%q is shown as\n%s\nwant\n%s", text, got, want)
		}
	}
}

func BenchmarkLive(b *testing.B) {
	s := &stream{Renderer: newRenderer(100, true)}
	s.Write("```go\n" + strings.Repeat("func main() { println(\"hello\", 42) } // a comment\n", 2000))
	for b.Loop() {
		s.Write("x := 1\n")
		s.Live(30)
	}
}

// Only the colour sequences of a rendered text reach the terminal.
func TestColoursOnly(t *testing.T) {
	if got := coloursOnly("\x1b[2Ja\x1b[1;31mb\x1b[m\x1b]8;;https://x\x1b\\c\x1b]0;t\ad\x1b[?25le\x1b"); got != "2Ja\x1b[1;31mb\x1b[mcd?25le" {
		t.Errorf("got %q", got)
	}
}
