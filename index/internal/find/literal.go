package find

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// literal is text that a match has to contain.
type literal struct {
	s    string
	fold bool // in any case
}

// maxLiterals bounds the literals of a group; the search makes a pass for each.
const maxLiterals = 8

// newFilter makes a filter of groups of literals: a match has one of each group. The
// group with the longest literals is searched in the whole file.
func newFilter(groups ...[]literal) (f lineFilter) {
	slices.SortStableFunc(groups, func(a, b []literal) int { return shortest(b) - shortest(a) })
	for _, lits := range groups {
		if shortest(lits) > 0 && len(lits) <= maxLiterals {
			f.also = append(f.also, newNeedles(lits))
		}
	}
	if len(f.also) > 0 {
		f.needles, f.also = f.also[0], f.also[1:]
	}
	return f
}

// newNeedles returns needles for literals: a line that contains one of the literals contains one of
// the needles.
func newNeedles(lits []literal) (all []needle) {
	wide := false
	for _, l := range lits {
		s := l.core()
		all = appendNeedles(all, s, l.fold)
		wide = wide || strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
		// Two characters outside ASCII differ from letters of ASCII in case only.
		if l.fold && strings.ContainsAny(s, "sS") {
			all = appendNeedles(appendNeedles(all, "ſ", false), `\u017f`, true)
		}
		if l.fold && strings.ContainsAny(s, "kK") {
			all = appendNeedles(appendNeedles(all, "\u212A", false), `\u212a`, true)
		}
	}
	if wide {
		return appendNeedles(all, `\u`, false)
	}
	return append(all, escapeNeedle())
}

// core returns the longest part of a literal that has no other spellings in JSON than \u escapes
// and, if case does not matter, those in the other case of ASCII letters.
func (l literal) core() string {
	parts := strings.FieldsFunc(l.s, func(r rune) bool {
		return r < ' ' || r == '"' || r == '\\' || r == '/' || r == utf8.RuneError || l.fold && r >= utf8.RuneSelf && unicode.SimpleFold(r) != r
	})
	if len(parts) == 0 {
		return ""
	}
	return slices.MaxFunc(parts, func(a, b string) int { return len(a) - len(b) })
}

// shortest returns the length of the shortest core of the literals; 0 if there are none.
func shortest(lits []literal) (least int) {
	for i, l := range lits {
		if n := len(l.core()); i == 0 || n < least {
			least = n
		}
	}
	return least
}

// required returns groups of literals: each match of the expression has at least one
// literal of each group.
func required(re *syntax.Regexp) (groups [][]literal) {
	switch re.Op {
	case syntax.OpLiteral:
		return [][]literal{{{string(re.Rune), re.Flags&syntax.FoldCase != 0}}}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			groups = append(groups, required(sub)...)
		}
	case syntax.OpAlternate:
		// One group: the best of each branch.
		var either []literal
		for _, sub := range re.Sub {
			groups := required(sub)
			if len(groups) == 0 || len(either) > maxLiterals {
				return nil
			}
			either = append(either, slices.MaxFunc(groups, func(a, b []literal) int { return shortest(a) - shortest(b) })...)
		}
		return [][]literal{either}
	}
	return groups
}
