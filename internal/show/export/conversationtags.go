package export

import "strings"

// localCommand reads a text that is nothing but the tags in which Claude Code keeps what a
// person typed for the program, and what that printed; false if it is anything else.
func localCommand(text string) (typed, printed string, ok bool) {
	args := ""
	for text = strings.TrimSpace(text); text != ""; {
		name, rest, _ := strings.Cut(text, ">")
		inner, after, closed := strings.Cut(rest, "</"+strings.TrimPrefix(name, "<")+">")
		if !closed {
			return "", "", false
		}
		switch inner = strings.TrimSpace(inner); name {
		case "<command-name":
			typed += inner
		case "<command-args":
			args = strings.TrimRight(args+" "+inner, " ")
		case "<command-message": // the name again
		case "<bash-input":
			typed += "! " + inner
		case "<local-command-stdout", "<local-command-stderr", "<local-command-caveat", "<bash-stdout", "<bash-stderr":
			printed += inner + "\n"
		default:
			return "", "", false
		}
		text = strings.TrimSpace(after)
	}
	return typed + args, withoutColours(strings.TrimSpace(printed)), true
}

// withoutContext leaves out what the agent puts before a message: the date, and where it is from.
func withoutContext(text string) string {
	rest, ok := strings.CutPrefix(text, "<message_context>")
	if _, said, closed := strings.Cut(rest, "</message_context>"); ok && closed {
		return strings.TrimSpace(said)
	}
	return text
}

// withoutColours leaves out the sequences that colour a text on a terminal.
func withoutColours(text string) string {
	var out strings.Builder
	for {
		before, after, coloured := strings.Cut(text, "\x1b[")
		out.WriteString(before)
		if !coloured {
			return out.String()
		}
		text = after
		if rest, ok := strings.CutPrefix(strings.TrimLeft(after, "0123456789;"), "m"); ok {
			text = rest
		} else {
			out.WriteString("\x1b[")
		}
	}
}
