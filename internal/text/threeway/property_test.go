package threeway

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/internal/text/jsonl"
)

// branch is a tape or a fork with all its lines.
type branch struct {
	name   string // "", "x", "x/y"
	lines  [][]byte
	parent *branch
	base   int // lines of the parent that it began with
}

func (b *branch) origin() Origin { return Origin{Tape: "main", Fork: b.name} }

func (b *branch) fork(name string, at int) *branch {
	return &branch{name: strings.TrimPrefix(b.name+"/"+name, "/"), lines: slices.Clone(b.lines[:at]), parent: b, base: at}
}

// into returns the input of a merge of a fork into its parent or another ancestor. The merge
// brings the entries after the fork's base.
func (b *branch) into(to *branch) Input {
	in := Input{OursOrigin: to.origin(), TheirsOrigin: b.origin(), Independent: true}
	if b.parent == to {
		in.After, in.Ours, in.Theirs = int64(b.base), to.lines[b.base:], b.lines[b.base:]
		return in
	}
	base := b.base
	for f := b; f.parent != to; f = f.parent {
		base = min(base, f.parent.base)
	}
	in.After, in.TheirsAfter = int64(base), int64(b.base)
	in.Ours, in.Theirs = to.lines[base:], b.lines[b.base:]
	if b.base == base {
		in.TheirsAfter = 0
	}
	return in
}

// merged returns the lines of a branch after a merge into it.
func (b *branch) merged(t *testing.T, from *branch) [][]byte {
	t.Helper()
	in := from.into(b)
	return slices.Concat(b.lines[:in.After], checkMerge(t, in))
}

// writer makes lines as programs and people write them, each with its own number in the
// payload.
type writer struct {
	rng *rand.Rand
	n   int
}

func (w *writer) append(b *branch) {
	w.n++
	id := len(b.lines) + 1
	forms := []string{
		`{"id":%d,"kind":"event","payload":{"n":%d},"meta":{},"date":"d"}`,
		`{"id":%d,"kind":"event","payload":{"n":%d},"meta":{"run_id":"r","x":1.0},"date":"d","u":[1e400],"u":2}`,
		`{"id":%d,"kind":"event","payload":{"n":%d}}`,
		`{ "id" : %d , "kind":"event" , "payload":{ "n":%d , "meta":{"origin":{}} } , "date":"d" }`,
		`{"meta":{ } ,"id":%d,"date":"d","kind":"event","payload":{"n":%d}}`,
		`{"id":%d,"kind":"event","payload":{"n":%d},"meta":{"origin":"cli"}}`,
		`{"id":%d,"kind":"event","payload":{"n":%d,"text":"\u0041 \"origin\""},"meta":{"a":"origin"}}`,
	}
	line := fmt.Sprintf(forms[w.rng.IntN(len(forms))], id, w.n)
	if w.rng.IntN(8) == 0 { // the id last, and a forged origin
		line = fmt.Sprintf(`{"meta":{"origin":{"id":%d,"tape":"main","fork":"f1"}},"payload":{"n":%d},"kind":"event","id":%d}`, 1+w.rng.IntN(9), w.n, id)
	}
	b.lines = append(b.lines, []byte(line))
}

// numbers returns the numbers of lines, and checks that their ids count up from after + 1.
func numbers(t *testing.T, lines [][]byte, after int64) []string {
	t.Helper()
	var all []string
	for i, line := range lines {
		e, err := jsonl.Parse(line)
		if err != nil || e.ID != after+int64(i)+1 {
			t.Fatalf("line %s, %v; want the id %d", line, err, after+int64(i)+1)
		}
		all = append(all, string(jsonl.Get(e.Payload, "n")))
	}
	return all
}

// checkMerge merges, and compares the result with both sides.
func checkMerge(t *testing.T, in Input) [][]byte {
	t.Helper()
	r := mustMerge(t, in)
	all := slices.Concat(in.Ours, r)
	after := max(in.After, in.TheirsAfter)
	ours, theirs, got := numbers(t, in.Ours, in.After), numbers(t, in.Theirs, after), numbers(t, all, in.After)
	seen := make(map[string]bool)
	for _, n := range got {
		if seen[n] {
			t.Fatalf("entry %s is duplicated: %v and %v gave %v", n, ours, theirs, got)
		}
		seen[n] = true
	}
	for _, n := range theirs {
		if !seen[n] {
			t.Fatalf("entry %s is lost: %v and %v gave %v", n, ours, theirs, got)
		}
	}
	// The added entries are theirs, in order, byte for byte.
	at := 0
	for i, line := range r {
		n := got[len(ours)+i]
		for at < len(theirs) && theirs[at] != n {
			at++
		}
		if at == len(theirs) {
			t.Fatalf("entry %s is out of order: %v and %v gave %v", n, ours, theirs, got)
		}
		want, err := Renumber(nil, in.Theirs[at], in.After+int64(len(in.Ours)+i)+1, in.TheirsOrigin)
		if err != nil || !bytes.Equal(line, want) {
			t.Fatalf("%s became %s, want %s, %v", in.Theirs[at], line, want, err)
		}
	}
	in.Ours = all
	if again := mustMerge(t, in); len(again) > 0 {
		t.Fatalf("a second merge adds %s", again)
	}
	return all
}

// A family of forks grows and merges, into parents and other ancestors, again and again.
func TestMergeFamily(t *testing.T) {
	rng := testkit.Random(t)
	for range testkit.Size(30, 20000) {
		w := &writer{rng: rng}
		all := []*branch{{}}
		w.append(all[0])
		for range 60 {
			b := all[rng.IntN(len(all))]
			switch rng.IntN(5) {
			case 0:
				if len(all) < 7 {
					all = append(all, b.fork(fmt.Sprintf("f%d", len(all)), 1+rng.IntN(len(b.lines))))
				}
			case 1:
				to := b.parent
				for to != nil && to.parent != nil && rng.IntN(2) == 0 {
					to = to.parent
				}
				if to != nil {
					to.lines = to.merged(t, b)
				}
			default:
				w.append(b)
			}
		}
	}
}

// A fork of a fork gives the same bytes, merged directly or by way of its parent.
func TestMergeAssociative(t *testing.T) {
	rng := testkit.Random(t)
	for range testkit.Size(50, 50000) {
		w := &writer{rng: rng}
		grow := func(b *branch, least int) {
			for range least + rng.IntN(5) {
				w.append(b)
			}
		}
		tape := &branch{}
		grow(tape, 1)
		x := tape.fork("x", 1+rng.IntN(len(tape.lines)))
		grow(tape, 0)
		grow(x, 0)
		y := x.fork("y", 1+rng.IntN(len(x.lines)))
		grow(x, 0)
		grow(y, 0)

		one := &branch{lines: tape.merged(t, x)}
		x.parent = one
		first := one.merged(t, y)
		x.parent = tape
		x.lines = x.merged(t, y)
		second := tape.merged(t, x)
		if !slices.EqualFunc(first, second, bytes.Equal) {
			t.Fatalf("x, then y:\n%s\ny into x, then x:\n%s", bytes.Join(first, []byte("\n")), bytes.Join(second, []byte("\n")))
		}
	}
}

// Copies of a tape diverge. They pull from and push to a published copy.
func TestMergePulls(t *testing.T) {
	rng := testkit.Random(t)
	for range testkit.Size(30, 20000) {
		w := &writer{rng: rng}
		published := &branch{}
		w.append(published)
		clones := make([]*branch, 3)
		for i := range clones {
			clones[i] = &branch{lines: slices.Clone(published.lines)}
		}
		pull := func(c *branch) {
			n := 0
			for n < len(c.lines) && n < len(published.lines) && bytes.Equal(c.lines[n], published.lines[n]) {
				n++
			}
			cut := rng.IntN(n + 1) // lines that all have in common may be left out
			c.lines = slices.Concat(published.lines[:cut], checkTail(t, Input{
				Ours: published.lines[cut:], Theirs: c.lines[cut:], After: int64(cut),
				OursOrigin: tapeMain, TheirsOrigin: tapeMain,
			}))
		}
		for range 40 {
			c := clones[rng.IntN(len(clones))]
			if rng.IntN(3) > 0 {
				w.append(c)
				continue
			}
			pull(c)
			if rng.IntN(2) == 0 {
				published.lines = slices.Clone(c.lines)
			}
		}
		for _, c := range clones {
			pull(c)
			published.lines = slices.Clone(c.lines)
		}
		got := numbers(t, published.lines, 0)
		slices.Sort(got)
		if len(got) != w.n || len(slices.Compact(got)) != w.n {
			t.Fatalf("%d entries were written, but the published tape has %d: %v", w.n, len(got), got)
		}
	}
}

// checkTail merges, checks that a second merge adds nothing, and returns our lines after it.
func checkTail(t *testing.T, in Input) [][]byte {
	t.Helper()
	in.Ours = slices.Concat(in.Ours, mustMerge(t, in))
	if again := mustMerge(t, in); len(again) > 0 {
		t.Fatalf("a second merge adds %s", again)
	}
	return in.Ours
}

// FuzzMerge cuts a base and two sides out of one text and merges them.
func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"kind":"a","payload":{}}`+"\n"+`{"kind":"a","payload":{},"meta":{"origin":{"tape":"main","id":2}}}`+"\n"+`{"kind":"b","payload":{}}`), uint8(1), uint8(2))
	f.Add([]byte(`{"kind":"a","payload":{}}`+"\n"+`{"kind":"a","payload":{},"meta":{"origin":1}}`+"\n"+`{"meta":{ },"kind":"a","payload":{}}`), uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, base, ours uint8) {
		rows := bytes.Split(text, []byte("\n"))
		side := func(from, to int) (all [][]byte) {
			for _, row := range rows[from:to] {
				row = bytes.TrimSpace(row)
				if len(row) > 0 && row[0] == '{' {
					row = fmt.Appendf(nil, `{"id":%d,%s`, len(all)+1, row[1:])
				}
				all = append(all, row)
			}
			return all
		}
		n := min(int(base), len(rows))
		m := min(n+int(ours), len(rows))
		in := Input{Ours: side(0, m), OursOrigin: tapeMain, TheirsOrigin: forkX}
		in.Theirs = side(0, n)
		for i, row := range side(m, len(rows)) {
			if len(row) > 0 && row[0] == '{' {
				if _, body, ok := bytes.Cut(row, []byte{','}); ok {
					row = fmt.Appendf(nil, `{"id":%d,%s`, n+i+1, body)
				}
			}
			in.Theirs = append(in.Theirs, row)
		}
		r, err := Merge(in)
		if err != nil {
			return
		}
		if len(r) > len(in.Theirs)-n {
			t.Fatalf("the merge adds %d lines, but theirs has only %d after the base", len(r), len(in.Theirs)-n)
		}
		for i, line := range r {
			e, err := jsonl.Parse(line)
			if err != nil || e.ID != in.After+int64(len(in.Ours)+i)+1 {
				t.Fatalf("added line %q, %v; want the id %d", line, err, in.After+int64(len(in.Ours)+i)+1)
			}
		}
		in.Ours = slices.Concat(in.Ours, r)
		if again, err := Merge(in); err != nil || len(again) > 0 {
			t.Fatalf("a second merge adds %q, %v", again, err)
		}
	})
}
