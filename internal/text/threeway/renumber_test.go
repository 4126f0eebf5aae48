package threeway

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"tape/internal/text/jsonl"
)

var forkX = Origin{Tape: "main", Fork: "x"}

// written has lines as programs and people write them, and what a merge of fork x makes of each as entry 40.
var written = []struct{ name, line, want string }{
	{"as stored",
		`{"id":12,"kind":"message","payload":{"role":"user","content":"hi"},"meta":{},"date":"2026-11-20"}`,
		`{"id":40,"kind":"message","payload":{"role":"user","content":"hi"},"meta":{"origin":{"tape":"main","fork":"x","id":12}},"date":"2026-11-20"}`},
	{"after other meta, unknown members and odd numbers stay",
		`{"id":12,"kind":"event","payload":{"n":[1.0,1e400,-0]},"meta":{"run_id":"r","n":1E+2},"date":"d","x":{"id":3},"x":{"id":4}}`,
		`{"id":40,"kind":"event","payload":{"n":[1.0,1e400,-0]},"meta":{"run_id":"r","n":1E+2,"origin":{"tape":"main","fork":"x","id":12}},"date":"d","x":{"id":3},"x":{"id":4}}`},
	{"no meta, a date",
		`{"id":12,"kind":"event","payload":{}, "date" : "d"}`,
		`{"id":40,"kind":"event","payload":{}, "meta":{"origin":{"tape":"main","fork":"x","id":12}},"date" : "d"}`},
	{"no meta, no date",
		`{"id":12,"kind":"event","payload":{} }`,
		`{"id":40,"kind":"event","payload":{},"meta":{"origin":{"tape":"main","fork":"x","id":12}} }`},
	{"the date first",
		`{"date":"d","id":12,"kind":"event","payload":{}}`,
		`{"meta":{"origin":{"tape":"main","fork":"x","id":12}},"date":"d","id":40,"kind":"event","payload":{}}`},
	{"meta first, the id last, white space",
		"  {\t\"meta\" : { \"a\" : [ 1 , 2 ] } , \"kind\":\"event\",\"payload\" : { } , \"id\" : 12 } ",
		"  {\t\"meta\" : { \"a\" : [ 1 , 2 ],\"origin\":{\"tape\":\"main\",\"fork\":\"x\",\"id\":12} } , \"kind\":\"event\",\"payload\" : { } , \"id\" : 40 } "},
	{"an empty meta with white space",
		`{"id":12,"kind":"event","payload":{},"meta":{ }}`,
		`{"id":40,"kind":"event","payload":{},"meta":{"origin":{"tape":"main","fork":"x","id":12} }}`},
	{"an origin is kept",
		`{"id":12,"kind":"event","payload":{},"meta":{"origin":{"tape":"main","fork":"x/y","id":3},"a":1}}`,
		`{"id":40,"kind":"event","payload":{},"meta":{"origin":{"tape":"main","fork":"x/y","id":3},"a":1}}`},
	{"an origin that another program wrote is kept",
		`{"id":12,"kind":"event","payload":{},"meta":{"origin":"cli"}}`,
		`{"id":40,"kind":"event","payload":{},"meta":{"origin":"cli"}}`},
	{"keys with escapes",
		`{"\u0069d":12,"kind":"event","payload":{"meta":{}},"met\u0061":{"\u006frigin":null}}`,
		`{"\u0069d":40,"kind":"event","payload":{"meta":{}},"met\u0061":{"\u006frigin":null}}`},
	{"braces and quotes in strings",
		`{"id":12,"kind":"}\"{","payload":{"a\\":"\\\"]}{,\"meta\":{}"},"meta":{"a":"}"}}`,
		`{"id":40,"kind":"}\"{","payload":{"a\\":"\\\"]}{,\"meta\":{}"},"meta":{"a":"}","origin":{"tape":"main","fork":"x","id":12}}}`},
}

func TestRenumber(t *testing.T) {
	for _, c := range written {
		t.Run(c.name, func(t *testing.T) {
			got, err := Renumber([]byte("> "), []byte(c.line), 40, forkX)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != "> "+c.want {
				t.Errorf("got  %s\nwant > %s", got, c.want)
			}
			checkRenumber(t, []byte(c.line))
		})
	}
}

func TestRenumberTape(t *testing.T) {
	line := `{"id":1,"kind":"event","payload":{},"meta":{}}`
	got, err := Renumber(nil, []byte(line), 9223372036854775807, Origin{Tape: "a \"b\" 数"})
	want := `{"id":9223372036854775807,"kind":"event","payload":{},"meta":{"origin":{"tape":"a \"b\" 数","id":1}}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}

func TestRenumberRefuses(t *testing.T) {
	for _, line := range []string{
		``, `{}`, `[]`, `{"id":0,"kind":"a","payload":{}}`, `{"id":1,"kind":"a","payload":{},"id":2}`,
		`{"id":1,"kind":"a","payload":{},"meta":[]}`, `{"id":1,"kind":"a","payload":{}`, `{"id":1,"kind":"a","payload":{}} x`,
	} {
		got, err := Renumber([]byte("> "), []byte(line), 2, forkX)
		var syntax *jsonl.SyntaxError
		if !errors.As(err, &syntax) || string(got) != "> " {
			t.Errorf("Renumber(%s) = %q, %v, want a SyntaxError", line, got, err)
		}
	}
}

// checkRenumber checks that Renumber refuses the lines that jsonl.Parse refuses, and that it changes nothing but the
// id's digits and makes at most one insertion.
func checkRenumber(t *testing.T, line []byte) {
	t.Helper()
	e, err := jsonl.Parse(line)
	got, gotErr := Renumber(nil, line, 1234567, forkX)
	if (err == nil) != (gotErr == nil) {
		t.Fatalf("Parse(%q): %v, Renumber: %v", line, err, gotErr)
	}
	if err != nil {
		return
	}
	f, err := jsonl.Parse(got)
	if err != nil {
		t.Fatalf("%q became %q: %v", line, got, err)
	}
	if f.ID != 1234567 || f.Kind != e.Kind || f.Date != e.Date || !bytes.Equal(f.Payload, e.Payload) {
		t.Fatalf("%q became %q", line, got)
	}
	had := jsonl.Get(e.Meta, "origin")
	has := jsonl.Get(f.Meta, "origin")
	if had != nil && !bytes.Equal(had, has) {
		t.Fatalf("%q lost its origin: %q", line, got)
	}
	var o struct {
		Tape, Fork string
		ID         int64
	}
	if had == nil {
		if err := json.Unmarshal(has, &o); err != nil || o.Tape != "main" || o.Fork != "x" || o.ID != e.ID {
			t.Fatalf("%q became %q: origin %s, %v", line, got, has, err)
		}
	}
	if a, b := unchanged(t, line, had == nil), unchanged(t, got, had == nil); !reflect.DeepEqual(a, b) {
		t.Fatalf("%q became %q:\n%v\n%v", line, got, a, b)
	}
	again, err := Renumber(nil, got, e.ID, Origin{Tape: "other"})
	if err != nil || had != nil && !bytes.Equal(again, line) {
		t.Fatalf("%q became %q, which cannot be undone: %q, %v", line, got, again, err)
	}
	if had == nil && !isInserted(string(again), string(line)) {
		t.Fatalf("%q differs from %q in more than the id and one insertion", again, line)
	}
	s, err := parseShape(line)
	if err != nil {
		t.Fatal(err)
	}
	r, err := parseShape(got)
	if err != nil || r.content(got) != s.content(line) {
		t.Fatalf("%q became %q, whose content is not recognised as the same: %v", line, got, err)
	}
}

// isInserted reports whether long is short with one insertion.
func isInserted(long, short string) bool {
	n := 0
	for n < len(short) && long[n] == short[n] {
		n++
	}
	for i := n; i >= 0; i-- {
		if strings.HasSuffix(long, short[i:]) && long[:i] == short[:i] {
			return true
		}
	}
	return false
}

// unchanged decodes a line without what Renumber changes: the id and, if added, the origin in meta.
func unchanged(t *testing.T, line []byte, added bool) map[string]json.RawMessage {
	t.Helper()
	all := make(map[string]json.RawMessage)
	for k, v := range jsonl.Fields(line) {
		all[k] = v
	}
	delete(all, "id")
	meta := ""
	for k, v := range jsonl.Fields(all["meta"]) {
		if k != "origin" || !added {
			meta += k + ":" + string(v) + ","
		}
	}
	all["meta"] = json.RawMessage(meta)
	return all
}

func FuzzRenumber(f *testing.F) {
	for _, c := range written {
		f.Add([]byte(c.line))
		f.Add([]byte(c.want))
	}
	f.Add([]byte(`{"id":1,"kind":"a","payload":{},"meta":{"origin":1,"origin":2}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		findShape(line)
		checkRenumber(t, line)
	})
}
