package secrets

import "bytes"

// Where a value without quotes ends.

// lineBefore returns the text before i on its line, but only the end of a long one.
func lineBefore(text []byte, i int) []byte {
	const reach = 128 // bytes
	before := text[max(0, i-reach):i]
	return before[bytes.LastIndexByte(before, '\n')+1:]
}

// unwrapped returns a value without the quotes, brackets, Markdown marks or tags at its end
// that open before its name. before is the text before the name.
func unwrapped(value, before []byte) []byte {
	for i := 1; i+1 < len(value); i++ {
		if value[i] == '<' && (value[i+1] == '/' || hasPrefix(value[i:], "<br>", "<br/", "<br ")) {
			value = value[:i]
		}
	}
	for _, mark := range []string{"`", `"`, "'", "**"} {
		if bytes.Count(before, []byte(mark))%2 == 0 {
			continue // none is open
		}
		at := bytes.Index(value, []byte(mark))
		if end := at + len(mark); at > 0 && (end == len(value) || !isWord(value[end])) {
			value = value[:at]
		}
	}
	for len(value) > 0 && closes(value, before) {
		value = value[:len(value)-1]
	}
	return value
}

// closes reports whether the last byte of a value does not belong to it, but ends something
// around it.
func closes(value, before []byte) bool {
	last := len(value) - 1
	openedBefore := func(open, end byte) bool {
		return bytes.Count(value, []byte{end}) > bytes.Count(value, []byte{open})
	}
	switch value[last] {
	case '"', '\'', '`', ';', ',':
		return true
	case ')':
		return openedBefore('(', ')')
	case ']':
		return openedBefore('[', ']') && bytes.IndexByte(before, '[') >= 0
	case '}':
		return openedBefore('{', '}') && bytes.IndexByte(before, '{') >= 0
	case '*':
		return bytes.HasSuffix(before, []byte("*"))
	case '|':
		return bytes.IndexByte(before, '|') >= 0 // a cell of a table
	case '.':
		return last > 0 && bytes.IndexByte([]byte("\"'`)"), value[last-1]) >= 0 && closes(value[:last], before)
	}
	return false
}

// lineValueEnd returns where a value ends that fills the rest of its line, as in YAML, and
// contains bytes that would end it elsewhere; otherwise 0.
func (s *Scanner) lineValueEnd(text []byte, name, from int) int {
	if len(bytes.TrimLeft(lineBefore(text, name), " \t+-")) > 0 || s.stop[text[from]] {
		return 0
	}
	to := from
	for to < len(text) && to-from <= longestValue && !s.blank[text[to]] {
		to++
	}
	if rest := text[skipBlanks(text, to):]; len(rest) > 0 && !hasPrefix(rest, "\n", "\r", "#", `\n`, `\r`) {
		return 0
	}
	value := bytes.TrimRight(text[from:to], ",;")
	if bytes.ContainsAny(value, "\"'`,;<>|") || !bytes.ContainsAny(value, "&()[]{}") || !isMixed(value) || isCode(value, false) {
		return 0
	}
	return from + len(value)
}
