package text

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// checkScreen checks that a text which is ruled out in a hurry would not match.
func checkScreen(t *testing.T, query, text string, o Options) {
	t.Helper()
	q := Parse(query, o)
	if q.Empty() {
		return
	}
	got, ok := q.Match([]byte(text))
	want, also := new(matcher).match(q, []byte(text))
	if ok != also || !reflect.DeepEqual(got, want) {
		t.Errorf("query %q text %q %+v: %v %v, without the screen %v %v", query, text, o, got, ok, want, also)
	}
}

// The screen works on a text that is only folded in part. Queries are taken
// from the text, where they are near to matching, and changed a little.
func TestScreenRulesOutNoMatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 4_000 {
		text := randomText(rng, 1+rng.IntN(30))
		if rng.IntN(4) == 0 {
			text = strings.Repeat("plain ASCII in Between ", rng.IntN(4)) + text + strings.Repeat(" and\tBehind it", rng.IntN(4))
		}
		i := rng.IntN(len(text))
		query := text[i : i+rng.IntN(min(len(text)-i, 20))+1]
		switch rng.IntN(6) {
		case 0:
			query = strings.ToUpper(query)
		case 1:
			query += "*"
		case 2:
			query = strings.ReplaceAll(query, " ", "  ")
		case 3:
			query = randomText(rng, 2) + " OR " + query
		}
		if rng.IntN(2) == 0 {
			query = `"` + query + `"`
		}
		checkScreen(t, query, text, Options{Exact: rng.IntN(2) == 0})
		if t.Failed() {
			return
		}
	}
}

// The reduced text and the folded one differ in the case of ASCII and in what
// white space is spelt as.
func checkReduced(t *testing.T, text string) {
	t.Helper()
	var s screen
	reduced := string(s.reduce([]byte(text)))
	var f folder
	f.foldAll([]byte(text))
	spaces := strings.NewReplacer("\t", " ", "\n", " ", "\v", " ", "\f", " ", "\r", " ")
	if got := spaces.Replace(asciiLower(reduced)); got != string(f.buf) {
		t.Errorf("%q: reduced to %q, folded to %q", text, got, f.buf)
	}
}

func TestReduce(t *testing.T) {
	for r := rune(0x80); r < 0x20000; r += 1 + r>>12 {
		for _, text := range []string{"a" + string(r) + "b", string(r) + "\u0301x", "→" + string(r) + string(r)} {
			checkReduced(t, text)
		}
	}
	rng := rand.New(rand.NewPCG(13, 14))
	for range 4_000 {
		checkReduced(t, randomText(rng, 14))
	}
}

// A screen that lets everything through would never be wrong either.
func TestScreenRulesOut(t *testing.T) {
	const text = "Weekend of the story → the anchoring │ reopened, Branch of … XMLReader at 1024 Straße"
	for _, query := range []string{
		"absent", `"end of"`, `"the end"`, "anchor", "open", "ranch", `"of story"`, "102", "24", "eader", "strass", "stra", `"of the anchor"`,
	} {
		q := Parse(query, Options{})
		if !new(screen).cannot(q, []byte(text)) {
			t.Errorf("%s is not ruled out", query)
		}
	}
}

func FuzzScreen(f *testing.F) {
	for _, s := range alphabet {
		f.Add(s, "x"+s+" "+s+"→Ab", false)
		f.Add(`"`+s+` a"`, "x"+s+"\t"+s+"  a", true)
	}
	f.Fuzz(func(t *testing.T, query, text string, exact bool) {
		checkScreen(t, query, text, Options{Exact: exact})
		checkReduced(t, text)
	})
}

// A character that is not seen changes nothing, which lets what it stands
// behind be looked up.
func TestIgnoredChangeNothing(t *testing.T) {
	var f, g folder
	for r := rune(0x20); r < 0x20000; r += 1 + r>>12 {
		if isIgnored(r) {
			continue
		}
		f.foldAll([]byte(string(r) + "x"))
		g.foldAll([]byte(string(r) + "\ufe0f\u200dx"))
		if string(f.buf) != string(g.buf) || string(f.attr) != string(g.attr) {
			t.Errorf("%U: %q %v, with a selector %q %v", r, f.buf, f.attr, g.buf, g.attr)
		}
	}
}
