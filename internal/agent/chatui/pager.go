package chatui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tape/internal/show/display"
)

// page is a text for the pager, or the reason why there is none.
type page struct {
	text string
	err  error
}

// programEnded says that the pager or the user's editor has ended.
type programEnded struct {
	file  string
	edits bool // it was the editor: the file has the message
	err   error
}

// openResults makes a page of the last results, the newest first.
func (m *model) openResults() tea.Cmd {
	out := make(chan []result, 1)
	m.ui.composer.do(func(c *composer) {
		list := slices.Clone(c.results)
		for _, l := range c.calls { // those that still run come first
			list = append(list, result{title: display.Line(l.name) + ", running", arguments: l.arguments, text: l.tail})
		}
		out <- list
	})
	return func() tea.Msg {
		var list []result
		select {
		case list = <-out:
		case <-m.ctx.Done():
			return nil
		}
		if len(list) == 0 {
			return page{err: errors.New("there are no results yet")}
		}
		var b strings.Builder
		for _, r := range slices.Backward(list) {
			b.WriteString(m.whole(m.ctx, r))
		}
		return page{text: b.String()}
	}
}

// whole formats a result with its whole text.
func (m *model) whole(ctx context.Context, r result) string {
	text := r.text
	if r.artifact != "" && m.ui.o.Whole != nil {
		if all, err := m.ui.o.Whole(ctx, r.artifact); err == nil {
			text = all
		} else {
			text += "\n[the whole result could not be read: " + err.Error() + "]"
		}
	}
	out := "▸ " + display.Line(r.title) + "\n"
	if args := strings.TrimSpace(r.arguments); args != "" && args != "{}" {
		out += indented(display.Text(args)) + "\n"
	}
	return out + indented(safe(text)) + "\n\n"
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}

// openThought makes a page of the last reasoning.
func (m *model) openThought() tea.Cmd {
	out := make(chan string, 1)
	m.ui.composer.do(func(c *composer) { out <- c.thought.String() })
	return func() tea.Msg {
		select {
		case text := <-out:
			if strings.TrimSpace(text) == "" {
				return page{err: errors.New("the model has shown no reasoning yet")}
			}
			return page{text: display.Text(text) + "\n"}
		case <-m.ctx.Done():
			return nil
		}
	}
}

// program returns the value of the first variable in settings that is not blank, or else the first of the known
// programs that is installed; "" if there is none.
func (m *model) program(settings, known []string) string {
	for _, name := range settings {
		if command := m.ui.env(name); strings.TrimSpace(command) != "" {
			return command
		}
	}
	for _, command := range known {
		if _, err := exec.LookPath(command); err == nil {
			return command
		}
	}
	return ""
}

// pager shows a text in the user's pager.
func (m *model) pager(text string) tea.Cmd {
	command := m.program([]string{"PAGER"}, []string{"less", "more"})
	if command == "" {
		return m.tell("there is no pager: install less, or set PAGER")
	}
	return m.withFile("tape-result-", text, command, false)
}

// external starts the user's editor with what was typed so far.
func (m *model) external() tea.Cmd {
	command := m.program([]string{"VISUAL", "EDITOR"}, []string{"nano", "vi"})
	if command == "" {
		return m.tell("there is no editor: set EDITOR")
	}
	return m.withFile("tape-message-", m.editor.text(), command, true)
}

// withFile runs the user's editor or pager on a file with the text, and gives it the terminal. prefix is the
// beginning of the name of the file's temporary folder.
func (m *model) withFile(prefix, text, command string, edits bool) tea.Cmd {
	dir, err := os.MkdirTemp("", prefix)
	file := filepath.Join(dir, "message.md")
	if err == nil {
		if err = os.WriteFile(file, []byte(text), 0o600); err != nil {
			_ = os.RemoveAll(dir)
		}
	}
	if err != nil {
		return m.tell(fmt.Sprintf("cannot start %s: %v", command, err))
	}
	cmd := display.Program(m.ctx, command, file)
	cmd.Env = m.ui.o.Env
	if !edits && m.ui.env("LESS") == "" {
		cmd.Env = append(slices.Clone(cmd.Env), "LESS=R")
	}
	m.away = true
	return tea.ExecProcess(cmd, func(err error) tea.Msg { return programEnded{file, edits, err} })
}

// back is called when a program has given the terminal back.
func (m *model) back(msg programEnded) tea.Cmd {
	m.away = false
	defer os.RemoveAll(filepath.Dir(msg.file))
	if msg.err != nil {
		return m.tell(msg.err.Error())
	}
	if msg.edits {
		raw, err := os.ReadFile(msg.file)
		if err != nil {
			return m.tell(err.Error())
		}
		m.editor.set(strings.TrimRight(strings.ToValidUTF8(string(raw), "\uFFFD"), "\n"))
	}
	return nil
}
