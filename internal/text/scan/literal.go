package scan

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tape/internal/text/needle"
)

// literal is text that has to occur.
type literal struct {
	s    string
	fold bool // in any case
}

// maxLiterals bounds how many literals are looked for; each takes its own pass.
const maxLiterals = 8

// newFilter makes a filter of groups of literals: what matches has one of each group.
// In the whole file, the longest are looked for.
func newFilter(groups ...[]literal) (f filter) {
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

// newNeedles returns what to look for in lines that have one of the literals.
func newNeedles(lits []literal) (all []needle.Needle) {
	wide := false
	for _, l := range lits {
		s := l.core()
		all = needle.Append(all, s, l.fold)
		wide = wide || strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
		// Two characters outside ASCII differ from letters of ASCII in case only.
		if l.fold && strings.ContainsAny(s, "sS") {
			all = needle.Append(needle.Append(all, "ſ", false), `\u017f`, true)
		}
		if l.fold && strings.ContainsAny(s, "kK") {
			all = needle.Append(needle.Append(all, "\u212A", false), `\u212a`, true)
		}
	}
	if wide {
		return needle.Append(all, `\u`, false)
	}
	return append(all, needle.Escape())
}

// core returns the longest part of a literal that a line can spell in another way
// only with \u, or in the case of ASCII.
func (l literal) core() string {
	parts := strings.FieldsFunc(l.s, func(r rune) bool {
		return r < ' ' || r == '"' || r == '\\' || r == '/' || r == utf8.RuneError || l.fold && r >= utf8.RuneSelf && unicode.SimpleFold(r) != r
	})
	if len(parts) == 0 {
		return ""
	}
	return slices.MaxFunc(parts, func(a, b string) int { return len(a) - len(b) })
}

// shortest returns how long the shortest core of the literals is; of no literals, 0.
func shortest(lits []literal) (least int) {
	for i, l := range lits {
		if n := len(l.core()); i == 0 || n < least {
			least = n
		}
	}
	return least
}

// required returns groups of literals: everything that the expression matches
// has, of each of them, at least one.
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
		// Any of the best of each.
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
