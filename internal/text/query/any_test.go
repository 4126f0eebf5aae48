package query

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tape/internal/testkit"
)

// TestAny: what counts of a query of any words.
func TestAny(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, words, parts string }{
		{"why did the fish install fail on fresh machines?", "fish install fail fresh machines", ""},
		{"¿Por qué falló la instalación?", "falló instalación", ""},
		{"Wie wurde der Fehler für Umlaute behoben", "Fehler Umlaute behoben", ""},
		{"don’t use gitstore/refs.go:42", "gitstore/refs.go:42", "gitstore refs 42"},
		{"commitWithMetadataGemini parseHTTP2", "commitWithMetadataGemini parseHTTP2", "commit metadata gemini parse http parsehttp"},
		{"为什么数据库的连接超时", "数据库的连接超时", "数据 据库 连接 接超 超时"},
		{"重跑gen-itgc脚本 了", "重跑 gen-itgc 脚本", "gen itgc"},
		{"what did commit 0381a524 do", "commit 0381a524", ""}, // no parts
		{"issue 1234567 of feedface", "issue 1234567 feedface", ""},
		{"C++ is slow", "C++ slow", ""},
		{"what is it", "what is it", ""}, // nothing else
		{"one -- two", "two", ""},
		{`lost "half`, "lost half", ""},
		{"IT or OR", "IT or", ""},
		{`a "phrase" of two`, "exact", ""},
		{"one OR two", "exact", ""},
		{"one AND two", "exact", ""},
		{"one -two", "exact", ""},
		{"one NOT two", "exact", ""},
		{"time*", "exact", ""},
		{"->", "exact", ""},
		{"", "exact", ""},
	} {
		q := Parse(c.query, Options{}).Any()
		if q == nil {
			if c.words != "exact" {
				t.Errorf("%q is exact, want the words %q", c.query, c.words)
			}
			continue
		}
		var parts []string
		for _, f := range q.Features() {
			if !f.Whole {
				parts = append(parts, f.ID)
			}
		}
		if words := strings.Join(q.Asked(), " "); words != c.words || strings.Join(parts, " ") != c.parts {
			t.Errorf("%q: the words %q with the parts %q, want %q and %q", c.query, words, parts, c.words, c.parts)
		}
	}
}

// TestShortHash: the beginning of a commit's id finds it.
func TestShortHash(t *testing.T) {
	t.Parallel()
	const text = `{"content":"see e45daa39e8ae5bcdc37458e6e5d20df68764bb47 of 12345678"}`
	for query, want := range map[string]string{"which commit was e45daa39": "E45DAA39", "commit e45daa4": "", "commit E45DAA39": "E45DAA39", "commit 1234567": ""} {
		q := Parse(query, Options{}).Any()
		m, _ := q.Match([]byte(text))
		has, lacks := q.Found(m)
		if got := strings.ToUpper(strings.Join(has, " ")); got != want || len(lacks) != 2-len(has) {
			t.Errorf("%q: it has %q and lacks %q", query, has, lacks)
		}
	}
}

// TestAnyFound: which words a text has, and which it lacks.
func TestAnyFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, text, want string }{
		{"fish install", "the fish", "[fish] [install]"},
		{"fish install", "Install Fish", "[fish install] []"},
		{"gitstore/refs.go cache", "package gitstore", "[gitstore] [cache]"},
		{"gitstore/refs.go cache", "refs of gitstore", "[gitstore/refs.go] [cache]"},
		{"MetadataGemini cache", "commitWithMetadataGemini", "[MetadataGemini] [cache]"},
		{"连接超时 redis", "连接 也 超时", "[连接 超时] [redis]"},
		{"数据库连接 redis", "数据库 redis", "[数据库 redis] []"},
		{"metadata MetadataGemini", "metadata", "[metadata metadata] []"},
	} {
		q := Parse(c.query, Options{}).Any()
		m, ok := q.Match([]byte(c.text))
		has, lacks := q.Found(m)
		if got := fmt.Sprint(has, " ", lacks); !ok || got != c.want {
			t.Errorf("%q in %q: %s, want %s", c.query, c.text, got, c.want)
		}
	}
	if _, ok := Parse("fish install", Options{}).Any().Match([]byte("nothing of that")); ok {
		t.Error("a text without any of the words matches")
	}
}

// TestInstead: a word that nothing has is replaced by several.
func TestInstead(t *testing.T) {
	t.Parallel()
	q := Parse("conecton pool", Options{}).Any().Instead("conecton", []string{"connection", "connections"}, false)
	m, ok := q.Match([]byte("many connections"))
	has, lacks := q.Found(m)
	if !ok || q.String() != "connection connections pool" || !slices.Equal(has, []string{"connections"}) || !slices.Equal(lacks, []string{"pool"}) {
		t.Errorf("%v: %q has %q, lacks %q", ok, q, has, lacks)
	}
}

// TestAnyCountsAsWords: how often a text has a word of a query of any words is what a query for that word alone counts.
func TestAnyCountsAsWords(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	for range testkit.Size(3000, 200_000) {
		q := Parse(randomText(rng, 6), Options{}).Any()
		if q == nil {
			continue
		}
		body := []byte(randomText(rng, 30))
		m, _ := q.Match(body)
		got := map[string]int{}
		for _, term := range m.Terms {
			got[term.Term] = term.N
		}
		for i := range q.features {
			alone := Query{groups: [][]unit{{q.features[i].unit}}}
			one, _ := alone.Match(body)
			n := 0
			if len(one.Terms) > 0 {
				n = one.Terms[0].N
			}
			if id := q.features[i].id; got[id] != n {
				t.Fatalf("%q has %q %d times, want %d", body, id, got[id], n)
			}
		}
	}
}

// TestQuestions: in a question, quotes, dashes and operators belong to what is asked. Without one, they mean what they say.
func TestQuestions(t *testing.T) {
	t.Parallel()
	const body = "go test -race hangs: the --watch flag, .env, C++ code and src/main.go of the dev server\nerror: AND is not an operator; don't use node_modules"
	for _, q := range []string{
		`why does "go test" fail`, "how did we fix the --watch flag", "why does go test -race hang", "why -race", "what about C++?", "where is .env kept",
		"did test AND race fail", "is test NOT working", "does test OR build fail", "why does test* hang", "how do we use `go test`", "what is [test] (race)",
		"server: where?", "how: src/*.go server 🚀", `what does "" do to the server`, `why "the dev server restarts`, "what about - server - now", "why does <test> hang",
		"warum hängt -race beim test?", `¿por qué falla "go test"?`, "为什么 -race 失败", "is it don't use or \"do not use\"?", "what's wrong with node_modules/*", "who wrote src/main.go:12", "how to -- server",
		"the server -race hangs?", "why is the flag called --watch-all", "what does -r mean for the server?",
	} {
		query := Parse(q, Options{})
		if len(query.groups) == 0 {
			t.Fatalf("%q is empty", q)
		}
		if words := query.Any(); words != nil {
			query = words
		}
		if _, ok := query.Match([]byte(body)); !ok {
			if q != "why -race" { // two words are no question
				t.Errorf("%q does not find %q", q, body)
			}
		}
	}
	for q, want := range map[string]string{
		`"go test" fail`: "go test fail", `test -race hang`: "test hang", "race OR test": "race test", "race AND -x": "", `"race"`: "", "race hang": "", "rac* hang": "rac hang",
	} {
		if got := Parse(q, Options{}).Loose(); got != want {
			t.Errorf("%q without its syntax is %q, want %q", q, got, want)
		}
	}
}
