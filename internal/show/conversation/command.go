package conversation

import (
	"regexp"
	"strings"
	"sync"

	"tape/internal/store/about"
)

// Command is a command that a person typed to the agent's program, and its output.
type Command struct{ Typed, Printed string }

// readCommand parses a text that consists of the tags in which Claude Code records commands. It
// returns nil for any other text.
func readCommand(text string) *Command {
	var c Command
	args := ""
	for text = strings.TrimSpace(text); text != ""; {
		if text[0] != '<' {
			return nil
		}
		name, rest, _ := strings.Cut(text, ">")
		inner, after, closed := strings.Cut(rest, "</"+strings.TrimPrefix(name, "<")+">")
		if !closed {
			return nil
		}
		switch inner = strings.TrimSpace(inner); name {
		case "<command-name":
			c.Typed += inner
		case "<command-args":
			args = strings.TrimRight(args+" "+inner, " ")
		case "<command-message": // the name again
		case "<bash-input":
			c.Typed += "! " + inner
		case "<local-command-stdout", "<local-command-stderr", "<local-command-caveat", "<bash-stdout", "<bash-stderr":
			c.Printed += inner + "\n"
		default:
			return nil
		}
		text = strings.TrimSpace(after)
	}
	c.Typed += args
	c.Printed = colours().ReplaceAllString(strings.TrimSpace(c.Printed), "")
	return &c
}

// typed returns the command in the state of a phase, "" if there is none.
func typed(state string) string {
	if c := readCommand(strings.TrimPrefix(state, "content:")); c != nil {
		return c.Typed
	}
	return ""
}

// WithoutContext removes the date and source that the built-in agent puts before a message.
func WithoutContext(text string) string {
	rest, ok := strings.CutPrefix(text, "<message_context>")
	if _, said, closed := strings.Cut(rest, "</message_context>"); ok && closed {
		return strings.TrimSpace(said)
	}
	return text
}

// Said is the text of a part without what programs put around it: a command that was sent to the model as it was typed.
func (p ContentPart) Said() string {
	if p.Command != nil && about.SentCommand(strings.TrimSpace(p.Text)) != "" {
		return p.Command.Typed
	}
	return WithoutContext(p.Text)
}

// colours matches the escape sequences of colours.
var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;]*m`) })
