package about

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// How long a title is, in characters. A paragraph of a few words alone is not enough of one.
const (
	longestTitle = 100
	shortTitle   = 16
)

// ask makes a title of a message that a person wrote.
func (t *Tape) ask(e layout.Entry) {
	if hidden(e) {
		return
	}
	if t.Asked = Prompt(e); !t.Given {
		t.Title = t.Asked
	}
}

// Prompt is what a person asked in an entry, on one line and cut as a title is; "" if the entry
// is not a person's message.
func Prompt(e layout.Entry) (title string) {
	if e.Role() != "user" || string(jsonl.Get(e.Meta, "source", "extra", "isMeta")) == "true" {
		return ""
	}
	content := jsonl.Get(e.Payload, "content")
	if text, ok := jsonl.String(content); ok {
		return asked(text)
	}
	for part := range jsonl.Elements(content) {
		text, _ := jsonl.String(jsonl.Get(part, "text"))
		if title = asked(text); title != "" {
			break
		}
	}
	return title
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// injected is the name of the tag that a text begins with, where it is a program's. They put
// texts of their own where a person's stand. Most are in tags, with a hyphen or an underscore
// in their names; those of HTML have none.
func injected(text string) string {
	name, ok := strings.CutPrefix(text, "<")
	end := strings.IndexAny(name, " >")
	if !ok || end < 0 {
		return ""
	}
	name = name[:end]
	sign := strings.TrimLeft(name, letters)
	if name != "INSTRUCTIONS" && (sign == name || len(sign) < 2 || strings.Trim(sign, letters+"-_") != "") {
		return ""
	}
	return name
}

// slash reports whether a text is a command to the program: /review the branch.
func slash(text string) bool {
	word, ok := strings.CutPrefix(text, "/")
	if end := strings.IndexFunc(word, unicode.IsSpace); end >= 0 {
		word = word[:end]
	}
	rest := strings.TrimLeft(word, letters)
	return ok && rest != word && strings.Trim(rest, letters+"0123456789_:-") == ""
}

// noise is what texts begin with that programs write in the place of a person.
var noise = []string{
	"[Request interrupted", "Caveat: The messages below", "This session is being continued from a previous conversation",
	"# AGENTS.md instructions", "Base directory for this skill:",
}

// request is the heading behind which an editor puts what was asked, after what is open.
const request = "## My request for Codex:"

// ByPerson reports whether a text that stands where a person's does is one, and not a program's.
func ByPerson(text string) bool { return asked(text) != "" }

// asked returns what a person asked in a text, as a title; "" if nothing.
func asked(text string) string {
	if _, after, ok := strings.Cut(text, request); ok {
		text = after
	}
	for {
		text = strings.TrimSpace(text)
		tag := injected(text)
		if tag == "" {
			break
		}
		_, after, closed := strings.Cut(text, "</"+tag+">")
		if !closed {
			return ""
		}
		text = after
	}
	for _, start := range noise {
		if strings.HasPrefix(text, start) {
			return ""
		}
	}
	if slash(text) {
		return ""
	}
	return squeeze(text)
}

// squeeze brings the beginning of a text on one line, cut behind a word.
func squeeze(text string) string {
	const enough = (longestTitle + 1) * utf8.UTFMax
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if b.Len() > enough || line == "" && b.Len() > shortTitle {
			break
		}
		for _, word := range strings.Fields(line[:min(len(line), 4*enough)]) {
			b.WriteByte(' ')
			b.WriteString(word)
		}
	}
	words := strings.ToValidUTF8(strings.TrimSpace(b.String()), "")
	n, space, full := 0, 0, 0
	for i, r := range words {
		if n == longestTitle {
			return strings.TrimRightFunc(words[:cmp.Or(space, full)], unicode.IsPunct) + "…"
		}
		n++
		full = i + utf8.RuneLen(r)
		if r == ' ' && n > longestTitle/2 {
			space = i
		}
	}
	return words
}
