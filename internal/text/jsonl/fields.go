package jsonl

import (
	"bytes"
	"iter"
)

// IsObject reports whether raw begins like a JSON object, whitespace aside.
func IsObject(raw []byte) bool {
	i := trimSpace(raw, 0)
	return i < len(raw) && raw[i] == '{'
}

// Fields yields the members of a valid JSON object in their order: the decoded
// key and the raw value, which aliases obj. A repeated key is yielded each time.
// It yields nothing when obj is not an object.
func Fields(obj []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) { fields(obj, yield) }
}

// Elements yields the raw elements of a valid JSON array, which alias arr. It
// yields nothing when arr is not an array.
func Elements(arr []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { elements(arr, yield) }
}

// Get returns the raw value at a path of keys through nested objects, aliasing
// obj, or nil when it is absent. If a key is repeated, its last value counts, as for
// most readers of JSON. An empty path leads to obj itself.
//
// It is not inlined, because it is called at 2,000 places: that would be 0.2 MB of each program.
//
//go:noinline
func Get(obj []byte, path ...string) []byte {
	for _, name := range path {
		if obj = lastValue(obj, name); obj == nil {
			return nil
		}
	}
	return obj
}

// GetString returns the decoded string at a path of keys through nested
// objects, or "" when it is absent or not a string.
func GetString(obj []byte, path ...string) string {
	s, _ := String(Get(obj, path...))
	return s
}

// Strings returns the decoded elements of an array, "" for each that is not a string.
func Strings(arr []byte) []string {
	var out []string
	for el := range Elements(arr) {
		s, _ := String(el)
		out = append(out, s)
	}
	return out
}

// fields is a function of its own so that Fields is inlined and a loop over it
// allocates nothing.
func fields(obj []byte, yield func(string, []byte) bool) {
	w := openObject(obj, 0)
	for w.next() {
		if !yield(decodeString(w.key, w.escaped), w.val) {
			return
		}
	}
}

func elements(arr []byte, yield func([]byte) bool) {
	i := trimSpace(arr, 0)
	if i >= len(arr) || arr[i] != '[' {
		return
	}
	i = trimSpace(arr, i+1)
	for i < len(arr) && arr[i] != ']' {
		end := skipValue(arr, i)
		if end <= i || !yield(arr[i:end:end]) {
			return
		}
		i = trimSpace(arr, end)
		if i >= len(arr) || arr[i] != ',' {
			return
		}
		i = trimSpace(arr, i+1)
	}
}

// lastValue returns the value of obj's last member of that name, or nil.
func lastValue(obj []byte, name string) (val []byte) {
	w := openObject(obj, 0)
	for w.next() {
		if w.named(name) {
			val = w.val
		}
	}
	return val
}

// Items calls value for each value of the object or array that begins at i, with the range
// of the key between its quotes, which is empty in an array, and the position of the
// value. value returns the position after the value, Items the position after the closing
// bracket. b has to be valid JSON; otherwise some values are skipped.
func Items(b []byte, i int, value func(key, keyEnd, at int) (end int)) int {
	object := b[i] == '{'
	i = trimSpace(b, i+1)
	for i < len(b) && b[i] != '}' && b[i] != ']' {
		key, keyEnd := 0, 0
		if object {
			if b[i] != '"' {
				i = trimSpace(b, i+1)
				continue
			}
			end, _ := StringEnd(b, i+1)
			key, keyEnd = i+1, max(i+1, end-1)
			if i = trimSpace(b, end); i < len(b) && b[i] == ':' {
				i = trimSpace(b, i+1)
			}
		}
		if i = trimSpace(b, value(key, keyEnd, i)); i < len(b) && b[i] == ',' {
			i = trimSpace(b, i+1)
		}
	}
	return min(i+1, len(b))
}

// Member is the place of a member of an object.
type Member struct {
	Before              int // end of the value before it, or of the opening brace
	KeyAt, ValueAt, End int // of the key's quote, of the value, and after the value
	Next                int // start of the next member; -1 for the last
}

// Members calls f with the decoded key and the place of each member of the object that
// begins at the position at of b. It reports false if no object begins there, or if the
// object does not end.
func Members(b []byte, at int, f func(key []byte, m Member)) bool {
	w := openObject(b, at)
	for w.next() {
		key := w.key
		if w.escaped {
			key = AppendDecoded(nil, key)
		}
		w.at.Next = w.i
		f(key, w.at)
	}
	return w.closed
}

// walk goes through the members of an object that is known to be valid.
type walk struct {
	b       []byte
	i       int    // position of the next key's quote; -1 if there is none
	key     []byte // between its quotes
	val     []byte
	at      Member
	escaped bool // key has a backslash
	closed  bool // the closing brace was seen
}

func openObject(b []byte, i int) walk {
	i = trimSpace(b, i)
	if i >= len(b) || b[i] != '{' {
		return walk{i: -1}
	}
	w := walk{b: b, i: trimSpace(b, i+1), at: Member{End: i + 1}}
	w.closed = w.i < len(b) && b[w.i] == '}'
	return w
}

// next moves to the next member. It reports false at the object's end, or where it is
// not valid.
func (w *walk) next() bool {
	b, i := w.b, w.i
	w.i = -1
	if i < 0 || i >= len(b) || b[i] != '"' {
		return false
	}
	start := i + 1
	if i = skipString(b, start); i < 0 {
		return false
	}
	w.key = b[start : i-1]
	w.escaped = bytes.IndexByte(w.key, '\\') >= 0
	if i = trimSpace(b, i); i >= len(b) || b[i] != ':' {
		return false
	}
	i = trimSpace(b, i+1)
	end := skipValue(b, i)
	if end <= i {
		return false
	}
	w.val = b[i:end:end]
	w.at.Before = w.at.End
	w.at.KeyAt, w.at.ValueAt, w.at.End = start-1, i, end
	if i = trimSpace(b, end); i < len(b) && b[i] == ',' {
		w.i = trimSpace(b, i+1)
	} else {
		w.closed = i < len(b) && b[i] == '}'
	}
	return true
}

// named reports whether the member's decoded key is name.
func (w *walk) named(name string) bool {
	if w.escaped {
		return decodeString(w.key, true) == name
	}
	return string(w.key) == name
}

// skipValue returns the position after the valid value that starts at i. It
// returns -1 if the value has no end, and i if there is no value.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i+1)
	case '{', '[':
		return skipContainer(b, i)
	}
	for i < len(b) && !endsScalar(b[i]) {
		i++
	}
	return i
}

// endsScalar reports whether c ends a number or a literal before it.
func endsScalar(c byte) bool {
	return c <= ' ' || c == ',' || c == '}' || c == ']' || c == ':' || c == '"'
}

// skipContainer returns the position after the object or array that starts at
// i, or -1. Brackets are counted, not matched: the input is valid.
func skipContainer(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i+1); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// skipString returns the position after the string whose inside starts at i,
// after the opening quote, or -1 when the string has no end. It looks only for quotes,
// so other escapes do not slow it down.
func skipString(b []byte, i int) int {
	start := i
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		// The quote ends the string unless an odd number of backslashes is in front of it.
		k := i
		for k > start && b[k-1] == '\\' {
			k--
		}
		i++
		if (i-k)&1 == 1 {
			return i
		}
		start = i
	}
}

// trimSpace is the position of the first byte at or after i that is not whitespace.
func trimSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && isSpace(b[i]) {
		i++
	}
	return i
}

// trimEnd cuts a line's terminator: "\n", "\r\n" or "\r".
func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}

// WithMember adds a member, as "key":value, to meta, an object or nil. If meta is anything
// else, it is returned as it is, to be refused later.
func WithMember(meta, member []byte) []byte {
	meta = bytes.TrimSpace(meta)
	switch body, ok := bytes.CutSuffix(meta, []byte("}")); {
	case len(meta) == 0 || ok && string(bytes.TrimSpace(body)) == "{":
		return append(append([]byte("{"), member...), '}')
	case ok:
		return append(append(append(bytes.Clone(body), ','), member...), '}')
	}
	return meta
}
