package query

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"tape/internal/text"
)

// maxUnits bounds the words, phrases and operators of a query; the rest is ignored.
const maxUnits = 64

// token is a unit of a query or an operator.
type token struct {
	unit
	op    bool // OR, AND or NOT, which is an operator if it has operands
	stray bool // syntax without the words that it belongs to

	dashed bool // it was typed with a dash, which excludes it
}

// Options changes how a query is read.
type Options struct {
	// Exact makes punctuation at the ends of words count. Syntax that has no meaning in its place, and
	// quotes around a single word, are then searched as text. Case still does not matter.
	Exact bool
	// Time has words of the query that name a time, such as "last week". They do not count in a query of any words, unless
	// there are no others.
	Time string
}

// Parse reads a query:
//
//	two words       both of them
//	"a phrase"      in this order, with this punctuation
//	-word -"a b"    without it; alone, all entries without it; also NOT word
//	a b OR c        both a and b, or c
//	pre*            any word that begins with pre
//
// In a question ("why does "go test" -race hang?"), these are part of what is asked, see [Query.Any]. AND may be between words. Invalid syntax (operators without operands, an unclosed quote) is searched as
// words. At most 64 words and operators count. No input fails.
func Parse(q string, o Options) *Query {
	q = string([]rune(q)) // each invalid byte becomes U+FFFD
	query := &Query{options: o, literal: foldPieces(o.trimmed(q))}
	tokens, quoted := lex(q, o)
	tokens = dropStray(tokens, o)
	if isQuestion(q, tokens) { // before group, which changes the tokens
		query.question = wordsOf(tokens)
	}
	query.groups, query.strict = group(tokens)
	query.strict = query.strict || quoted
	return query
}

// trimmed returns a text without the punctuation that the search ignores.
func (o Options) trimmed(s string) string {
	if o.Exact {
		return s
	}
	return trimPunctuation(s)
}

type lexer struct {
	Options
	rest     string
	tokens   []token
	unclosed bool // the rest has no closing quote
	quoted   bool // there is a phrase
}

// lex returns the tokens of a query, and whether one is a phrase.
func lex(q string, o Options) (tokens []token, quoted bool) {
	l := &lexer{Options: o, rest: q}
	if w := strings.TrimFunc(q, text.IsSpace); o.Exact && strings.HasPrefix(w, "-") && wordEnd(w) == len(w) {
		l.add(w, false, false) // a dash alone is text
		return l.tokens, false
	}
	for len(l.tokens) < maxUnits {
		if l.rest = strings.TrimLeftFunc(l.rest, text.IsSpace); l.rest == "" {
			break
		}
		if !l.phrase() {
			l.word()
		}
	}
	return l.tokens, l.quoted
}

func (l *lexer) add(raw string, phrase, not bool) {
	if u, ok := newUnit(raw, phrase, l.Options); ok {
		u.not = not
		l.tokens = append(l.tokens, token{unit: u, stray: phrase && raw == `"`})
	}
}

// phrase reads a phrase, or an unclosed quote. It reports false if a word comes next.
func (l *lexer) phrase() bool {
	not := strings.HasPrefix(l.rest, `-"`)
	if !not && l.rest[0] != '"' {
		return false
	}
	body := strings.TrimPrefix(l.rest, "-")[1:]
	end, next := -1, 0
	if !l.unclosed {
		end, next = closingQuote(body)
	}
	switch {
	case l.Exact && (end < 0 || strings.IndexFunc(body[:end], text.IsSpace) < 0):
		return false
	case end >= 0:
		raw := strings.Join(strings.FieldsFunc(body[:end], text.IsSpace), " ")
		l.add(cmp.Or(raw, `""`), true, not)
		l.quoted = true
		l.rest = body[next:]
	default:
		l.unclosed = true
		if l.rest = body; body == "" || text.IsSpace(firstRune(body)) {
			l.add(`"`, true, false)
		}
	}
	return true
}

// word reads a word. Only an exact query has words that begin with a quote.
func (l *lexer) word() {
	raw := l.rest[:wordEnd(l.rest)]
	l.rest = l.rest[len(raw):]
	if rest, ok := strings.CutPrefix(raw, "-"); ok && rest != "" && rest[0] != '-' && rest[0] != '>' {
		if u, ok := newUnit(rest, false, l.Options); ok && u.runs > 0 {
			u.not = true
			l.tokens = append(l.tokens, token{unit: u, dashed: true})
			return
		}
	}
	if u, ok := newUnit(raw, false, l.Options); ok {
		l.tokens = append(l.tokens, token{unit: u, op: isOperator(raw), stray: raw == "-" || strings.Trim(raw, "()*") == ""})
	}
}

func wordEnd(q string) int {
	if end := strings.IndexFunc(q, text.IsSpace); end >= 0 {
		return end
	}
	return len(q)
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// closingQuote finds the quote that ends a phrase: the first one with only
// punctuation between it and the next space. It returns where the phrase ends and
// where the query continues, or -1.
func closingQuote(s string) (end, next int) {
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		j := i + 1
		for j < len(s) && strings.IndexByte(".,;:!?)]}", s[j]) >= 0 {
			j++
		}
		if j == len(s) || text.IsSpace(firstRune(s[j:])) {
			return i, j
		}
		i = j - 1
	}
	return -1, 0
}

func isOperator(s string) bool { return s == "OR" || s == "AND" || s == "NOT" }

// dropStray leaves out stray syntax, unless there is nothing else or the query is exact.
func dropStray(tokens []token, o Options) []token {
	kept := slices.DeleteFunc(slices.Clone(tokens), func(t token) bool { return t.stray })
	if o.Exact || len(kept) == 0 {
		return tokens
	}
	return kept
}

// group applies the operators. strict says that there are operators, excluded words or words with *.
func group(tokens []token) (groups [][]unit, strict bool) {
	var cur []unit
	flush := func() {
		if len(cur) > 0 {
			groups = append(groups, orderGroup(cur))
		}
		cur = nil
	}
	operand := func(i int) bool { return i < len(tokens) && !tokens[i].op }
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		strict = strict || t.not || t.prefix
		if !t.op {
			cur = append(cur, t.unit)
			continue
		}
		// An operator needs operands on both sides. cur is not empty if there is one before it.
		negated := i+1 < len(tokens) && tokens[i+1].op && tokens[i+1].raw == "NOT" && operand(i+2)
		switch {
		case len(cur) > 0 && t.raw == "NOT" && operand(i+1):
			i++
			tokens[i].not = true
			strict = true
			cur = append(cur, tokens[i].unit)
		case len(cur) > 0 && t.raw != "NOT" && (operand(i+1) || negated):
			if strict = true; t.raw == "OR" {
				flush()
			}
			if negated {
				i += 2
				tokens[i].not = true
				cur = append(cur, tokens[i].unit)
			}
		default:
			// It is a word. As a phrase it is never read as an operator again.
			t.phrase = true
			cur = append(cur, t.unit)
		}
	}
	flush()
	return groups, strict
}

// orderGroup puts negated units after the others.
func orderGroup(units []unit) []unit {
	yes := slices.DeleteFunc(slices.Clone(units), func(u unit) bool { return u.not })
	return append(yes, slices.DeleteFunc(units, func(u unit) bool { return !u.not })...)
}
