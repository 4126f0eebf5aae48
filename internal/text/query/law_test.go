package query

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"tape/internal/text"
)

// terms returns the terms of a text.
func terms(s string) []string {
	var z text.Tokenizer
	z.Reset([]byte(s))
	var out []string
	for z.Next() {
		out = append(out, string(z.Term))
	}
	return out
}

var alphabet = strings.Fields("a b c K s SetReference setref HTTPServer E42 100ms sha256 foo Bar don't C++ 100% " +
	"数 据 数据库 重跑 文件。件 か が か\u3099 ｶﾞ ア 한국 ไทย น้ำ é e\u0301 ß ﬁ Ж й ё ς Σ İ ı ½ ™ ℃ ㍿ ① ✅ ❤\ufe0f → ≠ =\u0338 " +
	"_ - . / @ : , ; ( ) \" ' * ** -- -> OR AND NOT \\ % # + … 「 」 ， 。 \u0301 \ufe0f \u200d \u00ad \ufffd \xff \ue000 \x00 \x1e " +
	"ABC Abc aB 1 2 42 1a ǅ K ſ क ि ्")

// randomText joins difficult pieces of text.
func randomText(rng *rand.Rand, n int) string {
	var b strings.Builder
	for range rng.IntN(n) + 1 {
		switch rng.IntN(12) {
		case 0, 1, 2:
			b.WriteString([]string{" ", "  ", "\n", "\t", "\u3000", "\u00a0"}[rng.IntN(6)])
		case 3:
			b.WriteRune(rune(rng.IntN(0x3100)))
		case 4:
			b.WriteByte(byte(rng.IntN(256)))
		default:
			b.WriteString(alphabet[rng.IntN(len(alphabet))])
		}
	}
	return b.String()
}

// eval answers an expression from a set of terms, as an index does.
func eval(e Expr, set map[string]bool) bool {
	switch e.Op {
	case All:
		return true
	case None:
		return false
	case Term:
		return set[e.Term]
	case Prefix:
		for t := range set {
			if strings.HasPrefix(t, e.Term) {
				return true
			}
		}
		return false
	case And:
		for _, k := range e.Operands {
			if !eval(k, set) {
				return false
			}
		}
		return true
	case Or:
		for _, k := range e.Operands {
			if eval(k, set) {
				return true
			}
		}
		return false
	case Not:
		for _, k := range e.Operands[1:] {
			if eval(k, set) {
				return false
			}
		}
		return eval(e.Operands[0], set)
	}
	panic("unknown op")
}

func termSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, t := range terms(s) {
		set[t] = true
	}
	return set
}

// checkLaw checks that the index's answer includes a text that Match accepts, and equals the result of
// Match if it is sure.
func checkLaw(t *testing.T, query, body string, o Options) {
	t.Helper()
	q := Parse(query, o)
	e, sure := q.Index()
	m, ok := q.Match([]byte(body))
	asked := eval(e, termSet(body))
	if ok && !asked || sure && ok != asked {
		t.Errorf("query %q text %q %+v: match %v, index %v (%+v, sure %v)", query, body, o, ok, asked, e, sure)
	}
	last := 0
	for _, s := range m.Spans {
		if s.Start < last || s.End <= s.Start || s.End > len(body) {
			t.Errorf("query %q text %q: spans %v are out of order or empty", query, body, m.Spans)
		}
		last = s.End
	}
	if _, again := Parse(q.String(), o).Match([]byte(body)); again != ok {
		t.Errorf("query %q text %q: match %v, but %v for the query as shown, %q", query, body, ok, again, q)
	}
}

// checkString checks that the text of a parsed query means the same query.
func checkString(t *testing.T, query string, o Options) {
	t.Helper()
	q := Parse(query, o)
	s := q.String()
	r := Parse(s, o)
	a, sa := q.Index()
	b, sb := r.Index()
	if r.String() != s || !equalExpr(a, b) || sa != sb || q.Empty() != r.Empty() {
		t.Errorf("query %q %+v: shown as %q, read again as %q\n%+v\n%+v", query, o, s, r.String(), a, b)
	}
}

func equalExpr(a, b Expr) bool {
	return a.Op == b.Op && a.Term == b.Term && slices.EqualFunc(a.Operands, b.Operands, equalExpr)
}

func TestIndexNeverMisses(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 6_000 {
		body := randomText(rng, 14)
		query := randomText(rng, 5)
		if rng.IntN(2) == 0 && len(body) > 0 {
			i := rng.IntN(len(body))
			query = body[i : i+rng.IntN(len(body)-i)+1]
		}
		switch rng.IntN(8) {
		case 0:
			query = `"` + query + `"`
		case 1:
			query += "*"
		case 2:
			query += " -" + randomText(rng, 2)
		case 3:
			query += " OR " + randomText(rng, 2)
		}
		o := Options{Exact: rng.IntN(2) == 0}
		checkLaw(t, query, body, o)
		checkString(t, query, o)
		if t.Failed() {
			return
		}
	}
}

// Every word of a text finds the text. So do the terms of the text, and substrings in scripts
// without spaces.
func TestEveryWordFindsItsText(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	exact := Options{Exact: true}
	for range 6_000 {
		body := randomText(rng, 14)
		for _, w := range strings.FieldsFunc(body, text.IsSpace) {
			if _, ok := Parse(w, exact).Match([]byte(body)); !ok {
				t.Fatalf("word %q does not find %q", w, body)
			}
		}
		var z text.Tokenizer
		z.Reset([]byte(body))
		var f text.Folder
		for z.Next() {
			w := body[z.Start:z.End]
			f.FoldAll([]byte(w))
			if Parse(w, Options{}).Empty() {
				t.Fatalf("term %q of %q: nothing to look for", w, body)
			}
			if _, ok := Parse(w, Options{}).Match([]byte(body)); !ok {
				t.Fatalf("term %q does not find %q", w, body)
			}
		}
		checkSubstrings(t, rng, body)
	}
}

func checkSubstrings(t *testing.T, rng *rand.Rand, body string) {
	t.Helper()
	var f text.Folder
	f.FoldAll([]byte(body))
	for i := range f.Attr {
		if f.Attr[i].Class() != text.Dense || !utf8.RuneStart(f.Buf[i]) {
			continue
		}
		end := i + 1
		for n := rng.IntN(5); end < len(f.Attr) && (n > 0 || !utf8.RuneStart(f.Buf[end])) && text.SameRun(f.Attr[end-1], f.Attr[end]); end++ {
			if utf8.RuneStart(f.Buf[end]) {
				n--
			}
		}
		w := string(f.Buf[i:end])
		if !utf8.ValidString(w) {
			continue
		}
		if _, ok := Parse(w, Options{}).Match([]byte(body)); !ok {
			t.Fatalf("substring %q does not find %q", w, body)
		}
	}
}
