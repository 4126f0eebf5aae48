package export

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tape/internal/show/display"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// part is a piece of what was said: text, or something else as readable data.
type part struct {
	kind string // "" for text; else what the recorder called it: image_url, …
	text string
	data string // the data: address of a picture
	file bool   // it is a picture or an artifact
}

// contentParts reads a content or a result: a string, an array of parts, or any JSON.
func contentParts(raw []byte) []part {
	if text, ok := jsonl.String(raw); ok {
		return []part{{text: text}}
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] != '[' {
		return appendPart(nil, raw, raw[0] == '{' && jsonl.Get(raw, "artifact") != nil)
	}
	var out []part
	for el := range jsonl.Elements(raw) {
		out = appendPart(out, el, true)
	}
	return out
}

// appendPart adds one of an array's parts, or JSON that is none.
func appendPart(to []part, el []byte, isPart bool) []part {
	if text, ok := jsonl.String(el); ok {
		return append(to, part{text: text})
	}
	if !isPart {
		return append(to, part{kind: "json", text: readable(el)})
	}
	kind := jsonl.GetString(el, "type")
	if media, data := display.Picture(el); data != "" && display.IsShown(media) {
		about := fmt.Sprintf("%s, %s", media, display.Bytes(int64(len(data)/4*3)))
		return append(to, part{kind: cmp.Or(kind, "image"), text: about, data: "data:" + media + ";base64," + data, file: true})
	}
	about := artifactOf(jsonl.Get(el, "artifact"))
	if text, ok := jsonl.String(jsonl.Get(el, "text")); ok && (kind == "" || strings.HasSuffix(kind, "text")) {
		to = append(to, part{text: text})
		if about != "" {
			to = append(to, part{kind: "artifact", text: about, file: true})
		}
		return to
	}
	if kind == "image" && about != "" {
		return append(to, part{kind: kind, text: about, file: true})
	}
	return append(to, part{kind: cmp.Or(kind, "json"), text: readable(el)})
}

// artifactOf describes the artifact that a value refers to; "" if it is no reference.
func artifactOf(val []byte) string {
	if refs := repo.References(repo.Entry{Payload: fmt.Appendf(nil, `{"artifact":%s}`, val)}); val != nil && len(refs) == 1 {
		return refs[0].About() + ", " + refs[0].ID
	}
	return ""
}

// messageParts is the content of a message or system prompt, with the rest of its payload.
func messageParts(e repo.Entry) []part {
	return append(contentParts(jsonl.Get(e.Payload, "content")),
		moreParts(e.Payload, "role", "content", "tool_calls", "tool_call_id")...)
}

// moreParts is what a payload has beside the fields that are shown in their own way.
func moreParts(payload []byte, shown ...string) []part {
	if text := otherFields(payload, shown...); text != "" {
		return []part{{kind: "more", text: text}}
	}
	return nil
}

func otherFields(obj []byte, shown ...string) string {
	var b strings.Builder
	for key, val := range jsonl.Fields(obj) {
		if !slices.Contains(shown, key) {
			appendField(&b, key, val)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func readCall(raw []byte) *call {
	c := &call{id: jsonl.GetString(raw, "id"), name: cmp.Or(jsonl.GetString(raw, "function", "name"), jsonl.GetString(raw, "name"))}
	var args []byte
	for _, path := range [][]string{{"function", "arguments"}, {"arguments"}, {"input"}} {
		if args == nil {
			args = jsonl.Get(raw, path...)
		}
	}
	text, ok := jsonl.String(args)
	switch {
	case !ok:
		c.args = readable(args)
	case jsonl.IsObject([]byte(text)) && jsonl.Valid([]byte(text)) == nil:
		c.args = readable([]byte(text))
	default:
		c.args = text
	}
	if c.name == "" {
		c.name, c.args = "call", readable(raw)
	} else if more := otherFields(raw, "id", "type", "function", "name", "arguments", "input"); more != "" {
		c.args += "\n" + more
	}
	if ok {
		args = []byte(text)
	}
	c.brief = cmp.Or(mainArgument(args), brief(c.args))
	return c
}

// mainArgument is the argument of a call that tells most, as a command or a path does; "" if
// it has none of that kind.
func mainArgument(args []byte) string {
	if !jsonl.IsObject(args) {
		return ""
	}
	for _, name := range []string{"command", "cmd", "file_path", "filePath", "pattern", "path", "query", "url", "prompt"} {
		value := jsonl.Get(args, name)
		text, ok := jsonl.String(value)
		if words := jsonl.Strings(value); !ok && len(words) > 0 {
			if len(words) == 3 && strings.HasPrefix(words[1], "-") { // sh -c and its like
				words = words[2:]
			}
			text = strings.Join(words, " ")
		}
		if where := jsonl.GetString(args, "path"); name == "pattern" && where != "" && text != "" {
			text += "  " + where
		}
		if text != "" {
			return text
		}
	}
	return ""
}

// readable is JSON for people: the fields of an object one below the other, text as
// the text it is, and all else on one line.
func readable(raw []byte) string {
	if text, ok := jsonl.String(raw); ok {
		return text
	}
	if !jsonl.IsObject(raw) {
		return string(jsonl.Unescape(nil, raw))
	}
	return cmp.Or(otherFields(raw), "{}")
}

func appendField(b *strings.Builder, key string, val []byte) {
	text, ok := jsonl.String(val)
	if !ok {
		text = string(jsonl.Unescape(nil, val))
	}
	if key == "artifact" {
		text = cmp.Or(artifactOf(val), text)
	}
	b.WriteString(key)
	b.WriteByte(':')
	switch {
	case strings.Contains(text, "\n"):
		b.WriteByte('\n')
	case text != "":
		b.WriteByte(' ')
	}
	b.WriteString(text)
	b.WriteByte('\n')
}

// opening is what an anchor tells about the phase that it opens.
type opening struct {
	summary string
	state   string // readable, without the summary; "" if there is nothing else
}

func readOpening(anchor repo.Entry) opening {
	state := jsonl.Get(anchor.Payload, "state")
	var out opening
	if !jsonl.IsObject(state) {
		if state != nil && string(state) != "null" {
			out.state = readable(state)
		}
		return out
	}
	var shown []string
	if out.summary = jsonl.GetString(state, "summary"); out.summary != "" {
		shown = []string{"summary"}
	}
	out.state = otherFields(state, shown...)
	return out
}

// who is the label of an entry: a message's role, or its kind.
func who(e repo.Entry) string {
	if role := jsonl.GetString(e.Payload, "role"); role != "" && e.Kind == repo.KindMessage {
		return role
	}
	return e.Kind
}

// eventName is what an entry that is not a conversation's is called.
func eventName(e repo.Entry) string {
	if name := jsonl.GetString(e.Payload, "name"); name != "" && e.Kind == repo.KindEvent {
		return name
	}
	return e.Kind
}

// eventData is what such an entry has beside its name.
func eventData(e repo.Entry) string {
	if e.Kind != repo.KindEvent {
		return readable(e.Payload)
	}
	var data string
	if raw := jsonl.Get(e.Payload, "data"); raw != nil {
		data = readable(raw)
	}
	if more := otherFields(e.Payload, "name", "data"); more != "" {
		data = strings.TrimPrefix(data+"\n"+more, "\n")
	}
	return data
}

func errorText(e repo.Entry) (title, details string) {
	kind, message := jsonl.GetString(e.Payload, "kind"), jsonl.GetString(e.Payload, "message")
	return strings.TrimSuffix(strings.TrimPrefix(kind+": "+message, ": "), ": "), otherFields(e.Payload, "kind", "message")
}

// when is an entry's date in the local zone, which is named if it is not the given one:
// clocks change. It is as stored if it cannot be read.
func when(e repo.Entry, usual string) (text, machine string) {
	t, ok := e.Time()
	if !ok {
		return e.Date, ""
	}
	text = t.Local().Format(display.Minute)
	if z := display.Zone(t); z != usual {
		text += " " + z
	}
	return text, t.Local().Format(time.RFC3339)
}

// cut divides text behind its first lines, so that neither lines nor bytes are too
// many. Text that is only a little longer stays whole.
func cut(text string, lines, bytes int) (head, rest string) {
	end := 0
	for n := 0; n < lines && end < len(text); n++ {
		i := strings.IndexByte(text[end:], '\n')
		if i < 0 {
			end = len(text)
			break
		}
		end += i + 1
	}
	if end > bytes {
		end = bytes
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		if i := strings.LastIndexByte(text[:end], '\n'); i > bytes/2 {
			end = i + 1
		}
	}
	if rest := text[end:]; len(rest) < bytes/8 && strings.Count(rest, "\n") < lines/4 {
		return text, ""
	}
	return text[:end], text[end:]
}
