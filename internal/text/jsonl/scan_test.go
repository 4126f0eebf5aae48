package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// values are valid and invalid JSON texts, for tables and as fuzz seeds.
var values = []string{
	``, ` `, `null`, `true`, `false`, `nul`, `nulll`, `0`, `-0`, `01`, `-`, `+1`, `1.`, `.5`, `1.0`, `1e400`, `1E+2`,
	`1e`, `1e+`, `-12.25e-3`, `""`, `"a"`, `"`, `"\`, `"\x"`, `"\u12"`, `"\u12G4"`, `"\u00e9"`, `"\ud83d\ude00"`,
	`"\ud83d"`, `"\ude00\ud83d"`, `"\ud800\ud83d\ude00"`, `"\ud83d\u0041"`, `"\/"`, `"\\u0041"`, `"\u0022\u005c\u001f\u0000\u007f"`,
	"\"tab\there\"", "\"nul\x00\"", "\"\x7f\"", "\"é世界😀\u2028\"", "\"\xff\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\"", "\"\xe4\xb8\"", "\"\xf4\x90\x80\x80\"",
	`{}`, `[]`, `[1,]`, `[,1]`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `[1 2]`, `{]`, `[}`, `[`, `{`, `{"a":1`,
	` { "a" : [ 1 , { "b" : "c d" } , [ ] , { } ] , "\u0061" : null } `, "[\n1,\r\n\t2\v]", `{"a":1}{"b":2}`, `1 2`, "\ufeff{}", "{}\x00",
	`{"k":"a long enough text to be skipped eight bytes at a time, with \"quotes\" and \\ in it"}`,
	`{"id":1,"kind":"message","payload":{"role":"user","content":"hi"},"meta":{},"date":"2026-11-20T09:30:00.123456+00:00"}`,
	`{"payload": {"n": [1.0, 1e400, 1E+2, -0]}, "kind": "\u0065vent", "id": 7, "x": {"y": [1, 2]}, "tape": "main"}`,
}

// depth returns how deep the containers of valid JSON nest.
func depth(src []byte) int {
	d, deepest := 0, 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '"':
			for i++; src[i] != '"'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			d++
			deepest = max(deepest, d)
		case '}', ']':
			d--
		}
	}
	return deepest
}

// acceptable reports whether Valid has to accept src.
func acceptable(src []byte) bool {
	return json.Valid(src) && utf8.Valid(src) && depth(src) <= MaxDepth
}

func checkValid(t *testing.T, src []byte) {
	t.Helper()
	err := Valid(src)
	if want := acceptable(src); (err == nil) != want {
		t.Fatalf("Valid(%q) = %v, want valid: %v", src, err, want)
	}
	if err == nil {
		return
	}
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(src) || syntax.Error() == "" {
		t.Fatalf("Valid(%q): bad error %#v", src, err)
	}
	for _, r := range syntax.Error() {
		if r < ' ' || r > '~' {
			t.Fatalf("Valid(%q): message %q is not plain text", src, syntax.Error())
		}
	}
}

func TestValid(t *testing.T) {
	for _, v := range values {
		checkValid(t, []byte(v))
	}
}

// Short strings have every byte at every place: the skip of eight bytes at a
// time must stop at exactly the bytes that matter, wherever among the eight
// they are.
func TestValidEveryByteEverywhere(t *testing.T) {
	for n := range 20 {
		for at := range n {
			for c := range 256 {
				src := []byte(`"` + strings.Repeat("x", n) + `"`)
				src[1+at] = byte(c)
				checkValid(t, src)
			}
		}
	}
}

// TestValidDamaged cuts a value at every place, and replaces each of its
// bytes.
func TestValidDamaged(t *testing.T) {
	src := []byte(`{"a":[1.5e3,true,null,"x\n\u00e9é",{}],"b":{"c":[]}, "d" : -0}`)
	for i := range src {
		checkValid(t, src[:i])
		checkValid(t, src[i:])
		for _, c := range []byte("\"\\{}[],:0-.e \n\x00\xff\xe4u") {
			changed := bytes.Clone(src)
			changed[i] = c
			checkValid(t, changed)
		}
	}
}

func TestDepth(t *testing.T) {
	nested := func(n int) string {
		return strings.Repeat(`[{"a":`, n/2) + strings.Repeat("[", n%2) + strings.Repeat("]", n%2) +
			strings.Repeat(`}]`, n/2)
	}
	for n, want := range map[int]bool{MaxDepth - 1: true, MaxDepth + 1: false} {
		if err := Valid([]byte(nested(n))); (err == nil) != want {
			t.Errorf("depth %d: %v, want valid: %v", n, err, want)
		}
	}
	if err := Valid([]byte(strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth))); err != nil {
		t.Errorf("depth %d: %v", MaxDepth, err)
	}
	for _, src := range []string{
		strings.Repeat("[", 100_000),
		strings.Repeat(`{"a":`, 100_000),
		nested(100_001),
		`{"id":1,"kind":"x","payload":` + strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_001),
	} {
		for name, f := range map[string]func([]byte) error{
			"Valid":      Valid,
			"Compact":    func(b []byte) error { _, err := Compact(nil, b); return err },
			"Prefix":     func(b []byte) error { _, err := Prefix(b); return err },
			"Parse":      func(b []byte) error { _, err := Parse(b); return err },
			"ParseDraft": func(b []byte) error { _, err := ParseDraft(b); return err },
		} {
			if err := f([]byte(src)); err == nil {
				t.Errorf("%s accepts %d bytes of nesting", name, len(src))
			}
		}
		for range Fields([]byte(src)) {
		}
		for range Elements([]byte(src)) {
		}
		Unescape(nil, []byte(src))
	}
	// Parsing ends at the first bracket that is too deep.
	var syntax *SyntaxError
	err := Valid([]byte(strings.Repeat("[", 100_000)))
	if !errors.As(err, &syntax) || syntax.Offset != MaxDepth || err.Error() != "nested deeper than 512" {
		t.Errorf("got %#v, want \"nested deeper than 512\" at byte %d", err, MaxDepth)
	}
}

func TestMessages(t *testing.T) {
	for src, want := range map[string]string{
		`{"a":1,}`:    `invalid JSON at byte 7: unexpected '}', expected a key`,
		`{"a" 1}`:     `invalid JSON at byte 5: unexpected '1', expected ':'`,
		`[1`:          `invalid JSON at byte 2: unexpected end, expected ',' or ']'`,
		`tru`:         `invalid JSON at byte 3: unexpected end, expected true`,
		"\"a\nb\"":    `invalid JSON at byte 2: control character '\n' in a string`,
		"\"ab\xffc\"": `invalid UTF-8 at byte 3`,
		"\xff":        `invalid JSON at byte 0: unexpected byte 0xff, expected a value`,
		`{} x`:        `invalid JSON at byte 3: unexpected 'x', expected the end`,
	} {
		if err := Valid([]byte(src)); err == nil || err.Error() != want {
			t.Errorf("Valid(%q) = %v, want %s", src, err, want)
		}
	}
}

func TestPrefix(t *testing.T) {
	for src, want := range map[string]int{
		`{"a":1}{"b":2}`: 7, ` {"a":"}"} x`: 10, `1{`: 1, `"a""b"`: 3, `[[]]]`: 4, `true,`: 4, `nullx`: 4,
	} {
		if n, err := Prefix([]byte(src)); n != want || err != nil {
			t.Errorf("Prefix(%q) = %d, %v; want %d", src, n, err, want)
		}
	}
	for _, src := range []string{``, `}`, `{"a":1`, `1.`, `x`} {
		if n, err := Prefix([]byte(src)); n != 0 || err == nil {
			t.Errorf("Prefix(%q) = %d, %v; want an error", src, n, err)
		}
	}
}

func FuzzValid(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		checkValid(t, src)
		n, err := Prefix(src)
		if err == nil && !acceptable(src[:n]) {
			t.Fatalf("Prefix(%q) = %d, which is not valid JSON", src, n)
		}
		if err != nil && acceptable(src) {
			t.Fatalf("Prefix of the valid %q: %v", src, err)
		}
	})
}
