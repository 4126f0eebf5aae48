package jsonl

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// hexDigit returns the value of a hexadecimal digit, or -1.
func hexDigit(c byte) rune {
	switch {
	case c-'0' <= 9:
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// String decodes a JSON string with any whitespace around it. It reports false
// when raw is anything else. Unpaired surrogates become U+FFFD.
func String(raw []byte) (string, bool) {
	if i := trimSpace(raw, 0); i >= len(raw) || raw[i] != '"' {
		return "", false
	}
	s := scan{b: raw}
	start, end := s.single(0)
	if end < 0 {
		return "", false
	}
	return decodeString(raw[start+1:end-1], s.escaped), true
}

// decodeString decodes the inside of a JSON string; escaped says that it may have a
// backslash.
func decodeString(body []byte, escaped bool) string {
	if !escaped {
		return intern(body)
	}
	return string(AppendDecoded(make([]byte, 0, len(body)), body))
}

// escapeCodes may follow a backslash, as u may; each stands for the character of
// escapeChars at the same index.
const (
	escapeCodes = `n"\t/rbf`
	escapeChars = "\n\"\\\t/\r\b\f"
)

// AppendDecoded appends the text that the inside of a JSON string stands for.
// An escape that JSON does not know is left as it is.
func AppendDecoded(dst, body []byte) []byte {
	for {
		i := bytes.IndexByte(body, '\\')
		if i < 0 || i+1 >= len(body) {
			return append(dst, body...)
		}
		dst = append(dst, body[:i]...)
		body = body[i:]
		n := 2
		if c := body[1]; c == 'u' {
			var r rune
			r, n = decodeU(body)
			dst = utf8.AppendRune(dst, r) // U+FFFD for -1
		} else if at := strings.IndexByte(escapeCodes, c); at >= 0 {
			dst = append(dst, escapeChars[at])
		} else {
			dst = append(dst, body[:2]...)
		}
		body = body[n:]
	}
}

// decodeU decodes the \uXXXX, or the surrogate pair of two of them, at the start of b.
// It returns the character and the length of the escape. The character is -1 for an
// unpaired surrogate or missing digits.
func decodeU(b []byte) (r rune, n int) {
	u, ok := hex4(b)
	if !ok {
		return -1, 2
	}
	if !utf16.IsSurrogate(u) {
		return u, 6
	}
	if low, ok := hex4(b[6:]); ok {
		if r = utf16.DecodeRune(u, low); r != utf8.RuneError {
			return r, 12
		}
	}
	return -1, 6
}

// hex4 reads \uXXXX at the start of b.
func hex4(b []byte) (u rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		d := hexDigit(c)
		if d < 0 {
			return 0, false
		}
		u = u<<4 | d
	}
	return u, true
}

// StringEnd returns the position after the closing quote of the string whose inside
// begins at i, and whether it has any backslash. An unclosed string ends with b.
func StringEnd(b []byte, i int) (end int, escaped bool) {
	if end = skipString(b, i); end < 0 {
		end = len(b)
	}
	return end, i < end && bytes.IndexByte(b[i:end], '\\') >= 0
}

// AppendString appends s as a JSON string. It escapes only quotes, backslashes and
// control characters. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	run := 0 // start of the bytes that are not copied yet
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(dst, s[run:i]...)
				dst = utf8.AppendRune(dst, utf8.RuneError)
				run = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[run:i]...)
		if at := strings.IndexByte(escapeChars, c); at >= 0 {
			dst = append(dst, '\\', escapeCodes[at])
		} else {
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xF])
		}
		i++
		run = i
	}
	dst = append(dst, s[run:]...)
	return append(dst, '"')
}
