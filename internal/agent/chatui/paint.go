package chatui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	xansi "github.com/charmbracelet/x/ansi"

	"tape/internal/show/display"
)

// painter colours text, or not.
type painter bool

func (p painter) with(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[m"
}

func (p painter) faint(text string) string  { return p.with("2", text) }
func (p painter) bold(text string) string   { return p.with("1", text) }
func (p painter) accent(text string) string { return p.with("36", text) }
func (p painter) good(text string) string   { return p.with("32", text) }
func (p painter) bad(text string) string    { return p.with("31", text) }

// duration formats a duration for people.
func duration(d time.Duration) string { return cmp.Or(display.Work(d), "0 ms") }

// words says how many words a text has.
func words(text string) string { return display.Count(len(strings.Fields(text)), "word", "words") }

// oneLine makes a text safe to show on one line.
func oneLine(text string) string {
	return display.Line(strings.Join(strings.Fields(display.Shorten(strings.TrimSpace(text), longestLine)), " "))
}

// longestLine is how many characters of a text, at most, are used for one line.
const longestLine = 2000

// safe makes what a program writes safe to show. Of a line that was written over itself, such as a
// progress bar, only the last state is shown.
func safe(text string) string {
	text = strings.ReplaceAll(xansi.Strip(text), "\t", "    ")
	if !strings.Contains(text, "\r") {
		return display.Text(text)
	}
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, "\r")
		out = append(out, line[strings.LastIndexByte(line, '\r')+1:])
	}
	return display.Text(strings.Join(out, "\n"))
}

// wrapped wraps a safe text into lines that leave indent cells of the terminal's width free.
func (c *composer) wrapped(text string, indent int) (lines []string) {
	cells := max(1, c.cells()-indent)
	for line := range strings.SplitSeq(text, "\n") {
		if xansi.StringWidth(line) <= cells {
			lines = append(lines, line)
			continue
		}
		lines = append(lines, strings.Split(xansi.Wrap(line, cells, ""), "\n")...)
	}
	return lines
}

// fit shortens a line with colours to the terminal's width.
func (c *composer) fit(line string) string { return xansi.Truncate(line, c.cells(), "…") }

// clip leaves out lines in the middle, so that at most `most` remain.
func clip(lines []string, most int) []string {
	if len(lines) <= most {
		return lines
	}
	head := most - most/3
	out := append([]string{}, lines[:head]...)
	out = append(out, fmt.Sprintf("… %d lines …", len(lines)-most+1))
	return append(out, lines[len(lines)-most/3+1:]...)
}
