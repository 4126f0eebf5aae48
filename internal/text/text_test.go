package text

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// terms returns the terms of a text.
func terms(s string) []string {
	var z Tokenizer
	z.Reset([]byte(s))
	var out []string
	for z.Next() {
		out = append(out, string(z.Term))
	}
	return out
}

func TestTokenizer(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"Hello, world!":             "hello world",
		"SetReference":              "setreference set reference",
		"HTTPServer":                "httpserver http server",
		"E42 100ms sha256":          "e42 e 42 100ms 100 ms sha256 sha 256",
		"snake_case a/b.go:7":       "snake case a b go 7",
		"数据库":                       "数据 据库 库",
		"库":                         "库",
		"重跑gen-itgc脚本":              "重跑 跑 gen itgc 脚本 本",
		"文件。件":                      "文件 件 件",
		"Ｆｕｌｌ ｶﾞｷﾞ":                 "full ガギ ギ",
		"が か":                       "が か",
		"か\u3099":                   "が",
		"Café CAFE\u0301 naïve":     "cafe cafe naive",
		"Straße ﬁn ŒUVRE":           "strasse fin oeuvre",
		"й ё и\u0306 ї за\u0301мок": "й е й ї замок",
		"ὈΔΥΣΣΕΎΣ Ὀδυσσεύς":         "οδυσσευσ οδυσσευσ",
		"done ✅→❤\ufe0f":            "done ✅ → ❤",
		"a\xffb":                    "a b",
		"a\ue000b \U000F0000":       "a b",
		"1½ m² Foo™":                "1 1 ⁄ 2 m2 m 2 foo tm",
		"a\u2260b =\u0338":          "a ≠ b ≠",
		"한국어 \u1112\u1161\u11ab":    "한국 국어 어 한",
		"dGhpc0lzQmFzZTY0":          "dghpc0lzqmfzzty0",
		"aBcDeFgHi":                 "abcdefghi a bc de fg hi",
		"aBcDeFgHiJkLmNoPqR":        "abcdefghijklmnopqr",
		"1\ufe0f\u20e3":             "1",
		"a_b C++ 100%":              "a b c 100",
		strings.Repeat("x", 70):     strings.Repeat("x", 64),
		strings.Repeat("é", 70):     strings.Repeat("e", 64),
		strings.Repeat("ж", 70):     strings.Repeat("ж", 32),
	} {
		if got := strings.Join(terms(in), " "); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTokenizerOffsets(t *testing.T) {
	const text = "x Café-數據 ❤\ufe0f SetRef e\u0301Tat"
	var z Tokenizer
	z.Reset([]byte(text))
	var got []string
	for z.Next() {
		got = append(got, text[z.Start:z.End])
	}
	want := []string{"x", "Café", "數據", "據", "❤\ufe0f", "SetRef", "Set", "Ref", "e\u0301Tat", "e\u0301", "Tat"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Folding what is folded changes nothing: a term of the index can be asked for.
func TestFoldTwice(t *testing.T) {
	var f, g folder
	for r := rune(0); r < 0x20000; r += 1 + r>>14 {
		if !utf8.ValidRune(r) {
			continue
		}
		f.foldAll([]byte(string(r)))
		g.foldAll(f.buf)
		if string(f.buf) != string(g.buf) {
			t.Errorf("%U: %q, then %q", r, f.buf, g.buf)
		}
		for _, s := range terms(string(r)) {
			for i := range len(s) {
				if c := s[i]; c < utf8.RuneSelf && asciiAttr[c] != lower && asciiAttr[c] != digit {
					t.Errorf("%U: term %q", r, s)
				}
			}
			if strings.HasPrefix(s, "\ue000") {
				t.Errorf("%U: term %q", r, s)
			}
		}
		d := norm.NFD.String(string(r))
		if a, b := terms(string(r)), terms(d); !slices.Equal(a, b) {
			t.Errorf("%U: %q, decomposed %q", r, a, b)
		}
	}
}

var alphabet = strings.Fields("a b c K s SetReference setref HTTPServer E42 100ms sha256 foo Bar don't C++ 100% " +
	"数 据 数据库 重跑 文件。件 か が か\u3099 ｶﾞ ア 한국 ไทย น้ำ é e\u0301 ß ﬁ Ж й ё ς Σ İ ı ½ ™ ℃ ㍿ ① ✅ ❤\ufe0f → ≠ =\u0338 " +
	"_ - . / @ : , ; ( ) \" ' * ** -- -> OR AND NOT \\ % # + … 「 」 ， 。 \u0301 \ufe0f \u200d \u00ad \ufffd \xff \ue000 \x00 \x1e " +
	"ABC Abc aB 1 2 42 1a ǅ K ſ क ि ्")

// randomText strings together what makes trouble.
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
		for _, k := range e.Kids {
			if !eval(k, set) {
				return false
			}
		}
		return true
	case Or:
		for _, k := range e.Kids {
			if eval(k, set) {
				return true
			}
		}
		return false
	case Not:
		for _, k := range e.Kids[1:] {
			if eval(k, set) {
				return false
			}
		}
		return eval(e.Kids[0], set)
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

// checkLaw checks that the index's answer has what Match accepts.
func checkLaw(t *testing.T, query, text string, o Options) {
	t.Helper()
	q := Parse(query, o)
	e, sure := q.Index()
	m, ok := q.Match([]byte(text))
	asked := eval(e, termSet(text))
	if ok && !asked || sure && ok != asked {
		t.Errorf("query %q text %q %+v: match %v, index %v (%+v, sure %v)", query, text, o, ok, asked, e, sure)
	}
	last := 0
	for _, s := range m.Spans {
		if s.Start < last || s.End <= s.Start || s.End > len(text) {
			t.Errorf("query %q text %q: spans %v", query, text, m.Spans)
		}
		last = s.End
	}
	if _, again := Parse(q.String(), o).Match([]byte(text)); again != ok {
		t.Errorf("query %q text %q: match %v, but %q %v", query, text, ok, q, again)
	}
}

// checkString checks that a query that is shown is the query that it was.
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
	return a.Op == b.Op && a.Term == b.Term && slices.EqualFunc(a.Kids, b.Kids, equalExpr)
}

func TestIndexNeverMisses(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 6_000 {
		text := randomText(rng, 14)
		query := randomText(rng, 5)
		if rng.IntN(2) == 0 && len(text) > 0 {
			i := rng.IntN(len(text))
			query = text[i : i+rng.IntN(len(text)-i)+1]
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
		checkLaw(t, query, text, o)
		checkString(t, query, o)
		if t.Failed() {
			return
		}
	}
}

// Every word of a text finds it, as do the runs in it and the substrings of
// scripts without spaces.
func TestEveryWordFindsItsText(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	exact := Options{Exact: true}
	for range 6_000 {
		text := randomText(rng, 14)
		for _, w := range strings.FieldsFunc(text, isSpace) {
			if _, ok := Parse(w, exact).Match([]byte(text)); !ok {
				t.Fatalf("word %q does not find %q", w, text)
			}
		}
		var z Tokenizer
		z.Reset([]byte(text))
		var f folder
		for z.Next() {
			w := text[z.Start:z.End]
			f.foldAll([]byte(w))
			if Parse(w, Options{}).Empty() {
				t.Fatalf("term %q of %q: nothing to look for", w, text)
			}
			if _, ok := Parse(w, Options{}).Match([]byte(text)); !ok {
				t.Fatalf("term %q does not find %q", w, text)
			}
		}
		checkSubstrings(t, rng, text)
	}
}

func checkSubstrings(t *testing.T, rng *rand.Rand, text string) {
	t.Helper()
	var f folder
	f.foldAll([]byte(text))
	for i := range f.attr {
		if f.attr[i]&classMask != dense || !utf8.RuneStart(f.buf[i]) {
			continue
		}
		end := i + 1
		for n := rng.IntN(5); end < len(f.attr) && (n > 0 || !utf8.RuneStart(f.buf[end])) && sameRun(f.attr[end-1], f.attr[end]); end++ {
			if utf8.RuneStart(f.buf[end]) {
				n--
			}
		}
		w := string(f.buf[i:end])
		if !utf8.ValidString(w) {
			continue
		}
		if _, ok := Parse(w, Options{}).Match([]byte(text)); !ok {
			t.Fatalf("substring %q does not find %q", w, text)
		}
	}
}
