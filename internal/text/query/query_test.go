package query

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"tape/internal/text"
)

// found returns the matches of a query in a text, joined by |, and whether the text matches.
func found(query, text string, o Options) (string, bool) {
	m, ok := Parse(query, o).Match([]byte(text))
	var parts []string
	for _, s := range m.Spans {
		parts = append(parts, text[s.Start:s.End])
	}
	return strings.Join(parts, "|"), ok
}

func TestMatch(t *testing.T) {
	const no = "(no match)"
	for _, c := range []struct{ query, text, want string }{
		{"timeout", "A Timeout, then timeouts", "Timeout"},
		{"two words", "words: only two", "words|two"},
		{"two words", "only two", no},
		{"a b OR c", "c", "c"},
		{"a b OR c", "a", no},
		{"a AND b", "b a", "b|a"},
		{"a NOT b", "a b", no},
		{"a NOT b", "a c", "a"},
		{"a AND NOT b", "a b", no},
		{"a -b", "a bc", "a"},
		{"a -b", "a b", no},
		{`a -"b c"`, "a b c", no},
		{`a -"b c"`, "a c b", "a"},
		{`a -b:c`, "a b", "a"},
		{`a -b:c`, "a b:c", no},
		{"-foo", "foo", no},
		{"-foo", "bar", ""},
		{"-foo -bar", "foo bar", no},
		{"-foo OR bar", "foo bar", "bar"},
		{"--force", "git push --force", "--force"},
		{"--force", "force", no},
		{"OR foo", "foo or", "foo|or"},
		{"OR foo", "foo", no},
		{`"lost half`, "half lost", "half|lost"},
		{"foo - bar", "foo bar", "foo|bar"},
		{"(foo)", "foo", "foo"},
		{"foo()", "foo", "foo"},
		{"time*", "time timeout mealtime", "time|timeout"},
		{"ref*", "SetReference", "Reference"},
		{"foo.ba*", "foo.bar foo.bz", "foo.bar"},
		{"数据*", "大数据库", "数据"},
		{`"the end"`, "the\n\t end; at the-end", "the\n\t end"},
		{`"end, start"`, "end, start", "end, start"},
		{`"end, start"`, "end start", no},
		{`"a b"`, "a\x1eb", no},
		{`"foo"`, "foo", "foo"},
		{`"数据 库"`, "大数据 库存", "数据 库"},
		{"SetReference", "call setReference(x)", "setReference"},
		{"reference", "SetReference", "Reference"},
		{"setref", "SetReference", no},
		{"100ms", "took 100ms", "100ms"},
		{"ms", "took 100ms", "ms"},
		{"库", "数据库", "库"},
		{"数据库", "新数据库表", "数据库"},
		{"文件", "文。件", no},
		{"文件件", "文件。件件", no},
		{"gen-itgc", "重跑gen-itgc脚本", "gen-itgc"},
		{"重跑gen", "先重跑gen了", "重跑gen"},
		{"重跑gen", "重跑general", no},
		{"internal/gitstore/refs.go:42", "see internal/gitstore/refs.go:42.", "internal/gitstore/refs.go:42"},
		{"internal/gitstore", "xinternal/gitstore", no},
		{"refs.go:4", "refs.go:42", no},
		{"E_CONN_42", "E_CONN_42!", "E_CONN_42"},
		{"e_conn", "E_CONN_42", "E_CONN"},
		{"a@b.c", "to A@B.C now", "A@B.C"},
		{"100%", "100 100% 5100%", "100%"},
		{"C++", "C C++11", "C++"},
		{"v1.2", "v1.2.3 v1.23", "v1.2"},
		{"don't", "don't do not", "don't"},
		{"foo:bar", "SetFoo:bar", "Foo:bar"},
		{"->", "a->b", "->"},
		{"{}", "x{} y", "{}"},
		{"*", "2*3", "*"},
		{"✅", "done ✅", "✅"},
		{"❤", "i ❤\ufe0f it", "❤\ufe0f"},
		{"cafe", "Café CAFE\u0301", "Café|CAFE\u0301"},
		{"Ｔｅｓｔ", "test", "test"},
		{"ガ", "ｶﾞﾗｽ", "ｶﾞ"},
		{"か", "が", no},
		{"strasse", "Straße", "Straße"},
		{"℃", "25℃ or 25°C", "℃|°C"},
		{strings.Repeat("x", 80), strings.Repeat("x", 90), no},
		{strings.Repeat("x", 80), strings.Repeat("x", 80), strings.Repeat("x", 80)},
		{"", "anything", ""},
		{"\x00", "a\x00b", "\x00"},
		{"\xff", "a\xffb", "\xff"},
	} {
		got, ok := found(c.query, c.text, Options{})
		if !ok {
			got = no
		}
		if got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.query, c.text, got, c.want)
		}
	}
}

func TestMatchExact(t *testing.T) {
	for _, c := range []struct {
		query, text string
		want        bool
	}{
		{"foo()", "Foo()", true},
		{"foo()", "foo", false},
		{"end.", "the end.", true},
		{"end.", "the end", false},
		{"[x]", "[X]", true},
		{"(", "a", false},
		{`a "`, `a`, false},
		{`a "`, `a"`, true},
	} {
		if _, ok := found(c.query, c.text, Options{Exact: true}); ok != c.want {
			t.Errorf("%q in %q: match %v, want %v", c.query, c.text, ok, c.want)
		}
	}
}

func TestIndex(t *testing.T) {
	for query, want := range map[string]string{
		"timeout":        "timeout sure",
		"Set_Ref x":      "and(set ref x)",
		"数":              "数* sure",
		"数据":             "数据 sure",
		"数据库":            "and(数据 据库)",
		"pre*":           "pre* sure",
		"foo.ba*":        "and(foo ba*)",
		`"a b a"`:        "and(a b)",
		"a -b":           "not(a b) sure",
		"a -b:c":         "a",
		"a b OR c":       "or(and(a b) c) sure",
		"a OR {}":        "all",
		"a {}":           "a",
		"{} -a":          "not(all a)",
		"":               "all sure",
		"v1.2":           "and(v1 2)",
		"AND":            "and sure",
		"文件。件":           "and(文件 件*)",
		"\"SetReference": "setreference sure",
	} {
		e, sure := Parse(query, Options{}).Index()
		got := showExpr(e)
		if sure {
			got += " sure"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}

func showExpr(e Expr) string {
	switch e.Op {
	case All:
		return "all"
	case Term:
		return e.Term
	case Prefix:
		return e.Term + "*"
	}
	var kids []string
	for _, k := range e.Operands {
		kids = append(kids, showExpr(k))
	}
	return map[Op]string{And: "and", Or: "or", Not: "not"}[e.Op] + "(" + strings.Join(kids, " ") + ")"
}

func TestQueryWords(t *testing.T) {
	q := Parse(`Tiemout a.b "phrase" pre* -not 数据 tiemout OR Wrold {}`, Options{})
	if got := q.Words(); !slices.Equal(got, []string{"tiemout", "wrold"}) {
		t.Errorf("words %q, want tiemout and wrold", got)
	}
	r := q.Replace("tiemout", "timeout").Replace("wrold", "world")
	if got, want := r.String(), `timeout a.b "phrase" pre* 数据 timeout -not OR world {}`; got != want {
		t.Errorf("query %s after With, want %s", got, want)
	}
	if got := r.Words(); !slices.Equal(got, []string{"timeout", "world"}) {
		t.Errorf("words %q after With, want timeout and world", got)
	}
	if q.Words()[0] != "tiemout" {
		t.Error("With changed the query that it was called on")
	}
	m, ok := Parse("helo wrold", Options{}).Replace("helo", "hello").Replace("wrold", "world").Match([]byte("Hello  World"))
	if !ok || !m.Literal {
		t.Errorf("match %v, literal %v, want both", ok, m.Literal)
	}
}

func TestQueryString(t *testing.T) {
	for in, want := range map[string]string{
		"a  b":          "a b",
		"a NOT b":       "a -b",
		"a AND -b c":    "a c -b",
		`-"x  y" z`:     `z -"x y"`,
		"OR a":          `"OR" a`,
		"a NOT --b":     "a NOT --b",
		`he said "hi,`:  "he said hi,",
		"-a OR -b":      "-a OR -b",
		"-":             "-",
		"a -":           "a",
		`"a", "b" or c`: `"a" "b" or c`,
		" \t":           "",
	} {
		if got := Parse(in, Options{}).String(); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
		checkString(t, in, Options{})
	}
}

func TestQueryEmpty(t *testing.T) {
	for q, want := range map[string]bool{"": true, " \n\u3000": true, "-": false, `""`: false, `"`: false, "*": false, "a": false} {
		if got := Parse(q, Options{}).Empty(); got != want {
			t.Errorf("%q: Empty is %v, want %v", q, got, want)
		}
	}
}

func TestMatchCounts(t *testing.T) {
	m, _ := Parse(`ref* ref "git push" git 数据库 数 absent OR git`, Options{}).Match([]byte("git  push git refs Ref 数据库数"))
	want := []TermCount{{"ref*", 2}, {"ref", 1}, {"git push", 1}, {"git", 2}, {"数据库", 1}, {"数", 2}}
	if !slices.Equal(m.Terms, want) {
		t.Errorf("counts %v, want %v", m.Terms, want)
	}
	if m.Literal {
		t.Error("a text without the query as typed is a literal match")
	}
	if m, _ := Parse("Git Push", Options{}).Match([]byte("do git\npush.")); !m.Literal {
		t.Error("a text with the query as typed is not a literal match")
	}
}

// Input that is made to be slow is not slow.
func TestHugeQuery(t *testing.T) {
	const size = 1 << 17
	for _, s := range []string{"a ", "a.", `"`, `""x `, "-", "x", "aB1", "数", "( ", "OR ", "NOT ", "e\u0301", "\xff", "\x00", "a*", `-"`, "😀"} {
		text := strings.Repeat(s, size/len(s))
		q := Parse(text, Options{})
		e, _ := q.Index()
		if n := countKids(e); n > 64*maxTerms {
			t.Errorf("repeated %q: %d expressions, want %d at most", s, n, 64*maxTerms)
		}
		q.Match([]byte(text))
		Parse("a aB 数 x.a pre*", Options{}).Match([]byte(text))
		if n := utf8.RuneCountInString(q.String()); n > size+64 {
			t.Errorf("repeated %q: String has %d characters, want %d at most", s, n, size+64)
		}
	}
}

func countKids(e Expr) int {
	n := 1
	for _, k := range e.Operands {
		n += countKids(k)
	}
	return n
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a b", `"a b" -c OR d*`, "数据库 -- ->", `"`, "NOT a AND", "\xff\x00*"} {
		f.Add(s, "a b 数据库 "+s, false)
		f.Add(s, s, true)
	}
	f.Fuzz(func(t *testing.T, query, text string, exact bool) {
		o := Options{Exact: exact}
		checkLaw(t, query, text, o)
		checkString(t, query, o)
	})
}

func FuzzTokens(f *testing.F) {
	for _, s := range alphabet {
		f.Add(s + " x" + s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var z text.Tokenizer
		z.Reset([]byte(body))
		for z.Next() {
			if z.Start < 0 || z.End <= z.Start || z.End > len(body) || len(z.Term) == 0 || len(z.Term) > text.MaxTerm || !utf8.Valid(z.Term) {
				t.Fatalf("%q: term %q at %d to %d", body, z.Term, z.Start, z.End)
			}
		}
		for _, w := range strings.FieldsFunc(body, text.IsSpace) {
			if _, ok := Parse(w, Options{Exact: true}).Match([]byte(body)); !ok {
				t.Fatalf("word %q does not find %q", w, body)
			}
		}
	})
}

// TestExactQuotes: with Exact, a quote is a character like others, unless it encloses a
// phrase of several words.
func TestExactQuotes(t *testing.T) {
	for query, texts := range map[string]map[string]bool{
		`"E"`:      {`say "E" now`: true, `say E now`: false},
		`"Third,`:  {`then "Third, he said"`: true, `then Third, he said`: false},
		`"go on"`:  {`we go on`: true, `"go on"`: true, `go off on`: false},
		`f("x")`:   {`call f("x")`: true, `call f(x)`: false},
		`" OR" or`: {`either or`: true, `either`: false},
		`-m`:       {`commit -m x`: true, `commit m x`: false},
		`x -m`:     {`x`: true, `x m`: false},
	} {
		for text, want := range texts {
			if _, got := Parse(query, Options{Exact: true}).Match([]byte(text)); got != want {
				t.Errorf("%s in %s: %v, want %v", query, text, got, want)
			}
		}
	}
}
