package chatui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	xansi "github.com/charmbracelet/x/ansi"

	"tape/internal/agent/approve"
	"tape/internal/show/display"
)

var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// View draws the lines that still change, the editor and the lines below it.
func (m *model) View() tea.View {
	if !m.opened {
		return tea.NewView(" ")
	}
	if m.leaving && len(m.outbox) == 0 {
		return tea.NewView("")
	}
	edits := !m.ui.o.Once || m.question != nil
	var input, below []string
	if edits {
		input = m.input()
		below = m.below()
	} else if m.said != "" {
		below = []string{m.fit(shown(m.said))}
	}
	var live []string
	if m.question != nil {
		live = m.questionView()
	} else {
		live = m.live()
	}
	room := max(0, m.tallest()-len(input)-len(below))
	if len(live) > room {
		live = live[len(live)-room:]
	}
	if len(live) > 0 && edits && len(live) < room {
		live = append(live, "")
	}
	lines := append(append(live, input...), below...)
	m.drawn, m.cursorAt = lines, nil
	v := tea.NewView(strings.Join(lines, "\n"))
	if edits {
		v.Cursor = m.editor.area.Cursor()
	}
	if v.Cursor != nil {
		v.Cursor.Y += len(live)
		if m.search != nil {
			v.Cursor.X, v.Cursor.Y = min(m.width-1, xansi.StringWidth("search: "+m.search.text)), len(live)
		}
		m.cursorAt = &v.Cursor.Position
	}
	return v
}

// live returns the lines that show what the turn is doing.
func (m *model) live() (lines []string) {
	p := m.ui.composer.paint
	for _, i := range m.frame.live {
		for n, line := range i.lines {
			if n == 0 && !i.since.IsZero() {
				line = p.accent(spinner[m.tick%len(spinner)]) + " " + line + p.faint(" "+seconds(time.Since(i.since)))
			}
			lines = append(lines, m.fit(line))
		}
	}
	if pause := time.Since(m.frame.silent); m.frame.writing && pause > pauseShown {
		lines = append(lines, m.fit(p.accent(spinner[m.tick%len(spinner)])+" "+p.faint("waiting for the model "+seconds(pause))))
	}
	return lines
}

// pauseShown is the length of a pause after which the screen says that it waits for the model.
const pauseShown = 2 * time.Second

// seconds formats the time since something began.
func seconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// input returns the lines of the editor, or of the search of the history.
func (m *model) input() []string {
	if m.search == nil {
		return strings.Split(m.editor.area.View(), "\n")
	}
	found := ""
	if at := m.editor.find(m.search.text, m.search.at+1); at >= 0 {
		found = shown(m.editor.history[at])
	}
	p := m.ui.composer.paint
	return []string{m.fit(p.accent("search: ") + shown(m.search.text)), m.fit("  " + found)}
}

// below returns the lines below the editor: candidates, waiting messages, the status.
func (m *model) below() (lines []string) {
	p := m.ui.composer.paint
	if c := m.complete; c != nil {
		from := max(0, min(c.at-listed/2, len(c.items)-listed))
		for i, item := range c.items[from:min(len(c.items), from+listed)] {
			mark := "  "
			if from+i == c.at {
				mark = p.accent("▸ ")
			}
			lines = append(lines, m.fit(mark+shown(item)))
		}
		if more := len(c.items) - listed; more > 0 {
			lines = append(lines, m.fit(p.faint(fmt.Sprintf("  %d more", more))))
		}
	}
	list := m.ui.waitingMessages()
	for i, w := range list {
		what := "then: "
		if w.steers && m.frame.running {
			what = "steers: "
		} else if !m.frame.running {
			what = "sending: "
		}
		line := p.accent(what) + shown(w.text)
		if i == len(list)-1 && m.frame.running {
			room := m.width - 22
			line = xansi.Truncate(line, max(10, room), "…") + p.faint("  ↑ takes it back")
		}
		lines = append(lines, m.fit(line))
	}
	if m.search != nil {
		return append(lines, m.fit(p.faint("Ctrl-R older · Enter takes it · Esc back")))
	}
	return append(lines, m.statusLine())
}

// statusLine shows the mode, the model, the session, the size of the context and the last entry; or instead what a key
// has done, or an error.
func (m *model) statusLine() string {
	p := m.ui.composer.paint
	if m.said != "" {
		return m.fit(p.accent(shown(m.said)))
	}
	s := m.status
	mode, context, last, keys := "", "", "", ""
	if o := m.ui.o; o.Mode != nil && o.Mode() != approve.ModeAsk {
		mode = "mode " + shown(o.Mode())
	}
	switch {
	case s.Used > 0 && s.Window > 0:
		context = fmt.Sprintf("context %d %%", min(100, 100*s.Used/s.Window))
	case s.Used > 0:
		context = "context " + display.Number(s.Used) + " tokens"
	}
	if s.Last > 0 {
		last = fmt.Sprintf("@%d", s.Last)
	}
	if m.frame.running && m.width > 60 {
		keys = "Enter steers, Tab waits"
	}
	parts := []string{mode, shown(s.Model), shown(m.ui.o.Session), context, last, keys}
	line := joinedParts(parts)
	for _, least := range []int{4, 2, 3, 1} { // without room, the least important parts are left out
		if xansi.StringWidth(line) > m.width {
			parts[least] = ""
			line = joinedParts(parts)
		}
	}
	if line == "" {
		line = shown(m.ui.o.Session)
	}
	return m.fit(p.faint(line))
}

// joinedParts joins the parts that are not empty.
func joinedParts(parts []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(parts), func(s string) bool { return s == "" }), " · ")
}

func (m *model) fit(line string) string { return xansi.Truncate(line, m.width, "…") }

// joined puts parts on as few lines as they need.
func (m *model) joined(parts []string) (lines []string) {
	line := ""
	for _, part := range parts {
		switch {
		case line == "":
			line = part
		case xansi.StringWidth(line)+3+xansi.StringWidth(part) <= m.width:
			line += "   " + part
		default:
			lines = append(lines, m.fit(line))
			line = part
		}
	}
	return append(lines, m.fit(line))
}
