package conversation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/internal/show/display"
	"tape/internal/store/activity"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// contentParts parses a message's content or a result: a string, an array of parts, or any JSON.
func contentParts(raw []byte) []ContentPart {
	if text, ok := jsonl.String(raw); ok {
		return []ContentPart{{Text: text}}
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] != '[' {
		return appendPart(nil, raw, raw[0] == '{' && jsonl.Get(raw, "artifact") != nil)
	}
	var out []ContentPart
	for el := range jsonl.Elements(raw) {
		out = appendPart(out, el, true)
	}
	return out
}

// appendPart appends an element of an array of parts, or any JSON if isPart is false.
func appendPart(to []ContentPart, el []byte, isPart bool) []ContentPart {
	if text, ok := jsonl.String(el); ok {
		return append(to, ContentPart{Text: text})
	}
	if !isPart {
		return append(to, ContentPart{Kind: "json", Text: readable(el), Raw: el})
	}
	kind := jsonl.GetString(el, "type")
	if media, data := display.Picture(el); data != "" && display.IsShown(media) {
		about := fmt.Sprintf("%s, %s", media, display.Bytes(int64(len(data)/4*3)))
		return append(to, ContentPart{Kind: cmp.Or(kind, "image"), Text: about, Picture: "data:" + media + ";base64," + data, File: true})
	}
	if f := display.FileOf(el); f.Data != "" && !strings.HasPrefix(f.Media, "image/") {
		about := fmt.Sprintf("%s, %s", f.Media, display.Bytes(int64(len(f.Data)/4*3)))
		return append(to, ContentPart{Kind: cmp.Or(kind, "file"), Text: strings.TrimPrefix(f.Name+", "+about, ", "), File: true})
	}
	about := artifactOf(jsonl.Get(el, "artifact"))
	if text, ok := jsonl.String(jsonl.Get(el, "text")); ok && (kind == "" || strings.HasSuffix(kind, "text")) {
		to = append(to, ContentPart{Text: text})
		if about != "" {
			to = append(to, ContentPart{Kind: "artifact", Text: about, File: true})
		}
		return to
	}
	if kind != "" && about != "" {
		return append(to, ContentPart{Kind: kind, Text: about, File: true})
	}
	return append(to, ContentPart{Kind: cmp.Or(kind, "json"), Text: readable(el), Raw: el})
}

// artifactOf describes the artifact that a value refers to; "" if it is not a reference.
func artifactOf(val []byte) string {
	if refs := repo.References(repo.Entry{Payload: fmt.Appendf(nil, `{"artifact":%s}`, val)}); val != nil && len(refs) == 1 {
		return refs[0].About() + ", " + refs[0].ID
	}
	return ""
}

// messageParts is the content of a message or system prompt, with the rest of its payload.
func messageParts(e repo.Entry) []ContentPart {
	return append(contentParts(jsonl.Get(e.Payload, "content")),
		moreParts(e.Payload, "role", "content", "tool_calls", "tool_call_id")...)
}

// moreParts returns a part with the fields of a payload that are not shown otherwise; nil if there are none.
func moreParts(payload []byte, shown ...string) []ContentPart {
	if text := otherFields(payload, shown...); text != "" {
		return []ContentPart{{Kind: "more", Text: text}}
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

// readCalls reads the calls of an entry.
func readCalls(e repo.Entry) []*Call {
	var list []byte
	switch e.Kind {
	case repo.KindMessage, repo.KindSystem:
		list = jsonl.Get(e.Payload, "tool_calls")
	case repo.KindToolCall:
		list = jsonl.Get(e.Payload, "calls")
	}
	var out []*Call
	for raw := range jsonl.Elements(list) {
		c := &Call{ID: jsonl.GetString(raw, "id"), Name: cmp.Or(jsonl.GetString(raw, "function", "name"), jsonl.GetString(raw, "name"), "call"), Entry: e.ID, raw: raw}
		c.began, _ = e.Time() // zero: the duration stays unknown
		for _, path := range [][]string{{"function", "arguments"}, {"arguments"}, {"input"}} {
			if args := jsonl.Get(raw, path...); args != nil {
				text, ok := jsonl.String(args)
				if !ok {
					text = string(args)
				}
				c.Arguments = text
				break
			}
		}
		out = append(out, c)
	}
	return out
}

// Args returns the arguments as readable text, with the call's other fields.
func (c *Call) Args() string {
	if jsonl.GetString(c.raw, "function", "name")+jsonl.GetString(c.raw, "name") == "" {
		return readable(c.raw)
	}
	args := c.Arguments
	if c.Object() != nil {
		args = readable([]byte(args))
	}
	if more := otherFields(c.raw, "id", "type", "function", "name", "arguments", "input"); more != "" {
		args += "\n" + more
	}
	return args
}

// Object returns the arguments if they are a JSON object, otherwise nil.
func (c *Call) Object() []byte {
	if args := []byte(c.Arguments); jsonl.IsObject(args) && jsonl.Valid(args) == nil {
		return args
	}
	return nil
}

// Brief returns the most telling argument, or the values of all. Of a patch, these are its files.
func (c *Call) Brief() string {
	if strings.Contains(c.Arguments, "*** Begin Patch") {
		var paths []string
		for _, f := range activity.PatchedFiles(activity.DoingOf(c.Name, c.Object()).Patch) {
			paths = append(paths, f.Path)
		}
		if len(paths) > 0 {
			return strings.Join(paths, ", ")
		}
	}
	return cmp.Or(mainArgument([]byte(c.Arguments)), values(c.Args()))
}

// readResults reads the results of an entry. The first one also has the rest of the payload.
func readResults(e repo.Entry) []Result {
	var out []Result
	for raw := range jsonl.Elements(jsonl.Get(e.Payload, "results")) {
		r := Result{Entry: e, Index: len(out), Parts: contentParts(raw), raw: raw}
		if r.Index == 0 {
			r.Parts = append(r.Parts, moreParts(e.Payload, "results")...)
		}
		out = append(out, r)
	}
	return out
}

// ranFor is how long a call ran, as its detail says; false if it does not.
func ranFor(detail []byte) (time.Duration, bool) {
	number := func(name string) (int64, bool) {
		n, err := strconv.ParseInt(string(jsonl.Get(detail, name)), 10, 64)
		return n, err == nil && n >= 0
	}
	began, begun := number("started_at_ms") // Codex
	ended, known := number("completed_at_ms")
	if begun && known && ended >= began {
		return time.Duration(ended-began) * time.Millisecond, true
	}
	for _, name := range []string{"durationMs", "totalDurationMs"} { // Claude Code
		if ran, ok := number(name); ok {
			return time.Duration(ran) * time.Millisecond, true
		}
	}
	return 0, false
}

// values returns the values of readable arguments, without their names.
func values(args string) string {
	const most = 560 // bytes
	if len(args) > most {
		args = strings.ToValidUTF8(args[:most], "")
	}
	var out []string
	for l := range strings.SplitSeq(args, "\n") {
		if name, val, ok := strings.Cut(l, ":"); ok && !strings.ContainsAny(name, " \t/") {
			l = val
		}
		out = append(out, l)
	}
	return strings.Join(out, " ")
}

// mainArgument returns the most telling argument of a call, such as a command or a path; "" if it
// has none.
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

// readable writes JSON for people: each field of an object on a line of its own, strings decoded,
// anything else on one line.
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

// fillPhase reads the name, summary and state of a phase from its anchor.
func (it *Item) fillPhase() {
	it.Name, it.State = jsonl.GetString(it.Entry.Payload, "name"), jsonl.Get(it.Entry.Payload, "state")
	var shown []string
	switch {
	case jsonl.IsObject(it.State):
		if it.Summary = jsonl.GetString(it.State, "summary"); it.Summary != "" {
			shown = []string{"summary"}
		}
		it.Details = otherFields(it.State, shown...)
	case it.State != nil && string(it.State) != "null":
		it.Details = readable(it.State)
	}
	it.Typed = typed(it.Details)
}

// Name is the event's name; for other kinds of entries, the kind.
func (ev Event) Name() string {
	if name := jsonl.GetString(ev.Entry.Payload, "name"); name != "" && ev.Entry.Kind == repo.KindEvent {
		return name
	}
	return ev.Entry.Kind
}

// Data is the event's payload without its name, as readable text.
func (ev Event) Data() string {
	payload := ev.Entry.Payload
	if ev.Entry.Kind != repo.KindEvent {
		return readable(payload)
	}
	var data string
	if raw := jsonl.Get(payload, "data"); raw != nil {
		data = readable(raw)
	}
	if more := otherFields(payload, "name", "data"); more != "" {
		data = strings.TrimPrefix(data+"\n"+more, "\n")
	}
	return data
}

// Thinking is the text of a model's thinking; "" for other events.
func (ev Event) Thinking() string {
	if ev.Entry.Kind != repo.KindEvent || jsonl.GetString(ev.Entry.Payload, "name") != "thinking" {
		return ""
	}
	return jsonl.GetString(ev.Entry.Payload, "data", "thinking")
}

func errorText(e repo.Entry) (title, details string) {
	kind, message := jsonl.GetString(e.Payload, "kind"), jsonl.GetString(e.Payload, "message")
	return strings.TrimSuffix(strings.TrimPrefix(kind+": "+message, ": "), ": "), otherFields(e.Payload, "kind", "message")
}
