package find

import (
	"slices"
	"strings"

	"tape/internal/store/relevance"
	"tape/internal/text/query"
)

// quoted returns a term as tsquery writes it.
func quoted(term string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(term, `\`, `\\`), "'", "''") + "'"
}

// and joins conditions that all have to hold. It ignores "".
func and(list ...string) string { return join(list, " & ") }

// or joins alternatives. It ignores "".
func or(list ...string) string { return join(list, " | ") }

func join(list []string, with string) string {
	list = slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "" })
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return "(" + strings.Join(list, with) + ")"
}

// anyOf returns the condition that an entry has one of the values of a property; "" if there are no values.
func anyOf(mark string, values []string) string {
	var list []string
	for _, v := range values {
		list = append(list, quoted(mark+relevance.Shortened(v)))
	}
	return or(list...)
}

// tsquery returns an expression as PostgreSQL writes it; "" selects all entries. none reports that it selects
// nothing.
func tsquery(e query.Expr) (ts string, none bool) {
	switch e.Op {
	case query.All:
		return "", false
	case query.None:
		return "", true
	case query.Term:
		return quoted(e.Term), false
	case query.Prefix:
		return quoted(e.Term) + ":*", false
	}
	var parts []string
	for i, kid := range e.Operands {
		part, nothing := tsquery(kid)
		switch {
		case e.Op == query.Or && nothing, e.Op == query.Not && i > 0 && nothing:
			continue
		case nothing:
			return "", true
		case e.Op == query.Or && part == "":
			return "", false
		case e.Op == query.Not && i > 0 && part == "":
			return "", true
		case e.Op == query.Not && i > 0:
			part = "!" + part
		}
		parts = append(parts, part)
	}
	if e.Op == query.Or {
		return or(parts...), len(parts) == 0
	}
	return and(parts...), false
}
