package block_test

import (
	"testing"

	"tape/internal/show/block"
	"tape/internal/show/display"
)

// Colours of a terminal are classes, and no control byte is shown. (simonw/claude-code-transcripts#95,
// meawoppl/agent-portal#1496)
func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"a <b> & \"c\"":                                       "a &lt;b&gt; &amp; &#34;c&#34;",
		"\x1b[31mred\x1b[0m plain":                            `<span class="tf1">red</span> plain`,
		"\x1b[1;32mok\x1b[22m thin\x1b[m":                     `<span class="tb tf2">ok</span><span class="tf2"> thin</span>`,
		"\x1b[38;5;208morange\x1b[39m":                        `<span class="tf3">orange</span>`,
		"\x1b[38;2;10;20;250mblue":                            `<span class="tf4">blue</span>`,
		"\x1b[38:2::250:10:20mred":                            `<span class="tf1">red</span>`,
		"\x1b[48;5;22;97mon green\x1b[49;39m":                 `<span class="tf7 tg2">on green</span>`,
		"\x1b[4:3mcurly\x1b[4:0m no":                          `<span class="tu">curly</span> no`,
		"\x1b[7mx\x1b[27my":                                   `<span class="tr">x</span>y`,
		"\x1b]8;;https://example.org\x1b\\here\x1b]8;;\x1b\\": "here",
		"\x1b]0;title\aready\x1b[K\x1b[?25h\x07\x00":          "ready",
		"\x1b[31m<script>":                                    `<span class="tf1">&lt;script&gt;</span>`,
		"old\rmac":                                            "old\nmac",
		"windows\r\nlines":                                    "windows\nlines",
		"\x1b[9999999999999999999999mx \x1b[38;5mcut \x1b[":   "x cut ",
		"\x1b[38;2;-9;-9;-9mx\x1b[38;5;-3my\x1b[-1mz":         `<span class="tf0">x</span><span class="tf0">y</span><span class="tf0">z</span>`,
		"\u202ereversed":                                      "&lt;U+202E&gt;reversed",
	} {
		if got := block.Text(in); got != want {
			t.Errorf("%q becomes\n%s\nwant\n%s", in, got, want)
		}
	}
}

// A line between colours is overwritten as on a terminal.
func TestOverwritten(t *testing.T) {
	shown, _ := display.AsShown("\x1b[33m 10 %\r\x1b[32m100 %\x1b[0m\b\b done\n", true)
	if got, want := block.Text(shown), "<span class=\"tf2\">100</span> done\n"; got != want {
		t.Errorf("shown is %q, want %q", got, want)
	}
}
