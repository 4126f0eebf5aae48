package text

import (
	"bytes"
	"slices"
	"strings"

	"tape/internal/text/jsonl"
)

// maxBlob is the greatest length in bytes of a string that looks like base64 and
// still counts as text.
const maxBlob = 1024

const blanks = " \t\r\n" // between the tokens of JSON

// extractor appends the strings of a JSON value, with Sep between them.
type extractor struct {
	dst     []byte
	src     []byte
	start   int  // of this entry's text in dst
	numbers bool // take numbers, too
	skipIDs bool // leave out the values that only connect entries
	calls   bool // arguments of tools are JSON in a string
	quiet   bool // leave out what only a program needs
	depth   int
}

// AppendEntry appends the searched text of an entry: its strings, decoded and
// separated by Sep, without the keys. Of messages, calls, system prompts and events,
// it takes numbers only from the arguments of tools. Data that is not text, such as
// an image in base64, is left out, and so are lists of ids, and what a compaction repeats, in anchors and events. payload has to be valid JSON; otherwise some of
// its text may be missing.
func AppendEntry(dst []byte, kind string, payload []byte) []byte {
	// Decoded text is hardly ever longer than the JSON.
	dst = slices.Grow(dst, len(payload))
	x := extractor{dst: dst, src: bytes.TrimLeft(payload, blanks), start: len(dst)}
	x.calls = kind == "message" || kind == "tool_call"
	x.skipIDs = x.calls || kind == "system"
	x.numbers = !x.skipIDs && kind != "event"
	nameFirst := kind == "anchor" || kind == "event"
	x.quiet = nameFirst
	if nameFirst {
		x.field([]byte(jsonl.GetString(x.src, "name")))
	}
	if nameFirst && len(x.src) > 0 && x.src[0] == '{' {
		x.items(0, "name")
	} else {
		x.value(0)
	}
	return x.dst
}

// field appends one field as it is.
func (x *extractor) field(s []byte) {
	if len(s) == 0 || isBlob(s) {
		return
	}
	x.separate()
	x.dst = append(x.dst, s...)
}

func (x *extractor) separate() {
	if len(x.dst) > x.start {
		x.dst = append(x.dst, Sep)
	}
}

// value appends the value at i, and returns the position after it: more than i,
// unless src ends at i.
func (x *extractor) value(i int) int {
	if i >= len(x.src) {
		return i
	}
	switch c := x.src[i]; {
	case c == '"':
		return x.text(i)
	case c == '{' || c == '[':
		if x.depth > 2*jsonl.MaxDepth {
			return len(x.src)
		}
		x.depth++
		i = x.items(i, "")
		x.depth--
		return i
	case c == '-' || c-'0' <= 9:
		end := x.scalar(i + 1)
		if x.numbers {
			x.separate()
			x.dst = append(x.dst, x.src[i:end]...)
		}
		return end
	}
	return x.scalar(i + 1)
}

// scalar returns the end of a number or a literal.
func (x *extractor) scalar(i int) int {
	for i < len(x.src) && strings.IndexByte(blanks+`,}]:"{[`, x.src[i]) < 0 {
		i++
	}
	return i
}

// items appends the values in the object or array at i, except that of the key omit.
func (x *extractor) items(i int, omit string) int {
	return jsonl.Items(x.src, i, func(key, keyEnd, at int) int { return x.member(x.src[key:keyEnd], at, omit) })
}

// member appends the value at i by the rules for its key.
func (x *extractor) member(key []byte, i int, omit string) int {
	if omit != "" && string(key) == omit {
		return x.skip(i)
	}
	if x.quiet && (string(key) == RepeatedHistory || bytes.HasPrefix(x.src[i:], []byte(`["`)) && BeginsWithUUID(x.src[i+2:])) {
		if end := x.skip(i); string(key) == RepeatedHistory || AreIDs(x.src[i:end]) {
			return end
		}
	}
	if x.skipIDs {
		switch string(key) {
		case "role", "type", "id", "tool_call_id", "signature", "cache_control", "media_type", "mime_type":
			return x.skip(i)
		}
	}
	if string(key) == "artifact" {
		if end := x.skip(i); jsonl.Get(x.src[i:end], "sha256") != nil { // a reference: its name is text
			x.field([]byte(jsonl.GetString(x.src[i:end], "name")))
			return end
		}
	}
	if x.calls {
		switch string(key) {
		case "arguments", "input":
			return x.arguments(i)
		}
	}
	return x.value(i)
}

// skip returns the position after the value at i.
func (x *extractor) skip(i int) int {
	n := len(x.dst)
	i = x.value(i)
	x.dst = x.dst[:n]
	return i
}

// arguments appends the arguments of a tool: JSON, or a string that usually
// holds JSON. Its keys are the tool's own, so none is left out, and numbers count.
func (x *extractor) arguments(i int) int {
	if i >= len(x.src) {
		return i
	}
	outer := *x
	x.numbers, x.skipIDs, x.calls = true, false, false
	var end int
	if x.src[i] != '"' {
		end = x.value(i)
	} else {
		var escaped bool
		end, escaped = jsonl.StringEnd(x.src, i+1)
		s := x.src[i+1 : max(i+1, end-1)]
		if escaped {
			s = jsonl.AppendDecoded(make([]byte, 0, len(s)), s)
		}
		if jsonl.Valid(s) == nil {
			x.src = bytes.TrimLeft(s, blanks)
			x.value(0)
		} else {
			x.field(s)
		}
	}
	outer.dst = x.dst
	*x = outer
	return end
}

func (x *extractor) text(i int) int {
	end, escaped := jsonl.StringEnd(x.src, i+1)
	s := x.src[i+1 : max(i+1, end-1)]
	if !escaped {
		x.field(s)
		return end
	}
	if len(s) == 0 {
		return end
	}
	n := len(x.dst)
	x.separate()
	from := len(x.dst)
	x.dst = jsonl.AppendDecoded(x.dst, s)
	if isBlob(x.dst[from:]) {
		x.dst = x.dst[:n]
	}
	return end
}

// isBlob reports whether a string is binary data rather than text.
func isBlob(s []byte) bool {
	if bytes.HasPrefix(s, []byte("data:")) && bytes.Contains(s[:min(len(s), 256)], []byte(";base64,")) {
		return true
	}
	if len(s) <= maxBlob {
		return false
	}
	runs := 0 // a string that is one run makes only one term, so it may stay
	for _, c := range s {
		switch {
		case asciiAttr[c] >= Lower:
		case c == '+' || c == '/' || c == '-' || c == '_':
			runs++
		case c != '=':
			return false
		}
	}
	return runs > 0
}
