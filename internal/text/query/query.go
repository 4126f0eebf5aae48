// Package query is the query language of searches: it parses a query, turns it into an
// expression for an index of terms, and matches texts. Queries are folded like texts, and their
// terms are made by the tokenizer that filled the index, so the index never misses a text
// that [Query.Match] accepts.
package query

import (
	"slices"
	"strings"
	"sync"
)

// Query is a parsed query. Its methods may be called concurrently.
type Query struct {
	options Options
	groups  [][]unit // joined by OR; the units of each by AND
	literal []piece  // the whole query as it was typed
	strict  bool     // it has quotes, operators and the like, so it means what it says

	question []unit // the words of a question, in which quotes, operators and dashes are only part of what is asked

	asked    []string // the words of a query of any words, see Any; nil for other queries
	alone    bool     // it stands for a query of any words that has one word, see Alone
	features []feature
	terms    map[string]int // those of them that are single terms, numbered
	lengths  [256]uint64    // by their first bytes: a bit for each length

	matchers sync.Pool
}

// Op is the kind of an expression.
type Op int

// The kinds of expressions, by the entries that they select.
const (
	All    Op = iota // every entry
	None             // no entry
	Term             // entries with the term
	Prefix           // entries with any term that has this prefix
	And              // those of all operands
	Or               // those of any operand
	Not              // those of the first operand without those of the others
)

// Expr selects entries by the terms that an index has of them.
type Expr struct {
	Op       Op
	Term     string
	Operands []Expr
}

// Empty reports whether the query has no words; such a query matches every text.
func (q *Query) Empty() bool { return len(q.groups) == 0 }

// Index returns the expression for an index of terms. It selects every entry that Match
// accepts and, if sure, no other.
func (q *Query) Index() (e Expr, sure bool) {
	if q.Empty() {
		return Expr{Op: All}, true
	}
	sure = true
	or := Expr{Op: Or}
	for _, units := range q.groups {
		e, ok := indexGroup(units)
		sure = sure && ok
		or.Operands = append(or.Operands, e)
	}
	if len(or.Operands) == 1 {
		return or.Operands[0], sure
	}
	if slices.ContainsFunc(or.Operands, func(e Expr) bool { return e.Op == All }) {
		return Expr{Op: All}, false
	}
	return or, sure
}

// indexGroup is Index for units that are joined by AND.
func indexGroup(units []unit) (e Expr, sure bool) {
	sure = true
	and, not := Expr{Op: And}, Expr{Op: Not, Operands: make([]Expr, 1)}
	for i := range units {
		u := &units[i]
		sure = sure && u.sure
		switch {
		case u.not && u.sure:
			not.Operands = append(not.Operands, u.expr)
		case u.not || u.expr.Op == All:
			// The expression may select too many entries, so it cannot be subtracted.
		case u.expr.Op == And:
			and.Operands = append(and.Operands, u.expr.Operands...)
		default:
			and.Operands = append(and.Operands, u.expr)
		}
	}
	switch len(and.Operands) {
	case 0:
		e = Expr{Op: All}
	case 1:
		e = and.Operands[0]
	default:
		e = and
	}
	if len(not.Operands) > 1 {
		not.Operands[0] = e
		e = not
	}
	return e, sure
}

// Words returns the words that are a single term of an index, folded. They may be misspelled, so
// the caller may try similar words.
func (q *Query) Words() []string {
	var words []string
	for _, units := range q.groups {
		for i := range units {
			u := &units[i]
			if u.plain() && !u.not && !slices.Contains(words, u.id) {
				words = append(words, u.id)
			}
		}
	}
	return words
}

// Replace returns the query with new in place of old, a word that Words returns.
func (q *Query) Replace(old, new string) *Query {
	r := &Query{options: q.options}
	for _, units := range q.groups {
		units = slices.Clone(units)
		for i := range units {
			if u := &units[i]; u.plain() && !u.not && u.id == old {
				if w, ok := newUnit(new, isOperator(new), q.options); ok {
					*u = w
				}
			}
		}
		r.groups = append(r.groups, units)
	}
	r.literal = foldPieces(q.options.trimmed(r.String()))
	return r
}

// String returns the query as it was understood, in the query language.
func (q *Query) String() string {
	var b strings.Builder
	if q.asked != nil {
		var words []string
		for i := range q.features {
			f := &q.features[i]
			inParts := slices.ContainsFunc(q.features, func(o feature) bool { return o.Word == f.Word && o.instead && !o.Whole })
			if f.Whole != inParts && !slices.Contains(words, f.raw) {
				words = append(words, f.raw)
			}
		}
		return strings.Join(words, " ")
	}
	for i, units := range q.groups {
		if i > 0 {
			b.WriteString(" OR ")
		}
		for j := range units {
			if j > 0 {
				b.WriteByte(' ')
			}
			units[j].write(&b, q.options.Exact)
		}
	}
	return b.String()
}

func (u *unit) write(b *strings.Builder, exact bool) {
	if u.not {
		if c := u.raw[0]; !u.phrase && (c == '-' || c == '>' || c == '"' || u.runs == 0) {
			b.WriteString("NOT ")
		} else {
			b.WriteByte('-')
		}
	}
	if u.phrase {
		b.WriteByte('"')
		if exact && !strings.Contains(u.raw, " ") {
			b.WriteByte(' ') // otherwise the quotes would be searched
		}
		b.WriteString(u.raw)
		b.WriteByte('"')
		return
	}
	b.WriteString(u.raw)
}
