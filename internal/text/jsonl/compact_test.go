package jsonl

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func checkCompact(t *testing.T, src []byte) {
	t.Helper()
	before := bytes.Clone(src)
	got, err := Compact([]byte("kept"), src)
	if !bytes.Equal(src, before) {
		t.Fatalf("Compact(%q) changed its input", before)
	}
	if (err == nil) != acceptable(src) {
		t.Fatalf("Compact(%q): %v", src, err)
	}
	if err != nil {
		if string(got) != "kept" {
			t.Fatalf("Compact(%q) left %q after an error", src, got)
		}
		return
	}
	var want bytes.Buffer
	if err := json.Compact(&want, src); err != nil {
		t.Fatal(err)
	}
	if string(got) != "kept"+want.String() {
		t.Fatalf("Compact(%q) = %q, want %q", src, got[len("kept"):], want.String())
	}
}

func TestCompact(t *testing.T) {
	for _, v := range values {
		checkCompact(t, []byte(v))
	}
}

func FuzzCompact(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, src []byte) { checkCompact(t, src) })
}

func TestUnescape(t *testing.T) {
	for src, want := range map[string]string{
		`"\u00e9"`:                       `"é"`,
		`"\u4e16\u754C"`:                 `"世界"`,
		`"\ud83d\ude00"`:                 `"😀"`,
		`"a\/b"`:                         `"a/b"`,
		`"\ud83d"`:                       `"\ud83d"`,
		`"\ude00\ud83d"`:                 `"\ude00\ud83d"`,
		`"\ud800\ud83d\ude00"`:           `"\ud800😀"`,
		`"\ud83d\u0041"`:                 `"\ud83dA"`,
		`"\u0022\u005c\u001f\u0000"`:     `"\u0022\u005c\u001f\u0000"`,
		`"\u000a\n\t\"\\"`:               `"\u000a\n\t\"\\"`,
		`"\\u0041"`:                      `"\\u0041"`,
		`"\u2028\u007f"`:                 "\"\u2028\u007f\"",
		` { "\u006b" : [ 1.0 , "a b" ]}`: `{"k":[1.0,"a b"]}`,
	} {
		if got := Unescape([]byte("x"), []byte(src)); string(got) != "x"+want {
			t.Errorf("Unescape(%s) = %s, want %s", src, got[1:], want)
		}
	}
}

// decode decodes JSON with numbers as they are spelled.
func decode(t *testing.T, src []byte) any {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("decode %q: %v", src, err)
	}
	return v
}

func FuzzUnescape(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		got := Unescape(nil, src)
		if !acceptable(src) {
			return
		}
		if err := Valid(got); err != nil {
			t.Fatalf("Unescape(%q) = %q: %v", src, got, err)
		}
		if !reflect.DeepEqual(decode(t, got), decode(t, src)) {
			t.Fatalf("Unescape(%q) = %q: not the same value", src, got)
		}
		if again := Unescape(nil, got); !bytes.Equal(again, got) {
			t.Fatalf("Unescape(%q) = %q, which it unescapes again to %q", src, got, again)
		}
		if compact, _ := Compact(nil, got); !bytes.Equal(compact, got) {
			t.Fatalf("Unescape(%q) = %q is not compact", src, got)
		}
	})
}

func TestAppendString(t *testing.T) {
	for s, want := range map[string]string{
		"":                      `""`,
		"a\"b\\c/d":             `"a\"b\\c/d"`,
		"\n\t\r\b\f\x00\x1f":    `"\n\t\r\b\f\u0000\u001f"`,
		"<&>\u2028\u2029\u007f": "\"<&>\u2028\u2029\u007f\"",
		"a\xffb\xed\xa0\x80":    "\"a\ufffdb\ufffd\ufffd\ufffd\"",
		"é世😀\ufffd":             "\"é世😀\ufffd\"",
	} {
		if got := AppendString([]byte("x"), s); string(got) != "x"+want {
			t.Errorf("AppendString(%q) = %s, want %s", s, got[1:], want)
		}
	}
}

func TestString(t *testing.T) {
	for raw, want := range map[string]string{
		` "a" `: "a", `"\u00e9\ud83d\ude00\n\/\"\\\b\f\r\t"`: "é😀\n/\"\\\b\f\r\t",
		`"\ud83dx"`: "\ufffdx", `""`: "",
	} {
		if got, ok := String([]byte(raw)); got != want || !ok {
			t.Errorf("String(%s) = %q, %v; want %q, true", raw, got, ok, want)
		}
	}
	for _, raw := range []string{``, `1`, `null`, `"`, `"a`, `"a"b`, `{}`, `"\x"`, "\"\xff\"", `"\"`} {
		if got, ok := String([]byte(raw)); got != "" || ok {
			t.Errorf("String(%s) = %q, %v; want \"\", false", raw, got, ok)
		}
	}
}

func FuzzString(f *testing.F) {
	for _, v := range values {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw := AppendString(nil, s)
		if err := Valid(raw); err != nil {
			t.Fatalf("AppendString(%q) = %q: %v", s, raw, err)
		}
		want := strings.ToValidUTF8(s, "\ufffd")
		if got, ok := String(raw); !ok || (utf8.ValidString(s) && got != s) || strings.ToValidUTF8(got, "") != got {
			t.Fatalf("String(AppendString(%q)) = %q, want %q", s, got, want)
		}
		// The other direction, for any spelling of a string.
		var std string
		if acceptable([]byte(s)) && json.Unmarshal([]byte(s), &std) == nil && isString(s) {
			if got, ok := String([]byte(s)); !ok || got != std {
				t.Fatalf("String(%q) = %q, %v; want %q", s, got, ok, std)
			}
		}
	})
}

// isString reports whether valid JSON is a string.
func isString(s string) bool {
	return strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), `"`)
}
