package find

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"tape/internal/text"
)

// Scanner finds an exact text or a regular expression, which an index of terms cannot
// find. Its methods may be called concurrently.
type Scanner struct {
	plain  []byte         // the exact text, or nil
	re     *regexp.Regexp // instead of plain
	fields bool           // ^ and $ of re match at the borders of fields

	filter lineFilter
}

// NewSubstring returns a Scanner for an exact text. ignoreCase compares by simple
// case folding.
func NewSubstring(plain string, ignoreCase bool) *Scanner {
	s := &Scanner{plain: []byte(plain)}
	if ignoreCase {
		// The expression is valid because the text is quoted.
		s.plain, s.re = nil, regexp.MustCompile(`(?i)`+regexp.QuoteMeta(strings.ToValidUTF8(plain, "\uFFFD")))
	}
	s.filter = newFilter([]literal{{plain, ignoreCase}})
	return s
}

// NewRegexp returns a Scanner for a regular expression in RE2 syntax. ^ and $ match
// at the borders of lines and of fields; only \s and negated classes match across
// fields. The error says what is wrong with the expression.
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
	s := &Scanner{re: re, fields: true}
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

// Match returns the matches in an entry's text, as made by [text.AppendEntry]. An empty match
// has no span, but makes ok true.
func (s *Scanner) Match(body []byte) (spans []text.Span, ok bool) {
	if s.re != nil {
		if s.fields && bytes.IndexByte(body, text.Sep) >= 0 {
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
	if len(s.plain) == 0 {
		return nil, true
	}
	for from := 0; ; {
		i := bytes.Index(body[from:], s.plain)
		if i < 0 {
			return spans, spans != nil
		}
		spans = append(spans, text.Span{Start: from + i, End: from + i + len(s.plain)})
		from += i + len(s.plain)
	}
}
