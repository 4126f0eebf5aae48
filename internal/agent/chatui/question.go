package chatui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tape/internal/agent/approve"
	"tape/internal/show/display"
)

// pause is how long a letter has to stand alone before it decides. If more is typed until then, it begins a sentence.
const pause = 300 * time.Millisecond

// pressed says that the pause after a letter is over.
type pressed struct {
	q      *question
	letter string
}

// decision returns what a letter decides about the question.
func (m *model) decision(letter string) (d approve.Decision, ok bool) {
	d, ok = map[string]approve.Decision{"y": approve.Once, "n": approve.Deny, "s": approve.Session, "a": approve.Always}[letter]
	return d, ok && !m.sentence && (d != approve.Always || m.question.Rule != "")
}

// questionKey handles a key while a question is asked. A letter alone decides; anything else is typed
// into the editor, as a sentence for the model. A message that was begun before the question stays a
// message. handled is false if the key has its usual meaning.
func (m *model) questionKey(msg tea.KeyPressMsg) (cmd tea.Cmd, handled bool) {
	key := msg.String()
	if m.drafts = m.drafts && !m.editor.empty(); m.drafts && key != "esc" {
		return nil, false
	}
	if _, ok := m.decision(key); ok && m.editor.empty() {
		m.editor.key(msg)
		p := pressed{m.question, key}
		return tea.Tick(pause, func(time.Time) tea.Msg { return p }), true
	}
	switch key {
	case "tab": // a sentence follows, even if it is a letter that would decide
		m.sentence = true
		return nil, true
	case "esc":
		if m.editor.empty() && !m.sentence {
			return nil, false
		}
		m.sentence, m.drafts = false, false
		m.editor.set("")
		return nil, true
	case "enter":
		text := strings.TrimSpace(m.editor.text())
		if d, ok := m.decision(text); ok {
			m.decide(approve.Answer{Decision: d})
		} else if text != "" {
			m.editor.submitted(text)
			m.decide(approve.Answer{Decision: approve.Deny, Message: text})
		}
		return nil, true
	}
	return nil, false
}

// letterAlone lets a letter decide, unless more was typed.
func (m *model) letterAlone(p pressed) {
	if m.question != p.q || m.editor.text() != p.letter {
		return
	}
	if d, ok := m.decision(p.letter); ok {
		m.decide(approve.Answer{Decision: d})
	}
}

func (m *model) decide(a approve.Answer) {
	m.question.answer <- a
	m.question, m.sentence, m.asked = nil, false, nil
	m.editor.set("")
}

// ask shows a question. If the command or diff does not fit on the screen, it is printed above the question.
func (m *model) ask(q *question) {
	m.question, m.sentence, m.drafts = q, false, !m.editor.empty()
	m.asked = m.ui.composer.asked(q.Request)
	if len(m.asked) > max(3, m.tallest()-8) {
		m.outbox = append(m.outbox, m.asked...)
		m.asked = nil
	}
}

// questionView returns the lines of the question, which is shown above the editor.
func (m *model) questionView() (lines []string) {
	p, r := m.ui.composer.paint, m.question.Request
	what := display.Line(r.Tool) + " asks"
	if r.Title != "" {
		what = oneLine(r.Title)
	}
	path := display.Line(r.Path)
	if strings.Contains(what, path) {
		path = ""
	}
	lines = append(lines, m.fit(p.bold("? "+what)+p.faint("  "+path)))
	lines = append(lines, m.asked...)
	_, letter := m.decision(m.editor.text())
	switch {
	case m.drafts && !m.editor.empty():
		return append(lines, m.fit(p.faint("first: Enter sends what you were typing · Esc clears it")))
	case m.sentence || !m.editor.empty() && !letter:
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
