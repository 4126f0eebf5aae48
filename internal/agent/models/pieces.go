package models

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tape/internal/text/jsonl"
	"tape/repo/view"
)

// toolCall is a call of a tool, as it comes in pieces.
type toolCall struct {
	id, name, arguments string
	item                string          // the id of a response's item, by which its pieces name it
	last                string          // the last piece of the arguments
	kept                json.RawMessage // members that the server wants back; nil: none
}

// callPiece is a piece of a call. What a server leaves out is empty.
type callPiece struct {
	index     int // -1: none
	id, name  string
	item      string
	arguments string
	kept      json.RawMessage
}

// maxCalls is how many calls an answer may have.
const maxCalls = 1000

// addPiece adds a piece of a call to the call that it belongs to, or begins another one. Servers number the calls of an
// answer, or give all the number 0, or none; some repeat the id and the name in each piece.
// (ollama/ollama#15457, InternLM/lmdeploy#3412, SamSaffron/term-llm#314)
func (a *answer) addPiece(p callPiece) error {
	t := a.pieceOf(p)
	if t == nil {
		if p.index >= maxCalls || len(a.calls) >= maxCalls {
			return fmt.Errorf("the answer has a call with the number %d, and may have %d", max(p.index, len(a.calls)), maxCalls)
		}
		t = &toolCall{}
		a.calls, a.order = append(a.calls, t), append(a.order, 'c')
	}
	if p.index >= 0 {
		if a.byIndex == nil {
			a.byIndex = map[int]*toolCall{}
		}
		a.byIndex[p.index] = t
	}
	if t.id == "" {
		t.id = p.id
	}
	t.item = cmp.Or(t.item, p.item)
	switch {
	case t.name == "":
		t.name = p.name
	case p.name != t.name && t.arguments == "":
		t.name += p.name // a name in pieces
	}
	if p.kept != nil {
		t.kept = p.kept
	}
	return t.addArguments(p.arguments)
}

// pieceOf returns the call to which a piece belongs; nil if it begins one.
func (a *answer) pieceOf(p callPiece) *toolCall {
	var t *toolCall
	if p.index >= 0 {
		t = a.byIndex[p.index]
	} else if len(a.calls) > 0 {
		t = a.calls[len(a.calls)-1]
	}
	if i := slices.IndexFunc(a.calls, func(c *toolCall) bool { return c.id == p.id && p.id != "" && (c.name == p.name || p.name == "") }); i >= 0 && (t == nil && p.index < 0 || t != nil && t.id != p.id) {
		t = a.calls[i]
	}
	if t == nil {
		return nil
	}
	full := isObject(t.arguments)
	switch {
	case p.id != "" && t.id != "" && p.id != t.id && (p.name != "" || full):
		return nil
	case p.name == "" || t.name == "":
		return t
	case full && (p.id == "" || p.id != t.id):
		return nil
	case p.name != t.name && (t.arguments != "" || a.knows(t.name)):
		return nil
	}
	return t
}

// knows reports whether a name is that of a tool.
func (a *answer) knows(name string) bool {
	for _, t := range a.tools {
		if t.Name == name || view.ToolName(t.Name) == name {
			return true
		}
	}
	return false
}

func (t *toolCall) addArguments(arguments string) error {
	if arguments == "" || isObject(t.arguments) && strings.TrimSpace(arguments) == strings.TrimSpace(t.arguments) {
		return nil // the whole call came again
	}
	t.last = arguments
	if t.arguments += arguments; len(t.arguments) > maxAnswer {
		return fmt.Errorf("a call of %s has more than %d MiB of arguments", t.name, maxAnswer>>20)
	}
	return nil
}

// endCalls makes the calls as the model meant them. Those that came twice are one.
func (a *answer) endCalls() {
	var once, apart []*toolCall
	for _, t := range a.calls {
		apart = append(apart, t.mended()...)
	}
	for _, t := range apart {
		if !slices.ContainsFunc(once, func(o *toolCall) bool {
			return o.id != "" && o.id == t.id && o.name == t.name && o.arguments == t.arguments
		}) {
			once = append(once, t)
		}
	}
	a.calls = once
}

// mended returns a call with the arguments that were meant: servers and models write null for none, the object within a
// text or a block of code, and several objects one after the other, which are several calls. Arguments of which each
// piece had all that came before are the last piece.
// (vllm-project/vllm#54964, BerriAI/litellm#21331, unslothai/unsloth#10059)
func (t *toolCall) mended() []*toolCall {
	text := strings.TrimSpace(t.arguments)
	if inner, ok := strings.CutPrefix(text, "```"); ok && strings.HasSuffix(inner, "```") {
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(inner, "json"), "```"))
	}
	if inner, ok := jsonl.String([]byte(text)); ok && isObject(inner) && json.Valid([]byte(text)) {
		text = strings.TrimSpace(inner)
	}
	if list := objectList(text); list != "" {
		text = list
	} else if !json.Valid([]byte(text)) {
		text = escaped(text)
	}
	switch {
	case text == "null":
		t.arguments = ""
	case isObject(text):
		t.arguments = text
	case strings.HasPrefix(text, "{"):
		list := objectsIn(text)
		if len(list) == 0 && isObject(t.last) {
			list = []string{t.last}
		}
		if len(list) == 0 {
			break
		}
		t.arguments = list[0]
		out := []*toolCall{t}
		for _, arguments := range list[1:] {
			out = append(out, &toolCall{name: t.name, arguments: arguments})
		}
		return out
	}
	return []*toolCall{t}
}

// objectList returns the object in a list of one; "" if a text is none.
func objectList(text string) (only string) {
	if !strings.HasPrefix(text, "[") || !json.Valid([]byte(text)) {
		return ""
	}
	n := 0
	for el := range jsonl.Elements([]byte(text)) {
		n, only = n+1, string(el)
	}
	if n != 1 || !isObject(only) {
		return ""
	}
	return only
}

// escaped returns a text that is not JSON with what models leave unescaped in its strings: control characters, and
// backslashes that escape nothing. Between the strings, \n is left out. What was cut stays so. (NousResearch/hermes-agent#110436,
// OpenHands/software-agent-sdk#2488)
func escaped(text string) string {
	var out strings.Builder
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch {
		case c == '\\' && !inString && strings.IndexByte("nrt", next) >= 0:
			i++
		case c == '\\' && inString && next == 'u' && i+6 <= len(text) && json.Valid([]byte(`"`+text[i:i+6]+`"`)), c == '\\' && inString && next != 'u' && strings.IndexByte(`"\/bfnrt`, next) >= 0:
			out.WriteString(text[i : i+2])
			i++
		case c == '\\' && inString:
			out.WriteString(`\\`)
		case c < ' ' && inString:
			fmt.Fprintf(&out, `\u%04x`, c)
		default:
			inString = inString != (c == '"')
			out.WriteByte(c)
		}
	}
	return out.String()
}

// objectsIn returns the different objects of which a text consists, without those that the next one goes on with; nil if
// it has anything else. Words and braces after the last one do not count (NousResearch/hermes-agent#79333).
func objectsIn(text string) (list []string) {
	d := json.NewDecoder(strings.NewReader(text))
	seen := map[string]bool{}
	for {
		var raw json.RawMessage
		begin := d.InputOffset()
		switch err := d.Decode(&raw); {
		case errors.Is(err, io.EOF), err != nil && !strings.Contains(text[begin:], "{"):
			return list
		case err != nil || raw[0] != '{':
			return nil
		case seen[canonical(raw)]:
			continue
		case len(list) > 0 && strings.HasPrefix(string(raw), strings.TrimSuffix(list[len(list)-1], "}")):
			delete(seen, canonical([]byte(list[len(list)-1])))
			list[len(list)-1] = string(raw)
		default:
			list = append(list, string(raw))
		}
		seen[canonical(raw)] = true
	}
}

// canonical returns a value without white space between its members, and with these in order.
func canonical(raw []byte) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		if out, err := json.Marshal(v); err == nil {
			return string(out)
		}
	}
	return string(raw)
}

// isObject reports whether a text is a whole JSON object.
func isObject(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}

// textOf returns the text of a JSON value: of a string, or of the parts of a list that are texts. What is thought in
// such a list is returned apart (https://docs.mistral.ai/capabilities/reasoning).
func textOf(raw json.RawMessage) (said, thought string) {
	if len(raw) == 0 {
		return "", ""
	}
	switch raw[0] {
	case '"':
		said, _ = jsonl.String(raw)
	case '{':
		switch jsonl.GetString(raw, "type") {
		case "thinking", "reasoning", "thought":
			for _, name := range []string{"thinking", "text", "reasoning"} {
				more, deeper := textOf(jsonl.Get(raw, name))
				if thought = more + deeper; thought != "" {
					break
				}
			}
		default:
			said, thought = textOf(jsonl.Get(raw, "text"))
		}
	case '[':
		for el := range jsonl.Elements(raw) {
			s, t := textOf(el)
			said, thought = said+s, thought+t
		}
	}
	return said, thought
}

// rawText returns a JSON string's text, or other JSON as it is: arguments that a server sends as an object.
func rawText(raw json.RawMessage) string {
	if text, ok := jsonl.String(raw); ok {
		return text
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}
