package chatui

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"tape/hooks"
)

// key handles a key.
func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	m.said = ""
	key := msg.String()
	if key != "ctrl+c" && key != "ctrl+d" {
		m.armed = false
	}
	if m.search != nil && key != "ctrl+c" {
		m.searchKey(msg)
		return nil
	}
	if m.question != nil && key != "ctrl+c" {
		if cmd, handled := m.questionKey(msg); handled {
			return cmd
		}
	}
	listed := m.complete != nil
	if key != "tab" {
		m.complete = nil
	}
	switch key {
	case "ctrl+c":
		return m.interrupt()
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+o":
		return m.openResults()
	case "ctrl+t":
		return m.toggleThought()
	case "esc":
		if m.frame.running && !listed {
			return m.stop()
		}
		return nil
	case "shift+tab":
		return m.changeMode()
	}
	if m.ui.o.Once && m.question == nil {
		return nil
	}
	switch key {
	case "enter":
		return m.enter()
	case "tab":
		return m.tab()
	case "ctrl+g":
		return m.external()
	case "ctrl+r":
		m.search = &search{at: len(m.editor.history), draft: m.editor.area.Value()}
		return nil
	case "ctrl+d":
		if m.editor.area.Value() == "" {
			return m.leave()
		}
	case "up":
		if m.editor.empty() && m.frame.running && len(m.ui.waitingMessages()) > 0 {
			return m.takeBack()
		}
		if m.editor.older() {
			return nil
		}
	case "down":
		if m.editor.newer() {
			return nil
		}
	}
	m.editor.key(msg)
	return nil
}

// leave ends the chat. During a turn, the person is told first what becomes of it.
func (m *model) leave() tea.Cmd {
	if m.frame.running && !m.armed {
		m.armed = true
		return m.tell("a turn is running, and goes on when you open the session again: Ctrl-D again leaves")
	}
	m.leaving = true
	return nil
}

// stop interrupts the running turn.
func (m *model) stop() tea.Cmd {
	m.said = "interrupting …"
	return func() tea.Msg { m.ui.o.Cancel(); return nil }
}

// changeMode chooses the next mode.
func (m *model) changeMode() tea.Cmd {
	if m.ui.o.NextMode == nil {
		return nil
	}
	mode, about := m.ui.o.NextMode()
	return m.tell("mode " + mode + ": " + about)
}

// interrupt ends a search, the running turn, or a draft in the editor. After Ctrl-C has ended a turn or had nothing to
// end, a second one leaves.
func (m *model) interrupt() tea.Cmd {
	switch {
	case m.search != nil:
		m.editor.set(m.search.draft)
		m.search = nil
	case m.armed:
		m.leaving = true
	case m.frame.running:
		m.armed = true
		cmd := m.stop()
		m.said += " Ctrl-C again leaves"
		return cmd
	case !m.editor.empty():
		m.editor.set("")
	default:
		m.armed = true
		m.said = "Ctrl-C again leaves"
	}
	return nil
}

// enter sends what was typed. During a turn, it steers the turn; commands wait for the end, except ,stop and ,sessions.
func (m *model) enter() tea.Cmd {
	text := asCommand(strings.TrimSpace(m.editor.text()))
	if text == "" {
		return nil
	}
	if name := unknownCommand(text); name != "" && m.refused != text {
		m.refused = text // a second Enter sends it
		return m.tell("there is no command " + name + " (,help lists them); Enter sends it to the model")
	}
	m.refused = ""
	m.editor.submitted(text)
	name, rest, _ := strings.Cut(text, " ")
	switch {
	case name == ",sessions":
		return m.sessions(strings.TrimSpace(rest))
	case name == ",stop":
		if m.frame.running {
			return m.stop()
		}
		return m.tell("no turn is running")
	case name == ",quit":
		m.quits = true
	}
	if m.frame.running && !strings.HasPrefix(text, ",") {
		return m.send(text, hooks.Steer)
	}
	return m.send(text, hooks.Undecided)
}

// slashes maps commands of other agents to those of tape.
func slashes() map[string]string {
	return map[string]string{
		"/help": ",help", "/tools": ",tools", "/model": ",model", "/sessions": ",sessions", "/resume": ",sessions", "/skill": ",skill", "/skills": ",skill",
		"/stop": ",stop", "/quit": ",quit", "/exit": ",quit", ",exit": ",quit", "/diff": ",git diff", "/status": ",tape.info",
		"/clear": ",tape.handoff name=clear", "/new": ",tape.handoff name=clear", "/compact": ",compact",
	}
}

// asCommand accepts commands as other agents spell them: /help means ,help, and !ls means ,ls. Any other text that
// begins with a slash is a message, which may be about a path.
func asCommand(text string) string {
	if line, ok := strings.CutPrefix(text, "!"); ok && strings.TrimSpace(line) != "" {
		return "," + strings.TrimSpace(line)
	}
	name, rest, args := strings.Cut(text, " ")
	known, ok := slashes()[name]
	if !ok {
		return text
	}
	if args {
		return known + " " + rest
	}
	return known
}

// unknownCommand returns the first word of a text if it looks like a command but is not one; otherwise "".
func unknownCommand(text string) string {
	name, _, _ := strings.Cut(text, " ")
	letters, ok := strings.CutPrefix(name, "/")
	if !ok || letters == "" || strings.ContainsFunc(letters, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') }) {
		return ""
	}
	if _, err := os.Lstat(name); err == nil { // it is a path
		return ""
	}
	return name
}

// tab completes the word before the cursor. During a turn, where there is nothing to complete, it lets
// the message wait for the end of the turn.
func (m *model) tab() tea.Cmd {
	value := m.editor.area.Value()
	typed := ""
	if m.complete == nil {
		m.complete = complete(m.known, value, m.cursor(value))
		if m.complete == nil {
			if text := strings.TrimSpace(m.editor.text()); m.frame.running && text != "" {
				m.editor.submitted(text)
				return m.send(text, hooks.Undecided)
			}
			return nil
		}
		typed = strings.TrimSuffix(value[len(m.complete.before):], m.complete.after)
	}
	word := m.complete.next(typed)
	list := m.complete
	if len(list.items) == 1 {
		m.complete = nil
		if !strings.HasSuffix(word, "/") {
			word += " "
		}
	}
	m.place(list.before+word, list.after)
	return nil
}

// cursor returns where the cursor is in the text, in code points.
func (m *model) cursor(value string) int {
	n, row := 0, m.editor.area.Line()
	for i, line := range strings.Split(value, "\n") {
		if i == row {
			break
		}
		n += utf8.RuneCountInString(line) + 1
	}
	return n + m.editor.area.Column()
}

// place replaces the text in the editor, and puts the cursor between before and after.
func (m *model) place(before, after string) {
	a := &m.editor.area
	a.SetValue(before + after)
	a.MoveToBegin()
	lines := strings.Split(before, "\n")
	for range len(lines) - 1 {
		a.CursorEnd()
		a.CursorDown()
	}
	a.SetCursorColumn(utf8.RuneCountInString(lines[len(lines)-1]))
	a.SetHeight(a.Height())
}

// toggleThought shows or folds the current reasoning. Finished reasoning is opened in the pager.
func (m *model) toggleThought() tea.Cmd {
	c := m.ui.composer
	live := make(chan bool, 1)
	c.do(func(c *composer) {
		if !c.thinking.IsZero() {
			c.open = !c.open
		}
		live <- !c.thinking.IsZero()
	})
	return func() tea.Msg {
		select {
		case <-m.ctx.Done():
		case on := <-live:
			if !on {
				return m.openThought()()
			}
		}
		return nil
	}
}

// sessions continues in another session: the named one, or, without a name, the one that the person picks.
func (m *model) sessions(name string) tea.Cmd {
	if m.frame.running {
		return m.tell("a turn is running: wait for its end, or interrupt it with Ctrl-C")
	}
	if name != "" {
		m.next, m.leaving = name, true
		return nil
	}
	if m.ui.o.Pick == nil {
		return m.tell("write ,sessions NAME")
	}
	m.away = true
	p := &picker{m: m}
	return tea.Exec(p, func(err error) tea.Msg { return picked{p.session, err} })
}

// picker lets the person pick a session while the program has given the terminal away.
type picker struct {
	m       *model
	in      io.Reader
	out     io.Writer
	session string
}

func (p *picker) SetStdin(in io.Reader)   { p.in = in }
func (p *picker) SetStdout(out io.Writer) { p.out = out }
func (p *picker) SetStderr(io.Writer)     {}

// Run picks.
func (p *picker) Run() (err error) {
	p.session, err = p.m.ui.o.Pick(p.m.ctx, p.in, p.out)
	return err
}

// searchKey handles a key during a search of the history.
func (m *model) searchKey(msg tea.KeyPressMsg) {
	s := m.search
	switch key := msg.String(); key {
	case "ctrl+r", "up":
		if at := m.editor.find(s.text, s.at); at >= 0 {
			s.at = at
		}
	case "down":
		for i := s.at + 1; i < len(m.editor.history); i++ {
			if m.editor.find(s.text, i+1) == i {
				s.at = i
				break
			}
		}
	case "backspace", "ctrl+h":
		runes := []rune(s.text)
		s.text = string(runes[:max(0, len(runes)-1)])
		s.at = max(0, m.editor.find(s.text, len(m.editor.history)))
	case "esc", "ctrl+g":
		m.editor.set(s.draft)
		m.search = nil
	case "enter", "tab", "left", "right", "home", "end":
		if at := m.editor.find(s.text, s.at+1); at >= 0 {
			m.editor.set(m.editor.history[at])
		}
		m.search = nil
	default:
		if msg.Text != "" {
			s.text += msg.Text
			s.at = max(0, m.editor.find(s.text, len(m.editor.history)))
		}
	}
}
