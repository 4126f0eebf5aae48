package chatui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"tape/internal/agent/approve"
	"tape/internal/show/display"
)

// questionKey handles a key while a question is asked. A letter alone decides; anything else is typed
// into the editor, as a sentence for the model. It reports false if the key has its usual meaning.
func (m *model) questionKey(msg tea.KeyPressMsg) bool {
	decide := map[string]approve.Decision{"y": approve.Once, "n": approve.Deny, "s": approve.Session, "a": approve.Always}
	key := msg.String()
	if d, ok := decide[key]; ok && m.editor.empty() && !m.sentence && (d != approve.Always || m.question.Rule != "") {
		m.decide(approve.Answer{Decision: d})
		return true
	}
	switch key {
	case "tab": // what follows is a sentence, also if it begins with such a letter
		m.sentence = true
		return true
	case "esc":
		m.sentence = false
		m.editor.set("")
		return true
	case "enter":
		if text := strings.TrimSpace(m.editor.text()); text != "" {
			m.editor.taken(text)
			m.decide(approve.Answer{Decision: approve.Deny, Message: text})
		}
		return true
	}
	return false
}

func (m *model) decide(a approve.Answer) {
	m.question.answer <- a
	m.question, m.sentence, m.asked = nil, false, nil
}

// ask shows a question. What does not fit on the screen is printed above it.
func (m *model) ask(q *question) {
	m.question, m.sentence = q, false
	m.asked = m.ui.composer.asked(q.Request, m.width)
	if len(m.asked) > max(3, m.tallest()-8) {
		m.outbox = append(m.outbox, m.asked...)
		m.asked = nil
	}
}

// questionView is the question as it is shown above the editor.
func (m *model) questionView() (lines []string) {
	p, r := m.ui.composer.paint, m.question.Request
	what := display.Line(r.Tool) + " asks"
	if r.Title != "" {
		what = oneLine(r.Title)
	}
	lines = append(lines, m.fit(p.bold("? "+what)+p.faint("  "+display.Line(r.Path))))
	lines = append(lines, m.asked...)
	if m.sentence || !m.editor.empty() {
		return append(lines, m.fit(p.faint("Enter refuses it and tells the model this · Esc: back to the question")))
	}
	rule := display.Line(r.Rule)
	keys := []string{p.accent("y") + " yes", p.accent("n") + " no"}
	session := p.accent("s") + " always in this session"
	if rule != "" {
		session += p.faint(": " + rule)
		keys = append(keys, session, p.accent("a")+" always in this project"+p.faint(": "+rule))
	} else {
		keys = append(keys, session)
	}
	return append(lines, m.joined(append(keys, p.accent("tab")+" or type: tell the model what to do instead"))...)
}
