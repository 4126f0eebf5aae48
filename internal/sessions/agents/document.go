package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// document is a settings file of JSON, perhaps with comments. It is changed as a text, so the rest of it keeps its
// bytes.
type document struct {
	raw  []byte
	root hujson.Value
}

const byteOrderMark = "\xef\xbb\xbf"

// readDocument parses a file; an empty one is an empty object.
func readDocument(raw []byte) (*document, error) {
	d := &document{raw: raw}
	if len(bytes.TrimSpace(bytes.TrimPrefix(raw, []byte(byteOrderMark)))) == 0 {
		d.raw = append(raw[:len(raw):len(raw)], "{}\n"...)
	}
	if err := d.parse(); err != nil {
		return nil, err
	}
	if _, ok := d.root.Value.(*hujson.Object); !ok {
		return nil, fmt.Errorf("it is not a JSON object")
	}
	return d, nil
}

func (d *document) parse() (err error) {
	text := append(bytes.Clone(d.raw), '\n') // a comment may end the file
	if bytes.HasPrefix(text, []byte(byteOrderMark)) {
		copy(text, "   ") // offsets stay what they are
	}
	if d.root, err = hujson.Parse(text); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	return nil
}

// get finds a value by its path through objects; nil if it is not there. If a name is there twice, the last one counts,
// as it does for the agents.
func (d *document) get(path ...string) *hujson.Value {
	at := &d.root
	for _, name := range path {
		obj, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		at = nil
		for i := range obj.Members {
			if lit, ok := obj.Members[i].Name.Value.(hujson.Literal); ok && lit.String() == name {
				at = &obj.Members[i].Value
			}
		}
		if at == nil {
			return nil
		}
	}
	return at
}

// object returns the object that is a member of the file. If the member is missing or empty, it becomes an object.
func (d *document) object(name string) (*hujson.Value, error) {
	v := d.get(name)
	var err error
	switch {
	case v == nil:
		err = d.add(&d.root, name, struct{}{})
	case v.Value.Kind() != '{' && d.isEmpty(v):
		err = d.splice(v.StartOffset, v.EndOffset, "{}")
	}
	if err != nil {
		return nil, err
	}
	if v = d.get(name); v.Value.Kind() != '{' {
		return nil, fmt.Errorf("%q is not an object: correct it, or take it out", name)
	}
	return v, nil
}

// isEmpty reports whether a value says that there is nothing, as some programs write it, and has no comment: null, or a list
// or an object without content.
func (d *document) isEmpty(v *hujson.Value) bool {
	switch strings.Join(strings.Fields(string(d.raw[v.StartOffset:v.EndOffset])), "") {
	case "null", "[]", "{}":
		return true
	}
	return false
}

// data returns a value without comments, as JSON.
func data(v *hujson.Value) []byte {
	c := v.Clone()
	c.Standardize()
	return c.Pack()
}

// children returns the values in an object or array; the offset at which each member or element begins; the spaces and
// comments before each; and those after the last one.
func children(v *hujson.Value) (list []*hujson.Value, begin []int, before []hujson.Extra, rest hujson.Extra) {
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			m := &c.Members[i]
			list, begin, before = append(list, &m.Value), append(begin, m.Name.StartOffset), append(before, m.Name.BeforeExtra)
		}
		rest = c.AfterExtra
	case *hujson.Array:
		for i := range c.Elements {
			e := &c.Elements[i]
			list, begin, before = append(list, e), append(begin, e.StartOffset), append(before, e.BeforeExtra)
		}
		rest = c.AfterExtra
	}
	return list, begin, before, rest
}

// newline returns how lines of the file end.
func (d *document) newline() string {
	if i := bytes.IndexByte(d.raw, '\n'); i > 0 && d.raw[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// unit returns the indentation of one level.
func (d *document) unit() string {
	if _, begin, _, _ := children(&d.root); len(begin) > 0 {
		if in := d.indent(begin[0]); in != "" {
			return in
		}
	}
	return "  "
}

// indent returns the spaces and tabs that the line of an offset begins with.
func (d *document) indent(at int) string {
	line := d.raw[bytes.LastIndexByte(d.raw[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// splice replaces a piece of the text, and parses the result.
func (d *document) splice(from, to int, text string) error {
	d.raw = bytes.Join([][]byte{d.raw[:from], []byte(text), d.raw[to:]}, nil)
	return d.parse()
}

// add adds a value at the end of an object, under a name, or at the end of an array.
func (d *document) add(in *hujson.Value, name string, value any) error {
	list, begin, _, rest := children(in)
	nl, unit := d.newline(), d.unit()
	oneLine := len(list) > 0 && !bytes.ContainsRune(d.raw[in.StartOffset:in.EndOffset], '\n')
	outer := d.indent(in.StartOffset)
	inner := outer + unit
	if len(list) > 0 && !oneLine {
		inner = d.indent(begin[len(begin)-1])
	}
	text := render(name, value, inner, unit, nl, oneLine)
	end := in.EndOffset - 1
	if len(list) == 0 {
		at := end - len(rest) + len(strings.TrimRight(string(rest), " \t\r\n"))
		return d.splice(at, end, nl+inner+text+nl+outer)
	}
	last := list[len(list)-1]
	// Comments stay where they are.
	at := end - len(rest) + len(strings.TrimRight(string(rest), " \t\r\n"))
	if last.AfterExtra != nil { // there is a comma after it
		text += ","
	}
	if oneLine {
		text = " " + text
	} else {
		text = nl + inner + text
	}
	if last.AfterExtra == nil {
		d.raw = bytes.Join([][]byte{d.raw[:at], []byte(text), d.raw[at:]}, nil)
		return d.splice(last.EndOffset, last.EndOffset, ",")
	}
	return d.splice(at, at, text)
}

// render returns a value as text, on one line or on several.
func render(name string, value any, indent, unit, nl string, oneLine bool) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if !oneLine {
		enc.SetIndent(indent, unit)
	}
	if name != "" {
		key, _ := json.Marshal(name)
		out.Write(key)
		out.WriteString(": ")
	}
	_ = enc.Encode(value) // maps and strings of our own
	return strings.ReplaceAll(strings.TrimSuffix(out.String(), "\n"), "\n", nl)
}

// remove removes a child of an object or array. It undoes add byte for byte.
func (d *document) remove(in *hujson.Value, i int) error {
	list, begin, before, rest := children(in)
	space := string(before[i])
	comment := strings.TrimRight(space, " \t\r\n")
	from := begin[i] - (len(space) - len(comment))
	to := list[i].EndOffset
	comma := func(v *hujson.Value) int { return v.EndOffset + len(v.AfterExtra) }
	inner := i < len(list)-1 || list[i].AfterExtra != nil
	if inner {
		to = comma(list[i]) + 1
	}
	if after, _, _ := bytes.Cut(d.raw[to:], []byte("\n")); len(bytes.TrimSpace(after)) > 0 && strings.Contains(comment[strings.LastIndexByte(comment, '\n')+1:], "//") {
		from += strings.IndexByte(space[len(comment):], '\n') + 1 // the comment ends with its line
	}
	switch {
	case len(list) == 1 && len(strings.TrimSpace(string(rest))) == 0 && list[i].AfterExtra == nil:
		end := ""
		if strings.TrimSpace(space) != "" { // a comment, perhaps one up to the end of its line
			end = d.newline() + d.indent(in.EndOffset-1)
		}
		return d.splice(from, in.EndOffset-1, end)
	case inner:
		return d.splice(from, to, "")
	case i > 0:
		d.raw = bytes.Join([][]byte{d.raw[:from], d.raw[to:]}, nil)
		at := comma(list[i-1])
		return d.splice(at, at+1, "")
	}
	return d.splice(from, to, "")
}
