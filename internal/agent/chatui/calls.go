package chatui

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	xansi "github.com/charmbracelet/x/ansi"

	"tape/hooks"
	"tape/internal/agent/approve"
	"tape/internal/show/callview"
	"tape/internal/show/conversation"
	"tape/internal/show/display"
)

// liveCall is a call that has no result yet.
type liveCall struct {
	id, name, arguments string
	began               time.Time
	tail                string // the end of what it has written
	bytes               int64
}

// result is a call with its result, for the pager.
type result struct {
	title, arguments, text string
	artifact               string // the id, or its beginning, of the artifact with the whole text; "" if text is whole
}

// How much of a call is shown; the rest can be opened.
const (
	resultLines  = 5  // the end of what a command wrote
	failureLines = 12 // if it failed
	diffLines    = 40
)

// view returns what a call is about. If callview finds no subject, the arguments are the subject.
func (c *composer) view(name, arguments string, detail []byte) callview.View {
	v := callview.Of(&conversation.Call{Name: name, Arguments: arguments, Detail: detail}, c.ui.o.Dir)
	if v.Subject == "" && strings.Trim(arguments, "{} \n") != "" {
		v.Subject = arguments
	}
	return v
}

// output keeps the end of what a running call has written.
func (c *composer) output(data hooks.Envelope) {
	id := data.Text("id")
	bytes, _ := data["bytes"].(int64)
	for _, l := range c.calls {
		if l.id == id {
			l.tail, l.bytes = data.Text("text"), bytes
			return
		}
	}
	if c.plain { // a comma command runs it
		c.calls = append(c.calls, &liveCall{id: id, name: data.Text("name"), began: c.began, tail: data.Text("text"), bytes: bytes})
	}
}

// runningCall shows a call that runs, with the last lines of its output: at most rows, and at most resultLines.
func (c *composer) runningCall(l *liveCall, rows int) block {
	lines := []string{c.title("", l.name, c.view(l.name, l.arguments, nil).Subject, c.cells()-8)}
	tail := strings.TrimRight(safe(l.tail), "\n ")
	if tail == "" {
		return block{lines: lines, since: l.began}
	}
	all := strings.Split(tail, "\n")
	for _, line := range all[max(0, len(all)-min(rows, resultLines)):] {
		if room := c.cells() - 3; xansi.StringWidth(line) > room { // the end of the line is shown
			line = xansi.TruncateLeft(line, xansi.StringWidth(line)-room+1, "…")
		}
		lines = append(lines, c.paint.faint("  "+line))
	}
	return block{lines: lines, since: l.began}
}

// title is the first line of a call.
func (c *composer) title(mark, name, subject string, cells int) string {
	cells = max(8, cells)
	head := mark + display.Truncate(display.Line(name), max(4, cells/2))
	if room := cells - display.Width(head) - 2; subject != "" && room > 3 {
		return c.paint.accent(head) + "  " + xansi.Truncate(oneLine(subject), room, "…")
	}
	return c.paint.accent(head)
}

// callHead is a call's first line with its outcome. If there is little room, the outcome gets its own line.
func (c *composer) callHead(l *liveCall, outcome string) []string {
	subject := c.view(l.name, l.arguments, nil).Subject
	room := c.cells() - xansi.StringWidth(outcome) - 2
	if room < 24 {
		return []string{c.title("▸ ", l.name, subject, c.cells()), c.fit("  " + outcome)}
	}
	return []string{c.title("▸ ", l.name, subject, room) + "  " + outcome}
}

// result shows the result of a call.
func (c *composer) result(data hooks.Envelope) {
	l := &liveCall{id: data.Text("id"), name: data.Text("name"), began: time.Now()}
	for i, call := range c.calls {
		if call.id == l.id {
			l = call
			c.calls = append(c.calls[:i:i], c.calls[i+1:]...)
			break
		}
	}
	ms, _ := strconv.ParseFloat(data.Text("duration_ms"), 64)
	failed, _ := data["error"].(bool)
	c.finishedCall(l, data.Text("content"), data.Text("artifact"), failed, time.Duration(ms*float64(time.Millisecond)))
}

// finishedCall shows a finished call.
func (c *composer) finishedCall(l *liveCall, content, artifact string, failed bool, took time.Duration) {
	var detail []byte
	if !failed {
		detail = patchOf(c.ui.o.Dir, l.name, l.arguments, content)
	}
	v := c.view(l.name, l.arguments, detail)
	c.keep(result{title: strings.TrimSpace(display.Line(l.name) + " " + oneLine(v.Subject)), arguments: l.arguments, text: content, artifact: artifact})
	outcome, details := c.outcome(l.name, v, content, artifact != "", failed)
	if took >= time.Millisecond {
		outcome += c.paint.faint(" · " + duration(took))
	}
	c.space()
	c.print(c.callHead(l, outcome)...)
	for _, line := range details {
		c.print(c.fit(line))
	}
	if len(details) > 0 {
		c.print("")
	}
}

// outcome says how a call ended, and returns the lines that are shown of its result. long says that the
// whole result is an artifact.
func (c *composer) outcome(name string, v callview.View, content string, long, failed bool) (outcome string, details []string) {
	code, text := exitCode(name, content, failed)
	all := strings.Split(strings.TrimRight(safe(text), "\n "), "\n")
	amount := display.Count(len(all), "line", "lines")
	if strings.TrimSpace(text) == "" || text == "(no output)" {
		all, amount = nil, "no output"
	}
	total := len(all)
	if long {
		amount = longAmount(content)
		number, _, _ := strings.Cut(amount, " ")
		if n, err := strconv.Atoi(number); err == nil {
			total = n
		}
	}
	switch {
	case failed:
		switch {
		case content == approve.Refusal: // the person has just refused it
			return c.paint.bad("✗ refused"), nil
		case strings.HasPrefix(content, "refused"), strings.HasPrefix(content, "denied"):
			wrapped := c.wrapped(strings.Join(all, "\n"), 2)
			return c.paint.bad("✗ refused"), c.tail(wrapped, len(wrapped), failureLines, false)
		case code != "":
			return c.paint.bad("✗ " + code + " · " + amount), c.tail(all, total, failureLines, false)
		}
		return c.paint.bad("✗ failed"), c.tail(all, total, failureLines, false)
	case v.Shape == callview.Command:
		return c.paint.good("✓") + c.paint.faint(" "+strings.TrimPrefix(code+" · "+amount, " · ")), c.tail(all, total, resultLines, true)
	case v.Shape == callview.Edit && len(v.Files) > 0:
		return c.paint.good(fmt.Sprintf("+%d", v.Added)) + " " + c.paint.bad(fmt.Sprintf("-%d", v.Removed)), c.diff(v.Files)
	case v.Shape == callview.Write:
		what, _, _ := strings.Cut(content, ":")
		lines := strings.Count(strings.TrimSuffix(v.Code, "\n"), "\n") + 1
		return c.paint.good("✓") + c.paint.faint(fmt.Sprintf(" %s · %s · %s", cmp.Or(display.Line(display.Truncate(what, 12)), "written"),
			display.Count(lines, "line", "lines"), display.Bytes(int64(len(v.Code))))), nil
	}
	return c.paint.good("✓") + c.paint.faint(" "+amount), nil
}

// exitCode splits the result of bash into its exit code, as in "exit 1", and what the command wrote. The code is "" for
// other tools, and if a failure does not begin with one.
func exitCode(name, content string, failed bool) (code, output string) {
	if name != "bash" {
		return "", content
	}
	if !failed {
		return "exit 0", content
	}
	first, rest, ok := strings.Cut(content, "\noutput:\n")
	if said, isCode := strings.CutPrefix(first, "exit code "); ok && isCode {
		return "exit " + display.Line(said), rest
	}
	return "", content
}

// longAmount returns how many lines a result has that is stored as an artifact: "20000 lines" for
// "[bash: 108894 characters in 20000 lines are the artifact …"; "long" if content does not say it.
func longAmount(content string) string {
	first, _, _ := strings.Cut(content, " are the artifact")
	_, lines, ok := strings.Cut(first, " in ")
	if !ok {
		return "long"
	}
	return display.Line(display.Truncate(lines, 20))
}

// artifactIn returns the beginning of the id of the artifact with the whole result, which a shortened result names; ""
// if it names none.
func artifactIn(content string) string {
	_, rest, _ := strings.Cut(content, " are the artifact ")
	id, _, ok := strings.Cut(rest, " of ")
	if !ok {
		return ""
	}
	return id
}

// tail returns the last lines of a call's output, at most `most`. total is how many lines the output has.
func (c *composer) tail(all []string, total, most int, faint bool) (lines []string) {
	all = all[max(0, len(all)-most):]
	if more := total - len(all); more > 0 {
		lines = append(lines, c.paint.faint(fmt.Sprintf("  … %d more, Ctrl-O shows all", more)))
	}
	for _, line := range all {
		line = "  " + xansi.Truncate(line, c.cells()-2, "…")
		if faint {
			line = c.paint.faint(line)
		}
		lines = append(lines, line)
	}
	return lines
}

// diff returns lines that show how files were changed.
func (c *composer) diff(files []callview.File) (lines []string) {
	for i, f := range files {
		if i > 0 {
			lines = append(lines, c.paint.faint("  "+display.Line(f.Path)))
		}
		for _, h := range f.Hunks {
			at := h.From
			for _, l := range h.Lines {
				number := ""
				if h.From > 0 {
					number = fmt.Sprintf("%4d ", at)
				}
				lines = append(lines, c.diffLine(l.Sign, number, l.Text))
				if l.Sign != '-' {
					at++
				}
			}
		}
	}
	if more := len(lines) - diffLines; more > 0 {
		lines = append(lines[:diffLines], c.paint.faint(fmt.Sprintf("  … %d more, Ctrl-O shows all", more)))
	}
	return lines
}

func (c *composer) diffLine(sign byte, number, text string) string {
	line := xansi.Truncate("  "+number+string(sign)+" "+text, c.cells(), "…")
	switch sign {
	case '+':
		return c.paint.good(line)
	case '-':
		return c.paint.bad(line)
	}
	return c.paint.faint(line)
}

// keep keeps a result for the pager.
func (c *composer) keep(r result) {
	c.results = append(c.results, r)
	if len(c.results) > keptResults {
		c.results = append(c.results[:0:0], c.results[len(c.results)-keptResults:]...)
	}
}

// asked returns lines with the whole command or diff that the agent asks about.
func (c *composer) asked(r approve.Request) (lines []string) {
	var all []string
	for line := range strings.SplitSeq(strings.TrimRight(r.Command, "\n"), "\n") {
		if r.Command != "" {
			all = append(all, c.wrapped(display.Text(strings.ReplaceAll(line, "\t", "    ")), 4)...)
		}
	}
	for _, line := range all {
		lines = append(lines, "  "+line)
	}
	for i, line := range strings.Split(strings.TrimRight(r.Diff, "\n"), "\n") {
		if r.Diff == "" || i < 2 && (strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ")) {
			continue
		}
		sign, rest := byte(' '), line
		if line != "" {
			sign, rest = line[0], line[1:]
		}
		if sign == '@' {
			sign, rest = ' ', line
		}
		for _, piece := range c.wrapped(display.Text(strings.ReplaceAll(rest, "\t", "    ")), 4) {
			lines = append(lines, c.diffLine(sign, "", piece))
		}
	}
	return lines
}
