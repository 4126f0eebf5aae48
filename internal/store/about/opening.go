package about

import (
	"strings"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// Opening returns the beginning of a message on one line, cut at the end of a word. It has neither the Markdown marks
// that the message begins with nor any "**". It is "" if the message has no text.
func Opening(e layout.Entry) string {
	content := jsonl.Get(e.Payload, "content")
	if text, ok := jsonl.String(content); ok {
		return opening(text)
	}
	for part := range jsonl.Elements(content) {
		text, _ := jsonl.String(jsonl.Get(part, "text"))
		if line := opening(text); line != "" {
			return line
		}
	}
	return ""
}

func opening(text string) string {
	for rest := ""; rest != text; { // "`code`" keeps its mark, the fence of a block does not
		rest = text
		text = strings.TrimPrefix(strings.TrimLeft(text, "#>*-_ \t\r\n"), "```")
	}
	return strings.ReplaceAll(squeeze(text), "**", "")
}

// IsInterruption reports whether an entry is an agent's note that a person interrupted it.
func IsInterruption(e layout.Entry) bool {
	const note = "[Request interrupted"
	content := jsonl.Get(e.Payload, "content")
	if e.Role() != "user" || len(content) > 1<<10 {
		return false
	}
	text, ok := jsonl.String(content)
	if !ok {
		for part := range jsonl.Elements(content) {
			text, _ = jsonl.String(jsonl.Get(part, "text"))
		}
	}
	return strings.HasPrefix(text, note)
}
