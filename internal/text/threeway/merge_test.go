package threeway

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tape/internal/text/jsonl"
)

var tapeMain = Origin{Tape: "main"}

// event is a line with an id and a number to recognise it.
func event(id, n int) string {
	return fmt.Sprintf(`{"id":%d,"kind":"event","payload":{"name":"e","data":%d},"meta":{},"date":"d"}`, id, n)
}

// merged is event with an origin, as a merge writes it.
func merged(id, n int, origin string) string {
	return strings.Replace(event(id, n), `{},"date"`, `{"origin":`+origin+`},"date"`, 1)
}

func lines(texts ...string) [][]byte {
	var all [][]byte
	for _, s := range texts {
		all = append(all, []byte(s))
	}
	return all
}

func mustMerge(t *testing.T, in Input) [][]byte {
	t.Helper()
	r, err := Merge(in)
	if err != nil {
		t.Fatal(err)
	}
	last := in.After + int64(len(in.Ours))
	for i, line := range r {
		if id, err := jsonl.ParseID(line); err != nil || id != last+int64(i)+1 {
			t.Fatalf("added line %s, %v; want the id %d", line, err, last+int64(i)+1)
		}
	}
	return r
}

func wantLines(t *testing.T, got [][]byte, want ...string) {
	t.Helper()
	if !reflect.DeepEqual(got, lines(want...)) {
		t.Errorf("got:\n%s\nwant:\n%s", bytes.Join(got, []byte("\n")), strings.Join(want, "\n"))
	}
}

func TestMerge(t *testing.T) {
	in := Input{
		After:      7,
		Ours:       lines(event(8, 1), event(9, 2)),
		Theirs:     lines(event(8, 1), event(9, 3), event(10, 4)),
		OursOrigin: tapeMain, TheirsOrigin: forkX,
	}
	r := mustMerge(t, in)
	wantLines(t, r,
		merged(10, 3, `{"tape":"main","fork":"x","id":9}`),
		merged(11, 4, `{"tape":"main","fork":"x","id":10}`))

	// Both the fork and the tape get more entries.
	in.Ours = append(append(in.Ours, r...), lines(event(12, 5))...)
	wantLines(t, mustMerge(t, in))
	in.Theirs = append(in.Theirs, lines(event(11, 6))...)
	wantLines(t, mustMerge(t, in), merged(13, 6, `{"tape":"main","fork":"x","id":11}`))
}

// The side that is merged has a copy of an entry of ours.
func TestMergeCopyComesHome(t *testing.T) {
	in := Input{
		Ours:       lines(event(1, 1), event(2, 2)),
		Theirs:     lines(event(1, 3), merged(2, 1, `{"tape":"main","id":1}`), merged(3, 2, `{ "id": 2, "tape": "m\u0061in" }`)),
		OursOrigin: tapeMain, TheirsOrigin: tapeMain,
	}
	wantLines(t, mustMerge(t, in), merged(3, 3, `{"tape":"main","id":1}`))
}

// A forged origin does not make an entry vanish: entries with different content are different.
func TestMergeForgedOrigin(t *testing.T) {
	const origin = `{"tape":"main","fork":"x","id":2}`
	in := Input{
		Ours:       lines(event(1, 1), merged(2, 50, origin)),
		Theirs:     lines(event(1, 1), event(2, 2), merged(3, 51, origin), merged(4, 51, origin)),
		OursOrigin: tapeMain, TheirsOrigin: forkX,
	}
	r := mustMerge(t, in)
	wantLines(t, r, merged(3, 2, origin), merged(4, 51, origin), merged(5, 51, origin))
	in.Ours = append(in.Ours, r...)
	wantLines(t, mustMerge(t, in))
}

// Other programs' values under meta.origin stay, and their entries are merged once,
// too.
func TestMergeOriginsOfOthers(t *testing.T) {
	for _, origin := range []string{
		`"cli"`, `null`, `{}`, `{"tape":"main"}`, `{"tape":"main","fork":"x","id":0}`,
		`{"tape":"main","id":1.0}`, `{"tape":1,"id":1}`, `{"tape":"main","id":1,"by":"me"}`, `{"tape":"main","id":1,"id":1}`, `1,"origin":{"tape":"main","id":1}`,
	} {
		in := Input{
			Ours:       lines(event(1, 1), event(2, 9)),
			Theirs:     lines(event(1, 1), merged(2, 2, origin), merged(3, 2, origin), merged(4, 3, origin)),
			OursOrigin: tapeMain, TheirsOrigin: forkX,
		}
		r := mustMerge(t, in)
		wantLines(t, r, merged(3, 2, origin), merged(4, 2, origin), merged(5, 3, origin))
		in.Ours = append(in.Ours, r...)
		wantLines(t, mustMerge(t, in))
	}
}

// Of equal entries, as many are merged as ours lacks.
func TestMergeCounts(t *testing.T) {
	in := Input{
		Ours:       lines(merged(1, 2, `"cli"`)),
		Theirs:     lines(event(1, 9), merged(2, 2, `"cli"`), merged(3, 2, `"cli"`), merged(4, 2, `"cli"`)),
		OursOrigin: tapeMain, TheirsOrigin: forkX,
	}
	wantLines(t, mustMerge(t, in),
		merged(2, 9, `{"tape":"main","fork":"x","id":1}`), merged(3, 2, `"cli"`), merged(4, 2, `"cli"`))
}

// Entries with the same text and id are different if they come from different tapes.
func TestMergeFromOtherTapes(t *testing.T) {
	const here, there = `{"tape":"main","id":2}`, `{"tape":"other","id":2}`
	for _, c := range []struct{ ours, theirs string }{
		{event(2, 5), merged(2, 5, there)},
		{merged(2, 5, there), merged(2, 5, here)},
	} {
		in := Input{Ours: lines(event(1, 1), c.ours), Theirs: lines(event(1, 9), c.theirs), OursOrigin: tapeMain, TheirsOrigin: forkX}
		if r := mustMerge(t, in); len(r) != 2 {
			t.Errorf("ours has %s, theirs %s: the merge adds %s, want both entries of theirs", c.ours, c.theirs, r)
		}
	}
}

// However the origin is spelled, it is found.
func TestMergeSpelling(t *testing.T) {
	for _, meta := range []string{
		`{"\u006frigin":{"tape":"main","fork":"x","id":2}}`, `{ "or\u0069gin" : { "id" : 2 , "fork":"\u0078", "tape":"main" } }`, `{"origin" :{"fork":"x","id":2,"tape":"main"}}`,
	} {
		in := Input{
			Ours:       lines(event(1, 1), strings.Replace(event(2, 5), `"meta":{}`, `"meta":`+meta, 1)),
			Theirs:     lines(event(1, 1), event(2, 5)),
			OursOrigin: tapeMain, TheirsOrigin: forkX,
		}
		if r := mustMerge(t, in); len(r) != 0 {
			t.Errorf("meta %s: the origin is not recognised, the merge adds %s", meta, r)
		}
	}
}

func TestMergeOfEquals(t *testing.T) {
	same := lines(event(1, 1), merged(2, 2, `"cli"`), merged(3, 2, `{"tape":"main","fork":"x","id":1}`))
	for n := range len(same) + 1 {
		in := Input{After: int64(n), Ours: same[n:], Theirs: same[n:], OursOrigin: tapeMain, TheirsOrigin: forkX}
		wantLines(t, mustMerge(t, in))
	}
	wantLines(t, mustMerge(t, Input{}))
}

// If only theirs has new entries, they are added with their origin. If only ours has, nothing
// is added.
func TestMergeOneSide(t *testing.T) {
	in := Input{Ours: lines(event(1, 1)), Theirs: lines(event(1, 1), event(2, 2)), TheirsOrigin: forkX}
	wantLines(t, mustMerge(t, in), merged(2, 2, `{"tape":"main","fork":"x","id":2}`))
	in.Ours, in.Theirs = in.Theirs, in.Ours
	wantLines(t, mustMerge(t, in))
	in = Input{After: 5, Theirs: lines(event(6, 1)), TheirsOrigin: forkX}
	wantLines(t, mustMerge(t, in), merged(6, 1, `{"tape":"main","fork":"x","id":6}`))
}

// A line without meta and one with an empty meta say the same.
func TestMergeWithoutMeta(t *testing.T) {
	for _, line := range []string{
		`{"id":1,"kind":"a","payload":{}}`, `{"id":1,"kind":"a","payload":{},"meta":{}}`, `{ "meta" : { } , "kind":"a","payload":{} , "id":1 }`,
		`{"date":"d","kind":"a","payload":{},"id":1}`, `{"kind":"a","payload":{},"id":1, "date":"d"}`,
	} {
		in := Input{Ours: lines(event(1, 1)), Theirs: lines(line), OursOrigin: tapeMain, TheirsOrigin: forkX}
		r := mustMerge(t, in)
		if len(r) != 1 {
			t.Fatalf("%s: the merge adds %d lines, want 1", line, len(r))
		}
		in.Ours = append(in.Ours, r...)
		wantLines(t, mustMerge(t, in))
	}
}

func TestMergeBadLines(t *testing.T) {
	good := lines(event(1, 1))
	for _, c := range []struct {
		name string
		in   Input
		want string
	}{
		{"theirs has a gap", Input{Ours: good, Theirs: lines(event(1, 1), event(3, 2))}, "entry 2 of their side: it has the id 3"},
		{"theirs has a line that is not an entry", Input{Ours: good, Theirs: lines(event(1, 1), `{"id":2}`)}, "entry 2 of their side: no kind"},
		{"ours has other ids", Input{After: 4, Ours: good, Theirs: good}, "entry 5 of our side: it has the id 1"},
		{"ours has a line that is not an entry", Input{Ours: lines(event(1, 1), `x`), Theirs: good}, "entry 2 of our side: invalid JSON"},
	} {
		_, err := Merge(c.in)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	for _, after := range []int64{-1, 9223372036854775806} {
		if _, err := Merge(Input{After: after, Ours: good, Theirs: good}); err == nil {
			t.Errorf("Merge accepts After %d", after)
		}
	}
}

// The result does not change when the input's memory is reused.
func TestMergeDoesNotAlias(t *testing.T) {
	in := Input{Theirs: lines(event(1, 1), event(2, 2)), TheirsOrigin: forkX}
	r := mustMerge(t, in)
	for _, line := range in.Theirs {
		clear(line)
	}
	wantLines(t, r, merged(1, 1, `{"tape":"main","fork":"x","id":1}`), merged(2, 2, `{"tape":"main","fork":"x","id":2}`))
}
