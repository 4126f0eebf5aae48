package entrydiff

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// short is how a difference reads in a test: path, old → new, absent as ∅.
func short(p Difference) string {
	side := func(s string, has bool) string {
		if !has {
			return "∅"
		}
		return s
	}
	return p.Path + ": " + side(p.Old, p.HasOld) + " → " + side(p.New, p.HasNew)
}

func shorts(list []Difference) (all []string) {
	for _, p := range list {
		all = append(all, short(p))
	}
	return all
}

// entry is a line with these members.
func entry(payload, meta, date string) string {
	return fmt.Sprintf(`{"id":7,"kind":"message","payload":%s,"meta":%s,"date":"%s"}`, payload, meta, date)
}

func TestEntry(t *testing.T) {
	plain := entry(`{"role":"user","content":"hi"}`, `{}`, "d")
	for _, c := range []struct {
		name, old, new string
		want           []string
	}{
		{"equal", plain, plain, nil},
		{"text", plain, entry(`{"role":"user","content":"ho\n\u00e9"}`, `{}`, "d"), []string{"payload.content: hi → ho\né"}},
		{"everything", plain, `{"id":8,"kind":"event","payload":{"name":1},"date":"e","x":[1]}`,
			[]string{"id: 7 → 8", "kind: message → event", "payload.role: user → ∅", "payload.content: hi → ∅", "payload.name: ∅ → 1", "date: d → e", "x: ∅ → [1]"}},
		{"what a merge adds", plain, strings.Replace(entry(`{"role":"user","content":"hi"}`, `{"origin":{"tape":"main","id":7}}`, "d"), "7", "9", 1),
			[]string{"id: 7 → 9", `meta.origin: ∅ → {"tape":"main","id":7}`}},
		{"deep", entry(`{"calls":[{"function":{"arguments":"{\"a\":1}"}},{"id":"b"}]}`, `{}`, "d"),
			entry(`{"calls":[{"function":{"arguments":"{\"a\":2}"}},{"id":"b"}]}`, `{}`, "d"),
			[]string{`payload.calls[0].function.arguments: {"a":1} → {"a":2}`}},
		{"put into an array", entry(`{"a":[1,2,3]}`, `{}`, "d"), entry(`{"a":[1,9,2,3]}`, `{}`, "d"), []string{"payload.a[1]: ∅ → 9"}},
		{"taken out of an array", entry(`{"a":[{"x":1},{"x":2},{"x":3}]}`, `{}`, "d"), entry(`{"a":[{"x":1},{"x":3}]}`, `{}`, "d"), []string{`payload.a[1]: {"x":2} → ∅`}},
		{"changed and put into an array", entry(`{"a":[{"x":1},2]}`, `{}`, "d"), entry(`{"a":[{"x":5},6,2]}`, `{}`, "d"), []string{"payload.a[0].x: 1 → 5", "payload.a[1]: ∅ → 6"}},
		{"numbers as they are spelled", entry(`{"n":1.0}`, `{}`, "d"), entry(`{"n":1}`, `{}`, "d"), []string{"payload.n: 1.0 → 1"}},
		{"a number and a string", entry(`{"n":1}`, `{}`, "d"), entry(`{"n":"1"}`, `{}`, "d"), []string{`payload.n: 1 → "1"`}},
		{"absent and null", entry(`{}`, `{}`, "d"), entry(`{"n":null}`, `{}`, "d"), []string{`payload.n: ∅ → null`}},
		{"empty and absent", entry(`{"n":""}`, `{}`, "d"), entry(`{}`, `{}`, "d"), []string{`payload.n:  → ∅`}},
		{"escapes", entry(`{"n":"\u0041"}`, `{}`, "d"), entry(`{"n":"A"}`, `{}`, "d"), []string{`payload.n: "\u0041" → "A"`}},
		{"lone surrogates", entry(`{"n":"\ud800"}`, `{}`, "d"), entry(`{"n":"\ud801"}`, `{}`, "d"), []string{`payload.n: "\ud800" → "\ud801"`}},
		{"odd keys", entry(`{"a.b":{"":1}}`, `{}`, "d"), entry(`{"a.b":{"":2}}`, `{}`, "d"), []string{`payload["a.b"][""]: 1 → 2`}},
		{"a key twice", entry(`{"a":1,"a":2}`, `{}`, "d"), entry(`{"a":1,"a":3}`, `{}`, "d"), []string{`payload.a: 2 → 3`}},
		{"no meta and an empty one", `{"id":1,"kind":"a","payload":{}}`, `{"id":1,"kind":"a","payload":{},"meta":{}}`,
			[]string{`: {"id":1,"kind":"a","payload":{}} → {"id":1,"kind":"a","payload":{},"meta":{}}`}},
		{"no meta and some", `{"id":1,"kind":"a","payload":{}}`, `{"id":1,"kind":"a","payload":{},"meta":{"x":1}}`, []string{`meta.x: ∅ → 1`}},
		{"white space", `{"id":1,"kind":"a","payload":{}}`, `{"id":1, "kind":"a","payload":{}}`,
			[]string{`: {"id":1,"kind":"a","payload":{}} → {"id":1, "kind":"a","payload":{}}`}},
		{"no entry", plain, `oops`, []string{": " + plain + " → oops"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := shorts(Entry([]byte(c.old), []byte(c.new))); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
	if got := shorts(Entry([]byte("x"), nil)); !reflect.DeepEqual(got, []string{": x → ∅"}) {
		t.Errorf("with a missing new line: got %q, want x → ∅", got)
	}
	if got := Entry(nil, nil); got != nil {
		t.Errorf("with two missing lines: got %q, want no difference", shorts(got))
	}
}

// The difference of two long texts has their changes; that of short texts has
// none.
func TestEntryText(t *testing.T) {
	old := entry(`{"content":"Please add a retry to the client, and a test."}`, `{}`, "d")
	new := entry(`{"content":"Please add a timeout to the client, and two tests."}`, `{}`, "d")
	list := Entry([]byte(old), []byte(new))
	if len(list) != 1 {
		t.Fatalf("got %q, want one difference", shorts(list))
	}
	checkSpans(t, list[0].Old, list[0].New, list[0].Text)
	if got := marked(list[0].Text); got != "Please add a [-retry-]{+timeout+} to the client, and [-a-]{+two+} test{+s+}." {
		t.Errorf("the changes are %s", got)
	}
	list = Entry([]byte(entry(`{"content":"yes"}`, `{}`, "d")), []byte(entry(`{"content":"no"}`, `{}`, "d")))
	if len(list) != 1 || list[0].Text != nil {
		t.Errorf("short texts: got %+v, want one difference without Text", list)
	}
}
