package entrydiff

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tape/internal/testkit"
)

// marked spells spans: [-deleted-] and {+inserted+}.
func marked(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(map[Op]string{Equal: s.Text, Delete: "[-" + s.Text + "-]", Insert: "{+" + s.Text + "+}"}[s.Op])
	}
	return b.String()
}

// checkSpans ends the test unless the spans make up both texts, in order, and are
// not empty.
func checkSpans(t *testing.T, old, new string, spans []Span) {
	t.Helper()
	var a, b strings.Builder
	last := Op(127)
	for _, s := range spans {
		if s.Text == "" || s.Op == last || s.Op == Delete && last == Insert || !utf8.ValidString(s.Text) {
			t.Fatalf("%q and %q: spans out of order: %v", old, new, spans)
		}
		last = s.Op
		if s.Op != Insert {
			a.WriteString(s.Text)
		}
		if s.Op != Delete {
			b.WriteString(s.Text)
		}
	}
	if a.String() != old || b.String() != new {
		t.Fatalf("%q and %q: the spans do not make up these texts: %v", old, new, spans)
	}
}

func compareTexts(old, new string) []Span {
	d := differ{deadline: time.Now().Add(maxTime)}
	return d.text(old, new)
}

// Whatever is edited, the spans make up both texts, and after few edits most of the
// text is equal.
func TestTextProperty(t *testing.T) {
	rng := testkit.Random(t)
	words := []string{"a", "the", " ", " ", "\n", "\n\n", "retry", "数据", "库", "床", "序", "é", "è", "ê", "e\u0301", "👩‍👩‍👧", "\x00", "\t", "func(", ")", "\r\n", "\u2028", "ไทย"}
	some := func(n int) []string {
		var all []string
		for range n {
			all = append(all, words[rng.IntN(len(words))])
		}
		return all
	}
	for range testkit.Size(20, 3000) {
		old := some(rng.IntN(1500))
		edits := rng.IntN(6)
		edited := old
		for range edits {
			i := rng.IntN(len(edited) + 1)
			k := min(len(edited), i+rng.IntN(4))
			edited = slices.Concat(edited[:i], some(rng.IntN(5)), edited[k:])
		}
		a, b := strings.Join(old, ""), strings.Join(edited, "")
		spans := compareTexts(a, b)
		if max(len(a), len(b)) < longText {
			continue
		}
		checkSpans(t, a, b, spans)
		equal := 0
		for _, s := range spans {
			if s.Op == Equal {
				equal += len(s.Text)
			}
		}
		if len(a) > 2000 && 2*equal < len(a) {
			t.Fatalf("%d edits leave %d of %d bytes equal: %s", edits, equal, len(a), marked(spans))
		}
		other := strings.Join(some(rng.IntN(600)), "")
		if max(len(a), len(other)) >= longText {
			checkSpans(t, a, other, compareTexts(a, other))
		}
	}
}

// Spans do not cut characters, even if the old and the new one begin or end with the
// same bytes.
func TestTextWholeCharacters(t *testing.T) {
	for _, c := range [][2]string{{"é", "è"}, {"é", "ũ"}, {"库", "床"}, {"😀", "😁"}, {"a", "e\u0301"}} {
		old, new := strings.Repeat("x", 50)+c[0]+strings.Repeat("y", 50), strings.Repeat("x", 50)+c[1]+strings.Repeat("y", 50)
		spans := compareTexts(old, new)
		checkSpans(t, old, new, spans)
		if len(spans) != 4 || spans[1] != (Span{Delete, c[0]}) || spans[2] != (Span{Insert, c[1]}) {
			t.Errorf("got %s, want [-%s-]{+%s+} between equal runs", marked(spans), c[0], c[1])
		}
	}
}

// In a long text, a changed word and a deleted line are the only changes.
func TestTextLong(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "line %d says something that is said once\n", i)
	}
	old := b.String()
	new := strings.Replace(old, "line 17 says", "line 17 shouts", 1)
	new = strings.Replace(new, "line 4100 says something that is said once\n", "", 1)
	spans := compareTexts(old, new)
	checkSpans(t, old, new, spans)
	var changed []Span
	for _, s := range spans {
		if s.Op != Equal {
			changed = append(changed, s)
		}
	}
	if got := marked(changed); len(got) > 100 || !strings.Contains(got, "out") {
		t.Errorf("the changes are %s, want at most 100 bytes with the inserted \"out\"", got)
	}
}

// One long line is compared by words.
func TestTextOneLine(t *testing.T) {
	old := "{" + strings.Repeat(`"key": "value", `, 900) + `"a": 1, ` + strings.Repeat(`"key": "value", `, 900) + "}"
	new := strings.Replace(old, `"a": 1`, `"b": 2`, 1)
	new = strings.Replace(new, `"key": "value"`, `"key": "other"`, 1)
	spans := compareTexts(old, new)
	checkSpans(t, old, new, spans)
	if n := len(spans); n < 3 || n > 12 {
		t.Errorf("got %d spans, want 3 to 12", n)
	}
}

// Texts with nothing in common, or with the same words many times, take limited
// time, however long they are.
func TestTextBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := func(n, of int, sep string) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "%d%s", rng.IntN(of), sep)
		}
		return b.String()
	}
	for name, c := range map[string][2]string{
		"lines":             {noise(19_000, 1<<30, "\n"), noise(19_000, 1<<30, "\n")},
		"few lines, often":  {noise(9_000, 3, "\n"), noise(9_000, 3, "\n")},
		"words":             {noise(19_000, 3, " "), noise(19_000, 3, " ")},
		"too many":          {noise(200_000, 9, "\n"), noise(200_000, 9, "\n")},
		"periods":           {strings.Repeat("a\n", 4_000) + "b\n" + strings.Repeat("a\n", 4_000), "c\n" + strings.Repeat("a\n", 7_500) + "b\n"},
		"characters":        {strings.Repeat("x", 1<<18), strings.Repeat("y", 1<<18)},
		"no spaces between": {noise(300_000, 10, ""), noise(300_000, 10, "")},
	} {
		spans := compareTexts(c[0], c[1]) // without a bound some would take hours
		checkSpans(t, c[0], c[1], spans)
		t.Logf("%s: %d spans", name, len(spans))
	}
}
