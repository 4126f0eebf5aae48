package chatui

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	xansi "github.com/charmbracelet/x/ansi"

	"tape/internal/show/display"
)

// A paste with more lines or bytes than these is shown as a short mark in the editor, and is sent as it is.
// So is a paste of several lines that has tabs, because the editor would change the tabs.
const (
	pasteLines = 15
	pasteBytes = 1500
)

// editor is the library's text area with a history and with pastes of any length. Its keys move over and delete
// whole characters.
type editor struct {
	area   textarea.Model
	pastes map[string]string // by their marks

	history []string // what was typed, the oldest first
	at      int      // index of the shown entry of history; len(history) for the draft
	draft   string
}

func newEditor(colors bool) *editor {
	e := &editor{area: textarea.New(), pastes: map[string]string{}}
	a := &e.area
	a.ShowLineNumbers, a.DynamicHeight, a.MinHeight, a.MaxHeight, a.MaxContentHeight = false, true, 1, 10, 10000
	a.CharLimit = 0
	a.SetVirtualCursor(false)
	a.KeyMap.InsertNewline.SetKeys("alt+enter", "ctrl+j", "shift+enter")
	a.KeyMap.Paste.SetEnabled(false)
	a.KeyMap.TransposeCharacterBackward.SetEnabled(false)
	styles := textarea.Styles{}
	if colors {
		styles.Focused.Prompt = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
		styles.Focused.Placeholder = lipgloss.NewStyle().Faint(true)
	}
	a.SetStyles(styles)
	a.SetPromptFunc(2, func(p textarea.PromptInfo) string {
		if p.LineNumber == 0 {
			return "> "
		}
		return "  "
	})
	a.Focus()
	return e
}

// text returns what was typed, with pastes in the place of their marks.
func (e *editor) text() string {
	text := e.area.Value()
	for mark, paste := range e.pastes {
		text = strings.ReplaceAll(text, mark, paste)
	}
	return text
}

func (e *editor) empty() bool { return strings.TrimSpace(e.area.Value()) == "" }

// set replaces the text. A long one becomes a paste.
func (e *editor) set(text string) {
	e.area.Reset()
	e.insert(text)
}

// insert inserts a text at the cursor.
func (e *editor) insert(text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Count(text, "\n") + 1
	if lines > pasteLines || len(text) > pasteBytes || lines > 1 && strings.Contains(text, "\t") {
		mark := fmt.Sprintf("[paste %d: %s, %s]", len(e.pastes)+1, display.Count(lines, "line", "lines"), display.Bytes(int64(len(text))))
		e.pastes[mark] = text
		text = mark
	}
	e.area, _ = e.area.Update(tea.PasteMsg{Content: text})
}

// submitted empties the editor, and adds the text that was sent to the history.
func (e *editor) submitted(text string) {
	e.area.Reset()
	clear(e.pastes)
	if n := len(e.history); n == 0 || e.history[n-1] != text {
		e.history = append(e.history, text)
	}
	e.at = len(e.history)
}

// remember puts older entries in front of the history.
func (e *editor) remember(older []string) {
	e.history = append(slices.Clone(older), e.history...)
	e.at = len(e.history)
}

// key passes a key to the text area. A key that moves over or deletes a character is passed as often as the character
// has code points.
func (e *editor) key(msg tea.KeyPressMsg) {
	times := 1
	switch msg.String() {
	case "backspace", "ctrl+h", "left", "ctrl+b":
		times = e.character(false)
	case "delete", "ctrl+d", "right", "ctrl+f":
		times = e.character(true)
	}
	for range times {
		e.area, _ = e.area.Update(msg)
	}
}

// character returns how many code points the character before or after the cursor has, at least 1.
func (e *editor) character(after bool) int {
	lines := strings.Split(e.area.Value(), "\n")
	row, col := e.area.Line(), e.area.Column()
	if row >= len(lines) {
		return 1
	}
	runes := []rune(lines[row])
	for at := 0; at < len(runes); {
		cluster, _ := xansi.FirstGraphemeCluster(string(runes[at:]), xansi.GraphemeWidth)
		n := max(1, len([]rune(cluster)))
		if after && at+n > col {
			return at + n - col
		}
		if !after && at+n >= col {
			return max(1, col-at)
		}
		at += n
	}
	return 1
}

// older and newer walk through the history. They report false if the key should move the cursor instead.
func (e *editor) older() bool {
	if e.area.Line() > 0 || e.area.LineInfo().RowOffset > 0 || e.at == 0 {
		return false
	}
	if e.at == len(e.history) {
		e.draft = e.area.Value()
	}
	e.at--
	e.set(e.history[e.at])
	return true
}

func (e *editor) newer() bool {
	if e.area.Line() < e.area.LineCount()-1 || e.at >= len(e.history) {
		return false
	}
	e.at++
	if e.at == len(e.history) {
		e.set(e.draft)
	} else {
		e.set(e.history[e.at])
	}
	return true
}

// find returns the index of the newest entry of the history that is before an index and contains a text; -1 if there
// is none.
func (e *editor) find(text string, before int) int {
	text = strings.ToLower(text)
	for i := min(before, len(e.history)) - 1; i >= 0; i-- {
		if strings.Contains(strings.ToLower(e.history[i]), text) {
			return i
		}
	}
	return -1
}

// shown returns a text as one short line that is safe to show.
func shown(text string) string {
	return display.Safe(strings.Join(strings.Fields(display.Shorten(text, longestLine)), " "), joiner)
}
