package entrydiff

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"
)

// reused yields lines in one memory, as a scanner of a file does.
func reused(lines ...string) Lines {
	return func(yield func([]byte, error) bool) {
		var buf []byte
		for _, line := range lines {
			buf = append(buf[:0], line...)
			if !yield(buf, nil) {
				return
			}
		}
	}
}

func said(id int, text, date string) string {
	return fmt.Sprintf(`{"id":%d,"kind":"message","payload":{"role":"user","content":"%s"},"meta":{},"date":"%s"}`, id, text, date)
}

// changes spells what Compare yields: -7, +7, ~7, and the paths of edits.
func changes(t *testing.T, seq iter.Seq2[Change, error]) string {
	t.Helper()
	var all []string
	for c, err := range seq {
		if err != nil {
			return strings.Join(append(all, "error: "+err.Error()), " ")
		}
		line := string(c.Old) + string(c.New)
		if (c.Old != nil) != (c.Kind != Added) || (c.New != nil) != (c.Kind != Removed) || (c.Parts != nil) != (c.Kind == Edited) {
			t.Errorf("%s with the lines %s", c.Kind, line)
		}
		word := map[Kind]string{Added: "+", Removed: "-", Edited: "~"}[c.Kind] + fmt.Sprint(c.ID)
		for _, p := range c.Parts {
			word += "," + p.Path
		}
		all = append(all, word)
	}
	return strings.Join(all, " ")
}

func TestCompare(t *testing.T) {
	one, two, three := said(1, "one", "d1"), said(2, "two", "d2"), said(3, "three", "d3")
	all := []string{one, two, three}
	for _, c := range []struct {
		name     string
		old, new []string
		want     string
	}{
		{"equal", all, all, ""},
		{"nothing", nil, nil, ""},
		{"appended", all[:1], all, "+2 +3"},
		{"reset", all, all[:1], "-2 -3"},
		{"edited", all, []string{one, said(2, "2", "d2"), three}, "~2,payload.content"},
		{"edited in all but the date", all, []string{one, `{"id":2,"kind":"event","payload":{"name":"x"},"meta":{},"date":"d2"}`, three},
			"~2,kind,payload.role,payload.content,payload.name"},
		{"another date", all, []string{one, said(2, "two", "e2"), three}, "~2,date"},
		{"white space", all, []string{one, " " + two, three}, "~2,"},
		{"forks that went different ways", append(all, said(4, "left", "x4"), said(5, "left", "x5")),
			append(all, said(4, "right", "y4"), said(5, "left", "y5"), said(6, "right", "y6")), "-4 -5 +4 +5 +6"},
		{"forks, then an edit", []string{one, two, said(3, "a", "x"), said(4, "b", "z")},
			[]string{one, two, said(3, "c", "y"), said(4, "d", "z")}, "-3 +3 ~4,payload.content"},
		{"apart and together again", []string{one, said(2, "a", "x"), three, said(4, "b", "x")}, []string{one, said(2, "c", "y"), three, said(4, "d", "y")}, "-2 +2 -4 +4"},
		{"without dates, alike", []string{one, said(2, "add a retry to the client", "")}, []string{one, said(2, "add a timeout to the client", "")}, "~2,payload.content"},
		{"without dates, others", []string{one, said(2, "hi", "")}, []string{one, said(2, "ok", "")}, "-2 +2"},
		{"parts of tapes", all[1:], all, "+1"},
		{"without dates, numbers", []string{`{"id":1,"kind":"a","payload":{"n":{"x":12}}}`}, []string{`{"id":1,"kind":"a","payload":{"n":{"x":13}}}`}, "~1,payload.n.x"},
		{"without dates, white space", []string{`{"id":1,"kind":"a","payload":{}}`}, []string{`{"id":1,"kind":"a","payload":{ }}`}, "~1,"},
		{"damaged", all, []string{one, `{"id":2,"kind":""}`, three}, "~2,"},
		{"without an id", all, []string{one, `{"kind":"a","payload":{}}`, three}, "error: line 2 of the new entries: no id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := changes(t, Compare(reused(c.old...), reused(c.new...))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestCompareOutOfOrder(t *testing.T) {
	got := changes(t, Compare(reused(said(2, "a", "d"), said(1, "b", "d")), reused()))
	if got != "-2 error: line 2 of the old entries: entry 1 stands behind 2" {
		t.Error(got)
	}
}

func TestCompareError(t *testing.T) {
	broken := errors.New("disk on fire")
	bad := func(yield func([]byte, error) bool) {
		_ = yield([]byte(said(1, "a", "d")), nil) && yield(nil, broken)
	}
	var last error
	n := 0
	for _, err := range Compare(reused(said(1, "a", "d"), said(2, "b", "d")), bad) {
		last = err
		n++
	}
	if !errors.Is(last, broken) || n != 1 {
		t.Errorf("%d items, the last with %v", n, last)
	}
}

// Whoever has seen enough may stop, and changes outlast the lines that they are of.
func TestCompareStops(t *testing.T) {
	var kept []Change
	for c, err := range Compare(reused(said(1, "a", "d")), reused(said(1, "b", "d"), said(2, "c", "d"), said(3, "d", "d"))) {
		if err != nil {
			t.Fatal(err)
		}
		if kept = append(kept, c); len(kept) == 2 {
			break
		}
	}
	want := []string{said(1, "a", "d"), said(1, "b", "d"), said(2, "c", "d")}
	if got := []string{string(kept[0].Old), string(kept[0].New), string(kept[1].New)}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// A million lines that two tapes begin with cost little, and are not kept.
func BenchmarkComparePrefix(b *testing.B) {
	line := []byte(said(1, strings.Repeat("text ", 70), "d"))
	side := func(end string) Lines {
		return func(yield func([]byte, error) bool) {
			for range 1 << 20 {
				if !yield(line, nil) {
					return
				}
			}
			yield([]byte(end), nil)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range Compare(side(said(1<<20, "a", "x")), side(said(1<<20, "b", "x"))) {
			if n++; err != nil {
				b.Fatal(err)
			}
		}
		if n != 1 {
			b.Fatal(n)
		}
	}
}
