// Package scan looks for exact text, and for what regular expressions match, in stored
// lines and in the texts of entries.
package scan

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"

	"tape/internal/text"
)

// Scanner looks for exact text, or for what a regular expression matches, where
// an index of terms cannot help. Its methods may be called at the same time.
type Scanner struct {
	needle string
	fold   bool
	re     *regexp.Regexp // instead of the needle, or nil

	filter filter
}

// NewSubstring returns a scan for needle, as it is spelt in the text of an
// entry. ignoreCase compares by simple case folding.
func NewSubstring(needle string, ignoreCase bool) *Scanner {
	s := &Scanner{needle: needle, fold: ignoreCase}
	s.filter = newFilter([]literal{{needle, ignoreCase}})
	return s
}

// NewRegexp returns a scan for a regular expression as RE2 has them. In it, ^
// and $ match at the borders of lines and of fields, and nothing else matches
// across fields but \s and classes that are negated. The error says what is
// wrong with the expression.
func NewRegexp(expr string, ignoreCase bool) (*Scanner, error) {
	flags := syntax.Perl &^ syntax.OneLine
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(expr, flags)
	if err != nil {
		return nil, exprError(expr, err)
	}
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, exprError(expr, err)
	}
	s := &Scanner{re: re}
	s.filter = newFilter(required(tree)...)
	return s, nil
}

func exprError(expr string, err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return fmt.Errorf("regular expression %q: %w", expr, err)
	}
	if se.Expr == "" || se.Expr == expr {
		return fmt.Errorf("regular expression %q: %s", expr, se.Code)
	}
	return fmt.Errorf("regular expression %q: %s: %q", expr, se.Code, se.Expr)
}

// Match reports where an entry's text, from [text.AppendEntry], has what is looked for.
func (s *Scanner) Match(body []byte) (spans []text.Span, ok bool) {
	if s.re != nil {
		if bytes.IndexByte(body, text.Sep) >= 0 {
			body = bytes.ReplaceAll(body, []byte{text.Sep}, []byte{'\n'})
		}
		for _, at := range s.re.FindAllIndex(body, -1) {
			ok = true
			if at[1] > at[0] {
				spans = append(spans, text.Span{Start: at[0], End: at[1]})
			}
		}
		return spans, ok
	}
	if s.needle == "" {
		return nil, true
	}
	for i := 0; ; {
		start, end := s.index(body, i)
		if start < 0 {
			return spans, spans != nil
		}
		spans = append(spans, text.Span{Start: start, End: end})
		i = end
	}
}

// index returns the first place of the needle at or behind i, or -1.
func (s *Scanner) index(text []byte, i int) (start, end int) {
	if !s.fold {
		n := bytes.Index(text[i:], []byte(s.needle))
		if n < 0 {
			return -1, -1
		}
		return i + n, i + n + len(s.needle)
	}
	for ; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf && !utf8.RuneStart(text[i]) {
			continue
		}
		if n := foldedPrefix(text[i:], s.needle); n > 0 {
			return i, i + n
		}
	}
	return -1, -1
}

// foldedPrefix is the length of the beginning of text that is needle but for case, or -1.
func foldedPrefix(text []byte, needle string) int {
	i := 0
	for j := 0; j < len(needle); {
		if i >= len(text) {
			return -1
		}
		if c, d := text[i], needle[j]; c == d && c < utf8.RuneSelf {
			i++
			j++
			continue
		}
		a, n := utf8.DecodeRune(text[i:])
		b, m := utf8.DecodeRuneInString(needle[j:])
		if a != b && !foldsTo(a, b) {
			return -1
		}
		i += n
		j += m
	}
	return i
}

// foldsTo reports whether a and b, which are not the same, differ in case only.
func foldsTo(a, b rune) bool {
	if a < utf8.RuneSelf && b < utf8.RuneSelf {
		return a^b == 0x20 && a|0x20 >= 'a' && a|0x20 <= 'z'
	}
	for r := unicode.SimpleFold(a); r != a; r = unicode.SimpleFold(r) {
		if r == b {
			return true
		}
	}
	return false
}

// Candidate looks through stored lines as they are, undecoded. It returns the
// offset of the first place from which the line around it may match, or -1
// when no line can. Lines it passes over do not match.
func (s *Scanner) Candidate(file []byte) int { return s.filter.next(file) }
