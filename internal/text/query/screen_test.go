package query

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tape/internal/text"
)

// checkScreen checks that a text that the screen rules out does not match.
func checkScreen(t *testing.T, query, body string, o Options) {
	t.Helper()
	q := Parse(query, o)
	if q.Empty() {
		return
	}
	got, ok := q.Match([]byte(body))
	want, also := new(matcher).match(q, []byte(body))
	if ok != also || !reflect.DeepEqual(got, want) {
		t.Errorf("query %q text %q %+v: %v %v, without the screen %v %v", query, body, o, got, ok, want, also)
	}
}

// The screen works on a text that is only folded in part. Queries are taken from the
// text and changed a little, so that they almost match.
func TestScreenRulesOutNoMatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 4_000 {
		body := randomText(rng, 1+rng.IntN(30))
		if rng.IntN(4) == 0 {
			body = strings.Repeat("plain ASCII in Between ", rng.IntN(4)) + body + strings.Repeat(" and\tBehind it", rng.IntN(4))
		}
		i := rng.IntN(len(body))
		query := body[i : i+rng.IntN(min(len(body)-i, 20))+1]
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
		checkScreen(t, query, body, Options{Exact: rng.IntN(2) == 0})
		if t.Failed() {
			return
		}
	}
}

// The reduced text and the folded one differ only in the case of ASCII and in the kind
// of white space.
func checkReduced(t *testing.T, body string) {
	t.Helper()
	var r text.Reducer
	reduced := slices.Clone(r.Reduce([]byte(body)))
	var f text.Folder
	f.FoldAll([]byte(body))
	for i := range reduced {
		if c := reduced[i]; c >= 'A' && c <= 'Z' {
			reduced[i] += 'a' - 'A'
		}
	}
	spaces := strings.NewReplacer("\t", " ", "\n", " ", "\v", " ", "\f", " ", "\r", " ")
	if got := spaces.Replace(string(reduced)); got != string(f.Buf) {
		t.Errorf("%q: reduced to %q, folded to %q", body, got, f.Buf)
	}
}

func TestReduce(t *testing.T) {
	for r := rune(0x80); r < 0x20000; r += 1 + r>>12 {
		for _, body := range []string{"a" + string(r) + "b", string(r) + "\u0301x", "→" + string(r) + string(r)} {
			checkReduced(t, body)
		}
	}
	rng := rand.New(rand.NewPCG(13, 14))
	for range 4_000 {
		checkReduced(t, randomText(rng, 14))
	}
}

// A screen that lets everything through would never be wrong either.
func TestScreenRulesOut(t *testing.T) {
	const body = "Weekend of the story → the anchoring │ reopened, Branch of … XMLReader at 1024 Straße"
	for _, query := range []string{
		"absent", `"end of"`, `"the end"`, "anchor", "open", "ranch", `"of story"`, "102", "24", "eader", "strass", "stra", `"of the anchor"`,
	} {
		q := Parse(query, Options{})
		if !new(screen).rulesOut(q, []byte(body)) {
			t.Errorf("%s is not ruled out", query)
		}
	}
}

func FuzzScreen(f *testing.F) {
	for _, s := range alphabet {
		f.Add(s, "x"+s+" "+s+"→Ab", false)
		f.Add(`"`+s+` a"`, "x"+s+"\t"+s+"  a", true)
	}
	f.Fuzz(func(t *testing.T, query, body string, exact bool) {
		checkScreen(t, query, body, Options{Exact: exact})
		checkReduced(t, body)
	})
}
