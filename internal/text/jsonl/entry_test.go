package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	line := `{"id":12,"kind":"message","payload":{"role":"user","content":"é"},"meta":{"a":1.0},"date":"2026-11-20T09:30:00.123456+00:00"}`
	e, err := Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if e.ID != 12 || e.Kind != "message" || string(e.Payload) != `{"role":"user","content":"é"}` ||
		string(e.Meta) != `{"a":1.0}` || e.Date != "2026-11-20T09:30:00.123456+00:00" || string(e.Raw) != line {
		t.Errorf("got %+v", e)
	}
	for _, line := range []string{
		` { "payload" : { "n" : 1e400 } , "x" : [ 1 ] , "id" : 9223372036854775807 , "kind" : "a b" } `,
		"\t{\"id\":9223372036854775807,\"\\u006bind\":\"a\\u0020b\",\"payload\":{ \"n\" : 1e400 }}\r\n",
	} {
		e, err := Parse([]byte(line))
		if err != nil {
			t.Errorf("Parse(%q): %v", line, err)
			continue
		}
		if e.ID != 9223372036854775807 || e.Kind != "a b" || string(e.Payload) != `{ "n" : 1e400 }` ||
			string(e.Meta) != "{}" || e.Date != "" || string(e.Raw) != strings.TrimSuffix(line, "\r\n") {
			t.Errorf("Parse(%q) = %+v", line, e)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for line, want := range map[string]string{
		``:                                    "invalid JSON at byte 0: unexpected end, expected an object",
		`[]`:                                  "invalid JSON at byte 0: unexpected '[', expected an object",
		`{}`:                                  "no id",
		`{"id":1,"payload":{}}`:               "no kind",
		`{"id":1,"kind":"x"}`:                 "no payload",
		`{"kind":"x","payload":{}}`:           "no id",
		`{"id":0,"kind":"x","payload":{}}`:    "id is not an integer of 1 or more",
		`{"id":-1,"kind":"x","payload":{}}`:   "id is not an integer of 1 or more",
		`{"id":1.0,"kind":"x","payload":{}}`:  "id is not an integer of 1 or more",
		`{"id":1e2,"kind":"x","payload":{}}`:  "id is not an integer of 1 or more",
		`{"id":"1","kind":"x","payload":{}}`:  "id is not an integer of 1 or more",
		`{"id":null,"kind":"x","payload":{}}`: "id is not an integer of 1 or more",
		`{"id":9223372036854775808,"kind":"x","payload":{}}`:         "id is not an integer of 1 or more",
		`{"id":100000000000000000000000000,"kind":"x","payload":{}}`: "id is not an integer of 1 or more",
		`{"id":01,"kind":"x","payload":{}}`:                          "id is not an integer of 1 or more",
		`{"id":1,"kind":"","payload":{}}`:                            "kind is empty",
		`{"id":1,"kind":7,"payload":{}}`:                             "kind is not a string",
		`{"id":1,"kind":"x","payload":[]}`:                           "payload is not an object",
		`{"id":1,"kind":"x","payload":null}`:                         "payload is not an object",
		`{"id":1,"kind":"x","payload":{},"meta":null}`:               "meta is not an object",
		`{"id":1,"kind":"x","payload":{},"date":5}`:                  "date is not a string",
		`{"id":1,"kind":"x","payload":{},"id":2}`:                    "more than one id",
		`{"id":1,"kind":"x","payload":{},"\u0070ayload":{}}`:         "more than one payload",
		`{"id":1,"kind":"x","payload":{},"date":"","date":""}`:       "more than one date",
		`{"id":1,"kind":"x","payload":{}} {}`:                        "invalid JSON at byte 33: unexpected '{', expected the end",
		`{"id":1,"kind":"x","payload":{},}`:                          "invalid JSON at byte 32: unexpected '}', expected a key",
		`{"id":1,"kind":"x","payload":{"a":1`:                        "invalid JSON at byte 35: unexpected end, expected ',' or '}'",
		"{\"id\":1,\"kind\":\"x\",\"payload\":{\"a\":\"\xff\"}}":     "invalid UTF-8 at byte 35",
		`{"id":1,"kind":"x","payload":{},"y":{"z":` + "\x00" + `}}`:  `invalid JSON at byte 41: unexpected '\x00', expected a value`,
	} {
		_, err := Parse([]byte(line))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || err.Error() != want {
			t.Errorf("Parse(%q): %v, want %s", line, err, want)
		}
		if _, err := ParseID([]byte(line)); err == nil && !strings.HasPrefix(line, `{"id":1,`) {
			t.Errorf("ParseID(%q) succeeds, want an error", line)
		}
	}
}

func TestParseID(t *testing.T) {
	for line, want := range map[string]int64{
		`{"id":12,"kind":"x","payload":{}}`:                  12,
		`{"id": 12,"kind":"x","payload":{}}`:                 12,
		`{"id":12 ,"kind":"x","payload":{}}`:                 12,
		` {"id":12,"kind":"x","payload":{}}`:                 12,
		`{"kind":"x","payload":{"id":3},"id":12}`:            12,
		`{"id":9223372036854775807,"kind":"x","payload":{}}`: 9223372036854775807,
	} {
		if id, err := ParseID([]byte(line)); id != want || err != nil {
			t.Errorf("ParseID(%s) = %d, %v; want %d", line, id, err, want)
		}
	}
}

func TestParseDraft(t *testing.T) {
	line := `{"tape":"t","anchor":null,"anchor_seq":1,"score":0.5,"snippet":"s","id":"any","id":2,
		"x": [1.0, 1e400, {"a b": 1E+2}], "payload": {"b": -0, "a": "\u00e9 x"}, "kind": "event", "\u0079":"z", "date":"d"}`
	d, err := ParseDraft([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if d.Kind != "event" || string(d.Payload) != `{"b":-0,"a":"\u00e9 x"}` || d.Meta != nil || d.Date != "d" ||
		string(d.Extra) != `,"x":[1.0,1e400,{"a b":1E+2}],"\u0079":"z"` {
		t.Errorf("got %+v %s", d, d.Extra)
	}
	want := `{"id":3,"kind":"event","payload":{"b":-0,"a":"\u00e9 x"},"meta":{},"date":"d","x":[1.0,1e400,{"a b":1E+2}],"\u0079":"z"}` + "\n"
	if got := AppendLine(nil, 3, d); string(got) != want {
		t.Errorf("line %s, want %s", got, want)
	}
	for _, line := range []string{``, `{}`, `{"kind":"x"}`, `{"payload":{}}`, `{"kind":"","payload":{}}`,
		`{"kind":"x","kind":"x","payload":{}}`, `{"kind":"x","payload":[]}`, `{"kind":"x","payload":{},"meta":[]}`,
		`{"kind":"x","payload":{},"date":null}`, `{"kind":"x","payload":{},"y":01}`, `{"kind":"x","payload":{}}x`} {
		if d, err := ParseDraft([]byte(line)); err == nil {
			t.Errorf("ParseDraft(%s) = %+v, want an error", line, d)
		}
	}
}

func TestEntryDraft(t *testing.T) {
	line := `{"id":7,"kind":"x","payload":{},"meta":{"a":1.0},"date":"d","tape":"t","score":1e400,"y":[]}` + "\n"
	e, err := Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	d, err := e.Draft()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(AppendLine(nil, 7, d)); got != line {
		t.Errorf("got %s, want %s", got, line)
	}
}

// A draft stays the same when the line that it was read from is overwritten.
func TestParseDraftCopies(t *testing.T) {
	line := []byte(`{"kind":"x","payload":{"a":1},"meta":{"b":2},"date":"d","z":3}`)
	d, err := ParseDraft(line)
	if err != nil {
		t.Fatal(err)
	}
	want := string(AppendLine(nil, 1, d))
	for i := range line {
		line[i] = '#'
	}
	_ = append(d.Payload, "overflow"...)
	if got := string(AppendLine(nil, 1, d)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNormalize(t *testing.T) {
	d, err := Draft{Kind: "x", Payload: []byte(` { "a" : 1.0 } `), Meta: []byte("{ }"), Extra: []byte(`, "b" : [ 1 ]`)}.Normalize()
	if err != nil || string(AppendLine(nil, 1, d)) != `{"id":1,"kind":"x","payload":{"a":1.0},"meta":{},"date":"","b":[1]}`+"\n" {
		t.Errorf("got %s, %v", AppendLine(nil, 1, d), err)
	}
	obj := []byte("{}")
	deep := []byte(strings.Repeat(`{"a":`, MaxDepth-1) + "1" + strings.Repeat("}", MaxDepth-1))
	d, err = Draft{Kind: "x", Payload: deep}.Normalize()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(AppendLine(nil, 1, d)); err != nil {
		t.Error(err)
	}
	for name, d := range map[string]Draft{
		"no kind":       {Payload: obj},
		"kind":          {Kind: "\xff", Payload: obj},
		"date":          {Kind: "x", Payload: obj, Date: "\xff"},
		"no payload":    {Kind: "x"},
		"payload":       {Kind: "x", Payload: []byte(`{},"y":{}`)},
		"meta":          {Kind: "x", Payload: obj, Meta: []byte(" ")},
		"extra":         {Kind: "x", Payload: obj, Extra: []byte(`"a":1`)},
		"extra known":   {Kind: "x", Payload: obj, Extra: []byte(`,"\u0069d":1`)},
		"extra closing": {Kind: "x", Payload: obj, Extra: []byte(`,"a":1}{`)},
		"too deep":      {Kind: "x", Payload: []byte(`{"a":` + string(deep) + `}`)},
	} {
		if _, err := d.Normalize(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v))
	}
	f.Add([]byte(`{"kind":"x","payload":{},"meta":{"a":1},"date":"\ud83d","é":"\/","id":3}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		id, idErr := ParseID(line)
		if e, err := Parse(line); err == nil {
			if idErr != nil || id != e.ID {
				t.Fatalf("ParseID(%q) = %d, %v; Parse says %d", line, id, idErr, e.ID)
			}
			checkEntry(t, line, e)
			d, err := e.Draft()
			if err != nil {
				t.Fatalf("Draft of %q: %v", line, err)
			}
			checkRoundTrip(t, d)
		}
		d, err := ParseDraft(line)
		if err != nil {
			if _, err := Parse(line); err == nil {
				t.Fatalf("ParseDraft refuses the entry %q", line)
			}
			return
		}
		checkRoundTrip(t, d)
	})
}

// checkEntry compares an entry with what encoding/json reads from its line.
func checkEntry(t *testing.T, line []byte, e Entry) {
	t.Helper()
	if !acceptable(line) || !acceptable(e.Payload) || !acceptable(e.Meta) || e.ID < 1 || e.Kind == "" {
		t.Fatalf("Parse(%q) = %+v", line, e)
	}
	var std map[string]json.RawMessage
	if err := json.Unmarshal(line, &std); err != nil {
		t.Fatal(err)
	}
	var kind, date string
	if err := json.Unmarshal(std["kind"], &kind); err != nil {
		t.Fatal(err)
	}
	if raw := std["date"]; raw != nil {
		if err := json.Unmarshal(raw, &date); err != nil {
			t.Fatal(err)
		}
	}
	if kind != e.Kind || date != e.Date || !bytes.Equal(std["payload"], e.Payload) ||
		(std["meta"] != nil && !bytes.Equal(std["meta"], e.Meta)) {
		t.Fatalf("Parse(%q) = %+v, encoding/json says %q", line, e, std)
	}
}

func checkRoundTrip(t *testing.T, d Draft) {
	t.Helper()
	line := AppendLine(nil, 42, d)
	if bytes.IndexByte(line, '\n') != len(line)-1 {
		t.Fatalf("line %q", line)
	}
	e, err := Parse(line)
	if err != nil {
		t.Fatalf("Parse(AppendLine) of %q: %v", line, err)
	}
	if e.ID != 42 || e.Kind != d.Kind || !bytes.Equal(e.Payload, d.Payload) || e.Date != d.Date ||
		(d.Meta != nil && !bytes.Equal(e.Meta, d.Meta)) {
		t.Fatalf("got %+v, want %+v", e, d)
	}
	d2, err := e.Draft()
	if err != nil || !bytes.Equal(AppendLine(nil, 42, d2), line) {
		t.Fatalf("the draft of %q is %+v, %v", line, d2, err)
	}
	d3, err := d.Normalize()
	if err != nil || !bytes.Equal(AppendLine(nil, 42, d3), line) {
		t.Fatalf("Normalize of %+v: %+v, %v", d, d3, err)
	}
}
