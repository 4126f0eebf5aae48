package record

import (
	"bytes"
	"slices"
	"strconv"

	"tape/internal/text/jsonl"
)

// Object builds a JSON object.
type Object struct{ b []byte }

// NewObject begins an object of about size bytes.
func NewObject(size int) *Object {
	return &Object{b: append(make([]byte, 0, size+2), '{')}
}

func (o *Object) key(name string) {
	if len(o.b) > 1 {
		o.b = append(o.b, ',')
	}
	o.b = append(jsonl.AppendString(o.b, name), ':')
}

// Raw adds a member whose value is valid JSON, unless v is nil.
func (o *Object) Raw(name string, v []byte) *Object {
	if v != nil {
		o.key(name)
		o.b = append(o.b, v...)
	}
	return o
}

// Str adds a string.
func (o *Object) Str(name, v string) *Object {
	o.key(name)
	o.b = jsonl.AppendString(o.b, v)
	return o
}

func (o *Object) strs(name string, vs []string) *Object {
	if vs == nil {
		return o
	}
	list := make([][]byte, len(vs))
	for i, v := range vs {
		list[i] = Quote(v)
	}
	return o.Raw(name, Array(list))
}

// All adds the members of an object, except some.
func (o *Object) All(obj []byte, but ...string) *Object {
	for name, v := range jsonl.Fields(obj) {
		if !slices.Contains(but, name) {
			o.Raw(name, v)
		}
	}
	return o
}

// Rest adds the members that are not [Blank], except some.
func (o *Object) Rest(obj []byte, but ...string) *Object {
	for name, v := range jsonl.Fields(obj) {
		if !Blank(v) && !slices.Contains(but, name) {
			o.Raw(name, v)
		}
	}
	return o
}

// As adds the members of an object, some under other names; the name "" leaves one out.
func (o *Object) As(obj []byte, names map[string]string) *Object {
	for name, v := range jsonl.Fields(obj) {
		if as, ok := names[name]; ok {
			name = as
		}
		if name != "" {
			o.Raw(name, v)
		}
	}
	return o
}

// Empty reports whether nothing was added yet.
func (o *Object) Empty() bool { return len(o.b) == 1 }

// Done closes the object. Nothing may be added afterwards.
//
// It is not inlined, because it is called at 400 places.
//
//go:noinline
func (o *Object) Done() []byte {
	o.b = append(o.b, '}')
	return o.b
}

// OrNil is Done, or nil for an object without members.
func (o *Object) OrNil() []byte {
	if o.Empty() {
		return nil
	}
	return o.Done()
}

// Without returns a copy of an object without some of its members.
func Without(obj []byte, members ...string) []byte {
	return NewObject(min(len(obj), 1024)).All(obj, members...).Done()
}

// With returns a copy of an object, or of nil, with one more member.
func With(obj []byte, name string, v []byte) []byte {
	return NewObject(len(obj)+len(name)+len(v)).All(obj).Raw(name, v).Done()
}

// List adds a list of values that are valid JSON.
func (o *Object) List(name string, elements [][]byte) *Object {
	o.key(name)
	o.b = append(o.b, '[')
	for i, el := range elements {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = append(o.b, el...)
	}
	o.b = append(o.b, ']')
	return o
}

// Array returns a JSON array.
func Array(elements [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(elements, []byte(",")), []byte("]"))
}

// Blank reports whether a value is null, false or empty: it says no more than its absence would.
func Blank(v []byte) bool {
	switch string(v) {
	case "null", "false", `""`, "[]", "{}":
		return true
	}
	return false
}

// Or returns raw, or other if raw is nil.
func Or[V string | []byte](raw []byte, other V) []byte {
	if raw == nil {
		return []byte(other)
	}
	return raw
}

// Text decodes a JSON string. It returns "" for anything else.
func Text(raw []byte) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	s, _ := jsonl.String(raw)
	return s
}

// Inside returns the JSON in a JSON string, or nil.
func Inside(raw []byte) []byte {
	if inside := []byte(Text(raw)); jsonl.Valid(inside) == nil {
		return inside
	}
	return nil
}

// Quote returns a text as JSON.
func Quote(s string) []byte { return jsonl.AppendString(make([]byte, 0, len(s)+2), s) }

// Compact returns a copy of JSON without whitespace; what is not JSON, as it is.
func Compact(raw []byte) []byte {
	out, err := jsonl.Compact(make([]byte, 0, len(raw)), raw)
	if err != nil {
		return raw
	}
	return out
}

// Plain returns a content that is all text as one JSON string, with the escapes it had; any other
// content as it is, and false.
func Plain(content []byte) (plain []byte, all bool) {
	switch {
	case len(content) == 0, string(content) == "null":
		return []byte(`""`), true
	case content[0] == '"':
		return content, true
	case content[0] != '[':
		return content, false
	}
	var texts [][]byte // JSON strings
	for el := range jsonl.Elements(content) {
		v := el
		if el[0] != '"' {
			v = jsonl.Get(el, "text")
			switch Text(jsonl.Get(el, "type")) {
			case "input_text", "output_text", "text", "":
			default:
				return content, false
			}
		}
		if len(v) == 0 || v[0] != '"' {
			return content, false
		}
		if len(texts) > 0 || len(v) > len(`""`) {
			texts = append(texts, v)
		}
	}
	if len(texts) == 1 {
		return texts[0], true // not copied: it may have many megabytes
	}
	b := []byte{'"'}
	for i, v := range texts {
		if i > 0 {
			b = append(b, `\n\n`...)
		}
		b = append(b, v[1:len(v)-1]...)
	}
	return append(b, '"'), true
}

// Difference returns a number less another one, but not less than 0; the number itself if other is none, and nil if the
// first is none.
func Difference(number, other []byte) []byte {
	n, err := strconv.ParseFloat(string(number), 64)
	if err != nil {
		return nil
	}
	less, err := strconv.ParseFloat(string(other), 64)
	if err != nil {
		return bytes.Clone(number)
	}
	return strconv.AppendFloat(nil, max(0, n-less), 'f', -1, 64)
}
