package chatui

import (
	"fmt"
	"strings"
	"time"

	"tape/internal/show/display"
)

// text shows a piece of the answer.
func (c *composer) text(delta string) {
	if c.shown.Len() == 0 {
		delta = strings.TrimLeft(delta, "\n")
	}
	c.shown.WriteString(delta)
	c.wordless = c.wordless && strings.TrimSpace(delta) == ""
	if c.plain {
		c.plainText(delta)
		return
	}
	c.printText(c.stream.Write(delta))
}

// printText prints lines of the answer, with an empty line before the first one.
func (c *composer) printText(lines []string) {
	if len(lines) == 0 {
		return
	}
	if !c.writing {
		c.space()
	}
	c.writing = true
	c.print(lines...)
}

// commandLines is how many lines of a command's output are shown.
const commandLines = 100

// plainText shows a command's output.
func (c *composer) plainText(text string) {
	lines := c.wrapped(safe(strings.TrimRight(text, "\n")), 0)
	if more := len(lines) - commandLines; more > 0 {
		lines = append([]string{c.paint.faint(fmt.Sprintf("… %d lines before; Ctrl-O shows all", more))}, lines[more:]...)
	}
	c.keep(result{title: "command", text: text})
	c.print(lines...)
}

// closeText ends the text and the reasoning of a step.
func (c *composer) closeText() {
	c.closeThought()
	c.printText(c.stream.Close())
	c.writing = false
}

// closeThought prints the reasoning: in one line, or whole if it is open.
func (c *composer) closeThought() {
	if c.thinking.IsZero() {
		return
	}
	took := time.Since(c.thinking)
	c.thinking = time.Time{}
	c.space()
	if c.open {
		for _, line := range c.wrapped(display.Text(strings.TrimSpace(c.thought.String())), 2) {
			c.print(c.paint.faint("  " + line))
		}
	} else {
		c.print(c.paint.faint(display.Truncate(fmt.Sprintf("∴ thought for %s, %s · Ctrl-T opens it", duration(took), words(c.thought.String())), c.cells())))
	}
	c.print("")
}

// notice shows a message of the program that is not an error.
func (c *composer) notice(text string) {
	c.closeText()
	c.space()
	for _, line := range c.wrapped(display.Text("· "+text), 2) {
		c.print(c.paint.faint(line))
	}
	c.print("")
}

// message shows a text that did not come as events, unless the turn has shown the same text. bad says that
// it is an error or a warning.
func (c *composer) message(text string, bad bool) {
	c.closeText()
	text = strings.TrimSpace(text)
	if !bad && (text == "" || text == strings.TrimSpace(c.shown.String())) {
		return
	}
	c.wordless = false
	if !bad {
		c.printText(c.stream.Write(text))
		c.closeText()
		return
	}
	c.space()
	for i, line := range c.wrapped(display.Text(text), 2) {
		mark := "  "
		if i == 0 {
			mark = "✗ "
		}
		c.print(c.paint.bad(mark + line))
	}
}
