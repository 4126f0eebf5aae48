package record

import (
	"bytes"
	"strings"

	"tape/internal/text/jsonl"
)

// shown is what the model knows of a call: its input and the content of its result.
type shown struct {
	content, input []byte // raw
	// These are made when they are first needed.
	said    map[string]struct{} // strings of the input
	text    string              // of the content, with a newline before and after it
	unlined string              // the same without line numbers
}

// longEnough is the length from which a text inside of another one counts as a repetition, not as a
// coincidence.
const longEnough = 24

// Remainder returns a copy of detail without what the content of the result or the input of the call
// has; nil if nothing is left. It keeps numbers and true, and drops what is [Blank].
func Remainder(detail, content, input []byte) []byte {
	t := &shown{content: content, input: input}
	return t.rest(detail)
}

func resultText(content []byte) string {
	if len(content) > 0 && content[0] == '"' {
		return Text(content)
	}
	var parts []string
	for block := range jsonl.Elements(content) {
		if s := Text(jsonl.Get(block, "text")); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

func (t *shown) rest(v []byte) []byte {
	if len(v) == 0 || Blank(v) {
		return nil
	}
	switch v[0] {
	case '"':
		if t.isRepeated(v) {
			return nil
		}
	case '{':
		o := NewObject(len(v))
		for name, field := range jsonl.Fields(v) {
			if name == "type" && string(field) == `"text"` {
				continue
			}
			o.Raw(name, t.rest(field))
		}
		return o.OrNil()
	case '[':
		// Elements have a meaning only together: keep all or none.
		repeated := true
		for e := range jsonl.Elements(v) {
			if repeated = t.rest(e) == nil; !repeated {
				break
			}
		}
		if repeated {
			return nil
		}
	}
	return bytes.Clone(v)
}

func (t *shown) has(s string) bool {
	if s = strings.TrimSpace(s); s == "" {
		return true
	}
	if t.said == nil {
		text := resultText(t.content)
		t.text, t.unlined = "\n"+text+"\n", "\n"+withoutLineNumbers(text)+"\n"
		t.said = map[string]struct{}{}
		eachString(t.input, func(text string) { t.said[strings.TrimSpace(text)] = struct{}{} })
	}
	if _, ok := t.said[s]; ok || containsLines(t.text, s) || containsLines(t.unlined, s) {
		return true
	}
	after, ok := strings.CutPrefix(s, "Error: ")
	return ok && strings.Contains(t.text[1:len(t.text)-1], after)
}

// isRepeated reports whether the input or the content has a raw string.
func (t *shown) isRepeated(v []byte) bool {
	if t.repeats(v) {
		return true
	}
	// The same program escaped them all, so a longer string cannot be in them. If that is wrong,
	// something is kept twice, and nothing is lost.
	if len(v) > len(t.content) && len(v) > len(t.input) {
		return false
	}
	return t.has(Text(v))
}

// repeats reports, without decoding, whether a raw string is surely in the input or the content. Most
// are, with the same escapes.
func (t *shown) repeats(v []byte) bool {
	if bytes.Contains(t.input, v) {
		return true
	}
	inside := bytes.TrimSuffix(v[1:len(v)-1], []byte(`\n`))
	if len(inside) < longEnough {
		return false
	}
	i := bytes.Index(t.content, inside)
	// After a backslash, the first byte would be half an escape.
	return i > 0 && t.content[i-1] != '\\'
}

// containsLines reports whether text, which is between newlines, contains s: anywhere if s is long, as
// complete lines if it is short.
func containsLines(text, s string) bool {
	if len(s) < longEnough {
		s = "\n" + s + "\n"
	}
	return strings.Contains(text, s)
}

// withoutLineNumbers removes the line numbers of a listing, such as "    12→" or "12\t". It returns ""
// for any other text.
func withoutLineNumbers(text string) string {
	if numbered(text) == 0 {
		return ""
	}
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		b.WriteString(line[numbered(line):])
	}
	return b.String()
}

// numbered returns the length of the line number that a line begins with.
func numbered(line string) int {
	number := strings.TrimLeft(line, " ")
	rest := strings.TrimLeft(number, "0123456789")
	for _, sep := range []string{"→", "\t"} {
		if after, ok := strings.CutPrefix(rest, sep); ok && len(rest) < len(number) {
			return len(line) - len(after)
		}
	}
	return 0
}
