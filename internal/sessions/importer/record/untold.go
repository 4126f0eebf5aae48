package record

import (
	"bytes"
	"strings"

	"tape/internal/text/jsonl"
)

// hearsay is what the model was told by a result, and had said in its call.
type hearsay struct {
	content, input []byte // raw
	// These are made when they are needed first.
	said    map[string]struct{} // strings of the input
	text    string              // of the content, between line ends
	unlined string              // the same without the line numbers of a listing
}

// longEnough is the length from which a text found inside of another one is
// taken to be a repetition, not a coincidence.
const longEnough = 24

// Untold returns the part of detail that neither the content of the result nor
// the input of the call has, as owned JSON, or nil when nothing is left.
// Numbers and true are kept; empty values and false say nothing.
func Untold(detail, content, input []byte) []byte {
	t := &hearsay{content: content, input: input}
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

// hear collects the strings of the call's input.
func (t *hearsay) hear(v []byte) {
	if len(v) == 0 {
		return
	}
	switch v[0] {
	case '"':
		t.said[strings.TrimSpace(Text(v))] = struct{}{}
	case '{':
		for _, v := range jsonl.Fields(v) {
			t.hear(v)
		}
	case '[':
		for v := range jsonl.Elements(v) {
			t.hear(v)
		}
	}
}

func (t *hearsay) rest(v []byte) []byte {
	if len(v) == 0 || Blank(v) {
		return nil
	}
	switch v[0] {
	case '"':
		if t.told(v) {
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
		// An element only means something among its neighbours.
		told := true
		for e := range jsonl.Elements(v) {
			if told = t.rest(e) == nil; !told {
				break
			}
		}
		if told {
			return nil
		}
	}
	return bytes.Clone(v)
}

func (t *hearsay) has(s string) bool {
	if s = strings.TrimSpace(s); s == "" {
		return true
	}
	if t.said == nil {
		text := resultText(t.content)
		t.text, t.unlined = "\n"+text+"\n", "\n"+withoutLineNumbers(text)+"\n"
		t.said = map[string]struct{}{}
		t.hear(t.input)
	}
	if _, ok := t.said[s]; ok || containsLines(t.text, s) || containsLines(t.unlined, s) {
		return true
	}
	after, ok := strings.CutPrefix(s, "Error: ")
	return ok && strings.Contains(t.text[1:len(t.text)-1], after)
}

// told reports whether a raw string was told already.
func (t *hearsay) told(v []byte) bool {
	if t.repeats(v) {
		return true
	}
	// One program spelled them all, so what is longer than either is not in
	// them. Even where that is wrong, something is kept twice and not lost.
	if len(v) > len(t.content) && len(v) > len(t.input) {
		return false
	}
	return t.has(Text(v))
}

// repeats reports, without decoding anything, whether a raw string is surely
// one of the call's or a part of the result. Most are, spelled the same.
func (t *hearsay) repeats(v []byte) bool {
	if bytes.Contains(t.input, v) {
		return true
	}
	inside := bytes.TrimSuffix(v[1:len(v)-1], []byte(`\n`))
	if len(inside) < longEnough {
		return false
	}
	i := bytes.Index(t.content, inside)
	// Behind a backslash, the first byte would be half an escape.
	return i > 0 && t.content[i-1] != '\\'
}

// containsLines reports whether s is in text, which is between line ends: anywhere when
// it is long, as whole lines when it is short.
func containsLines(text, s string) bool {
	if len(s) < longEnough {
		s = "\n" + s + "\n"
	}
	return strings.Contains(text, s)
}

// withoutLineNumbers takes the numbers of a listing off its lines, or returns
// "" when text is no listing. They look like "    12→" or "12\t".
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

// numbered returns the length of the line number that line starts with.
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
