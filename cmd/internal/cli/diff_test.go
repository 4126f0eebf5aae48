package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/display"
	"tape/internal/entrydiff"
	"tape/internal/query"
	"tape/internal/testkit"
	"tape/repo"
)

func textPart(old, new string) entrydiff.Part {
	return entrydiff.Part{Path: "payload.content", Old: old, New: new, HasOld: true, HasNew: true}
}

func shownLines(lines []textLine) string {
	var out []string
	for _, l := range lines {
		text, end := "", 0
		for _, m := range l.marks {
			text += l.text[end:m[0]] + "[" + l.text[m[0]:m[1]] + "]"
			end = m[1]
		}
		out = append(out, string(l.sign)+text+l.text[end:])
	}
	return strings.Join(out, "|")
}

// A changed text is shown by the lines that changed, with what changed in them.
func TestPartLines(t *testing.T) {
	span := func(op entrydiff.Op, text string) entrydiff.Span { return entrydiff.Span{Op: op, Text: text} }
	const same, gone, came = entrydiff.Equal, entrydiff.Delete, entrydiff.Insert
	for _, c := range []struct {
		part entrydiff.Part
		want string
	}{
		{textPart("a", "b"), "-[a]|+[b]"},
		{entrydiff.Part{New: "b\nc", HasNew: true}, "+[b]|+[c]"},
		{entrydiff.Part{Old: "", HasOld: true}, "-"},
		{textPart("\x1b[1m", "\u202e"), `-[\x1b[1m]|+[<U+202E>]`},
	} {
		if got := shownLines(partLines(c.part)); got != c.want {
			t.Errorf("%+v is shown as %s, not %s", c.part, got, c.want)
		}
	}
	for _, c := range []struct {
		spans []entrydiff.Span
		want  string
	}{
		{[]entrydiff.Span{span(same, "one\ntwo "), span(gone, "old"), span(came, "new"), span(same, " end\nthree")}, " one|-two [old] end|+two [new] end| three"},
		{[]entrydiff.Span{span(same, "1\n2\n3\n4\n5"), span(came, "x"), span(same, "\n6\n7\n8")}, " …| 4|-5|+5[x]| 6| …"},
		{[]entrydiff.Span{span(same, "a\n"), span(came, "x\n"), span(same, "b")}, " a|+[x]| b"},
		{[]entrydiff.Span{span(same, "a"), span(came, "\nx"), span(same, "\nb")}, " a|+[x]| b"},
		{[]entrydiff.Span{span(same, "a\n"), span(gone, "x\ny\n"), span(same, "b")}, " a|-[x]|-[y]| b"},
	} {
		p := entrydiff.Part{HasOld: true, HasNew: true, Text: c.spans}
		if got := shownLines(partLines(p)); got != c.want {
			t.Errorf("%v is shown as %s, not %s", c.spans, got, c.want)
		}
	}
}

// The lines that are shown without a + and those without a - are lines of both texts, in
// their order.
func TestPartLinesAreOfBoth(t *testing.T) {
	rnd := testkit.Random(t)
	words := []string{"a", "b\n", "\n", "c d ", "世\n界"}
	for range testkit.Size(200, 2000, 50000) {
		var p entrydiff.Part
		for range 1 + rnd.IntN(8) {
			s := entrydiff.Span{Op: entrydiff.Op(rnd.IntN(3)), Text: words[rnd.IntN(len(words))]}
			p.Text = append(p.Text, s)
			if s.Op != entrydiff.Insert {
				p.Old += s.Text
			}
			if s.Op != entrydiff.Delete {
				p.New += s.Text
			}
		}
		p.HasOld, p.HasNew = true, true
		d := &lineDiff{}
		for _, s := range p.Text {
			d.span(s)
		}
		d.finish(p)
		var old, new []string
		for _, l := range d.out {
			if l.sign != '+' {
				old = append(old, l.text)
			}
			if l.sign != '-' {
				new = append(new, l.text)
			}
		}
		if got := strings.Join(old, "\n"); got != p.Old {
			t.Fatalf("%v: the old text is shown as %q", p.Text, got)
		}
		if got := strings.Join(new, "\n"); got != p.New {
			t.Fatalf("%v: the new text is shown as %q", p.Text, got)
		}
	}
}

// Of a line without end, what changed is shown.
func TestLongLine(t *testing.T) {
	l := textLine{sign: '-'}
	l.add(strings.Repeat("世", 5000), false)
	l.add("changed", true)
	l.add(strings.Repeat("x", 5000), false)
	got := l.cut(100)
	if !strings.Contains(got.text, "changed") || display.Width(got.text) > 100 {
		t.Errorf("%d cells: %s", display.Width(got.text), got.text)
	}
	if m := got.marks; len(m) != 1 || got.text[m[0][0]:m[0][1]] != "changed" {
		t.Errorf("marks %v of %q", m, got.text)
	}
}

// grown makes a workspace of random history: each of n steps goes on with one of its tapes
// and forks, or makes or closes one. It returns the names of those that are there then.
func grown(t *testing.T, rnd *rand.Rand, n int, step func(tp *repo.Tape, i int) error) (w *sandbox, names []string) {
	t.Helper()
	w = newWorkspace(t)
	store, err := repo.Open(t.Context(), w.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		tapes, err := store.Tapes(t.Context())
		forks, err2 := store.Forks(t.Context())
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		tapes = append(tapes, forks...)
		if i == n {
			for _, tp := range tapes {
				names = append(names, tp.Name())
			}
			return w, names
		}
		if err := step(tapes[rnd.IntN(len(tapes))], i); err != nil {
			t.Fatal(err)
		}
	}
}

// What is said to be added and removed makes the one of the other, whatever two forks
// did; of each side the order is kept.
func TestDiffOfForks(t *testing.T) {
	rnd := testkit.Random(t)
	w, names := grown(t, rnd, testkit.Size(30, 40, 300), func(tp *repo.Tape, i int) (err error) {
		switch rnd.IntN(5) {
		case 0:
			_, err = tp.Handoff(t.Context(), repo.Anchor{Name: "phase"})
		case 1:
			_, err = tp.Fork(t.Context(), fmt.Sprint("f", i))
		default:
			_, err = tp.Append(t.Context(), nil, repo.Message("user", fmt.Sprint("text ", i)))
		}
		return err
	})
	raw := func(name string) []string {
		return strings.Split(strings.TrimSpace(w.must("--tape", name, "log", "--all", "--json")), "\n")
	}
	for range 20 {
		from, to := names[rnd.IntN(len(names))], names[rnd.IntN(len(names))]
		a, b := raw(from), raw(to)
		var added, removed []string
		for line := range strings.Lines(w.must("diff", from, to, "--json")) {
			var c struct {
				Change string
				ID     int64
				Entry  json.RawMessage
			}
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatal(err)
			}
			switch c.Change {
			case "added":
				added = append(added, string(c.Entry))
			case "removed":
				removed = append(removed, string(c.Entry))
			default:
				t.Errorf("%s %s: nobody edited @%d", from, to, c.ID)
			}
		}
		common := len(a) - len(removed)
		if common < 0 || !slices.Equal(a[common:], removed) || !slices.Equal(b[common:], added) {
			t.Errorf("%s and %s: %d of %d removed, %d of %d added", from, to, len(removed), len(a), len(added), len(b))
		}
		for i := range common {
			if strings.ReplaceAll(a[i], from, "") != strings.ReplaceAll(b[i], to, "") {
				t.Errorf("%s and %s: @%d is not the same", from, to, i+1)
			}
		}
	}
}

// Numbers add up over all changes, whatever tells of tools and tokens.
func TestDiffStat(t *testing.T) {
	w := newWorkspace(t)
	_, errs, code := w.run(`{"kind":"event","payload":{"name":"run","data":{"usage":{"input_tokens":10,"output_tokens":5}}}}
{"kind":"event","payload":{"name":"run","data":{"usage":{"total_tokens":100}}}}
{"kind":"event","payload":{"name":"note"}}
{"kind":"tool_call","payload":{"calls":[{"function":{"name":"bash"}},{"function":{"name":"edit"}},{"name":"bash"}]}}
{"kind":"message","payload":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"bash"}}]}}
`, "append", "--stdin")
	if code != exitOK {
		t.Fatal(errs)
	}
	const want = `{"from":"main 001_session-start","to":"main","entries":{"added":5,"removed":0,"edited":0},` +
		`"kinds":{"event":{"added":3,"removed":0,"edited":0},"message":{"added":1,"removed":0,"edited":0},"tool_call":{"added":1,"removed":0,"edited":0}},` +
		`"runs":{"added":2,"removed":0,"edited":0},"tokens":{"added":115,"removed":0,"edited":0},` +
		`"tools":{"bash":{"added":3,"removed":0,"edited":0},"edit":{"added":1,"removed":0,"edited":0}}}`
	if got := strings.TrimSpace(w.must("diff", "001", "--stat", "--json")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := w.must("diff", "main", "001", "--stat"); !strings.Contains(got, "tokens      -      115       -") {
		t.Errorf("got\n%s", got)
	}
}

// What was recorded does not reach a terminal as it is, wherever it stands.
func TestDiffIsSafe(t *testing.T) {
	const bad = "\x1b]0;x\x07\u202e"
	w := newWorkspace(t)
	line, err := json.Marshal(map[string]any{"kind": "event" + bad, "payload": map[string]any{bad: bad}, "date": "2026-11-20"})
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, code := w.run(string(line), "append", "--stdin"); code != exitOK {
		t.Fatal(errs)
	}
	w.must("handoff", "plan"+bad, "--summary", bad)
	a, out, _ := testApp(time.Now())
	a.out = bufio.NewWriter(out)
	old, new := repo.Entry{Raw: []byte(`{"id":1,"kind":"a","payload":{"` + `\u001b` + `":"` + `\u001b` + `"},"date":"d"}`)}, repo.Entry{Raw: []byte(`{"id":1,"kind":"a","payload":{},"date":"d"}`)}
	v := &diffView{App: a, from: bad, to: bad}
	if err := v.show(query.Change{Kind: query.ChangeEdited, Entry: new, Old: old}); err != nil {
		t.Fatal(err)
	}
	if err := a.out.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{w.must("diff", "001"), w.must("diff", "001", "--stat"), w.must("log", "--graph"), out.String()} {
		if shown == "" || strings.ContainsAny(shown, "\x1b\x07\u202e") {
			t.Errorf("%q", shown)
		}
	}
}
