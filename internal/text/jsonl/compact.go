package jsonl

import (
	"bytes"
	"unicode/utf8"
)

// Compact validates src like [Valid] and appends it to dst without
// insignificant whitespace. Number spellings, key order and escapes stay as
// they are. After an error, a *SyntaxError, dst is returned as it was.
func Compact(dst, src []byte) ([]byte, error) {
	return compactAt(dst, src, 0)
}

// compactAt is Compact for a value that will be inside depth containers.
func compactAt(dst, src []byte, depth int) ([]byte, error) {
	s := scan{b: src}
	start, end := s.single(depth)
	if end < 0 {
		return dst, s.err
	}
	return appendStripped(dst, src[start:end], s.spaced), nil
}

// appendStripped appends valid JSON without insignificant whitespace; spaced says
// whether there is any.
func appendStripped(dst, src []byte, spaced bool) []byte {
	if !spaced {
		return append(dst, src...)
	}
	run := 0 // start of the bytes that are not copied yet
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case c == '"':
			if i = skipString(src, i+1); i < 0 {
				return append(dst, src[run:]...)
			}
		case isSpace(c):
			dst = append(dst, src[run:i]...)
			for i < len(src) && isSpace(src[i]) {
				i++
			}
			run = i
		default:
			i++
		}
	}
	return append(dst, src[run:]...)
}

// Unescape appends the valid JSON src to dst, compacted, for people to read:
// \uXXXX and \/ in strings become the characters that they stand for. Characters
// below U+0020, quotes, backslashes and unpaired surrogates stay escaped: the result
// is JSON of the same value. Other control characters do not stay escaped.
func Unescape(dst, src []byte) []byte {
	run := 0 // start of the bytes that are not copied yet
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case c == '"':
			end, _ := StringEnd(src, i+1)
			for at := bytes.IndexByte(src[i:end], '\\'); at >= 0; at = bytes.IndexByte(src[i:end], '\\') {
				i += at
				r, n := unescapeRune(src[i:end])
				if r >= 0 {
					dst = append(dst, src[run:i]...)
					dst = utf8.AppendRune(dst, r)
					run = i + n
				}
				i += n
			}
			i = end
		case isSpace(c):
			dst = append(dst, src[run:i]...)
			run = i + 1
			i++
		default:
			i++
		}
	}
	return append(dst, src[run:]...)
}

// unescapeRune returns the character that may replace the escape at the start of b,
// or -1, and the length of the escape.
func unescapeRune(b []byte) (r rune, n int) {
	if len(b) < 2 {
		return -1, len(b)
	}
	switch b[1] {
	case '/':
		return '/', 2
	case 'u':
		r, n = decodeU(b)
		if r < ' ' || r == '"' || r == '\\' {
			return -1, n
		}
		return r, n
	}
	return -1, 2
}
