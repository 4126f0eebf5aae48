package query

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"tape/internal/text"
)

// unit is a word or a phrase of a query.
type unit struct {
	raw    string // as typed; for a phrase, the text between the quotes
	phrase bool
	not    bool

	prefix bool    // the last run may continue
	pieces []piece // in this order, with white space between them
	runs   int     // in all pieces
	id     string  // equal for units that find the same texts
	expr   Expr    // for an index of terms
	sure   bool    // expr selects only entries with the unit
}

// piece is folded text without white space.
type piece struct {
	lit  []byte
	runs []run
}

// run is a range of a piece that the tokenizer makes terms of.
type run struct {
	text.Span
	class text.Attr   // Dense, Symbol, or Lower for all others
	parts []text.Span // of an identifier, as offsets in the piece
}

// newUnit makes a unit of a word or a phrase. It reports false if folding leaves
// nothing, for example of a single variation selector.
func newUnit(raw string, phrase bool, o Options) (unit, bool) {
	u := unit{raw: raw, phrase: phrase}
	lit := o.trimmed(raw)
	if body, ok := strings.CutSuffix(lit, "*"); ok && !phrase && endsInRun(body) {
		lit, u.prefix = body, true
	}
	u.pieces = foldPieces(lit)
	if len(u.pieces) == 0 {
		return u, false
	}
	lits := make([][]byte, len(u.pieces))
	for i, p := range u.pieces {
		lits[i] = p.lit
		u.runs += len(p.runs)
	}
	u.id = string(bytes.Join(lits, []byte{' '}))
	if last := u.last(); u.prefix && (last == nil || last.class != text.Lower) {
		u.prefix = false
	}
	u.makeExpr()
	if u.prefix {
		u.id += "*"
	}
	return u, true
}

// last returns the run at the very end of the unit, or nil.
func (u *unit) last() *run {
	p := &u.pieces[len(u.pieces)-1]
	if n := len(p.runs); n > 0 && p.runs[n-1].End == len(p.lit) {
		return &p.runs[n-1]
	}
	return nil
}

// endsInRun reports whether a word ends in a letter or a digit.
func endsInRun(s string) bool {
	var f text.Folder
	f.FoldAll([]byte(s))
	return len(f.Attr) > 0 && f.Attr[len(f.Attr)-1].InRun()
}

func foldPieces(s string) []piece {
	var f text.Folder
	f.FoldAll([]byte(strings.ReplaceAll(s, string(text.Sep), " ")))
	var pieces []piece
	for i := 0; i < len(f.Buf); {
		if f.Attr[i].Class() == text.Space {
			i++
			continue
		}
		start := i
		for i < len(f.Buf) && f.Attr[i].Class() != text.Space {
			i++
		}
		p := piece{lit: f.Buf[start:i]}
		p.runs = findRuns(p.lit, f.Attr[start:i])
		pieces = append(pieces, p)
	}
	return pieces
}

func findRuns(buf []byte, attrs []text.Attr) []run {
	var runs []run
	for i := 0; i < len(attrs); {
		start := i
		i++
		switch a := attrs[start]; {
		case a.Class() == text.Symbol:
			_, n := utf8.DecodeRune(buf[start:])
			i = start + n
			runs = append(runs, run{Span: text.Span{Start: start, End: i}, class: text.Symbol})
		case a.InRun():
			for i < len(attrs) && text.SameRun(attrs[i-1], attrs[i]) {
				i++
			}
			r := run{Span: text.Span{Start: start, End: i}, class: text.Lower}
			if a.Class() == text.Dense {
				r.class = text.Dense
			} else if i-start > 1 {
				r.parts = text.SplitRun(attrs[start:i], nil)
				for k := range r.parts {
					r.parts[k].Start += start
					r.parts[k].End += start
				}
			}
			runs = append(runs, r)
		}
	}
	return runs
}

// trimPunctuation cuts the punctuation of sentences off both ends. A word without
// letters, digits or symbols stays as it is.
func trimPunctuation(s string) string {
	t := strings.TrimFunc(s, isSentencePunctuation)
	if strings.ContainsFunc(t, func(r rune) bool {
		return r < utf8.RuneSelf && text.ASCII(byte(r)) >= text.Lower ||
			r >= utf8.RuneSelf && unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.S)
	}) {
		return t
	}
	return s
}

func isSentencePunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return strings.ContainsRune(".,;:!?()[]{}<>\"'`", r) || text.IsSpace(r)
	}
	switch r {
	case '％', '＃', '＠', '＆', '＊', '／', '＼', '－', '＿':
		return false
	}
	return unicode.IsPunct(r) || text.IsSpace(r)
}

// maxTerms bounds the terms of a unit's expression; more would hardly narrow the
// answer of an index.
const maxTerms = 64

func (u *unit) makeExpr() {
	if u.runs == 0 {
		u.expr = Expr{Op: All}
		return
	}
	var kids []Expr
	seen := map[string]bool{}
	add := func(op Op, term []byte) {
		e := Expr{Op: op, Term: string(text.CutTerm(term))}
		key := e.Term
		if op == Prefix {
			key += "*"
		}
		if len(kids) < maxTerms && !seen[key] {
			seen[key] = true
			kids = append(kids, e)
		}
	}
	for i, p := range u.pieces {
		for j, r := range p.runs {
			atEnd := i == len(u.pieces)-1 && j == len(p.runs)-1
			addTerms(p.lit[r.Start:r.End], r.class, atEnd && u.prefix, add)
		}
	}
	if len(kids) > 1 {
		u.expr = Expr{Op: And, Operands: kids}
		return
	}
	u.expr = kids[0]
	p := u.pieces[0]
	if len(u.pieces) > 1 || len(p.runs) > 1 || p.runs[0].Start > 0 || p.runs[0].End < len(p.lit) {
		return
	}
	u.sure = len(p.lit) <= text.MaxTerm && (p.runs[0].class != text.Dense || utf8.RuneCount(p.lit) <= 2)
}

// addTerms adds the terms of a run: in a dense script, each pair of characters.
func addTerms(lit []byte, class text.Attr, prefix bool, add func(Op, []byte)) {
	if class != text.Dense {
		op := Term
		if prefix {
			op = Prefix
		}
		add(op, lit)
		return
	}
	_, n := utf8.DecodeRune(lit)
	if n == len(lit) {
		add(Prefix, lit)
		return
	}
	for n < len(lit) {
		_, m := utf8.DecodeRune(lit[n:])
		add(Term, lit[:n+m])
		lit = lit[n:]
		n = m
	}
}

// plain reports whether the unit is a single term and nothing else.
func (u *unit) plain() bool {
	return !u.phrase && !u.prefix && u.sure && u.pieces[0].runs[0].class == text.Lower
}
