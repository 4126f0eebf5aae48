package text_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"tape/internal/text"
)

// terms returns the terms of a text.
func terms(s string) []string {
	var z text.Tokenizer
	z.Reset([]byte(s))
	var out []string
	for z.Next() {
		out = append(out, string(z.Term))
	}
	return out
}

func TestTokenizer(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"Hello, world!":             "hello world",
		"SetReference":              "setreference set reference",
		"HTTPServer":                "httpserver http server",
		"E42 100ms sha256":          "e42 e 42 100ms 100 ms sha256 sha 256",
		"snake_case a/b.go:7":       "snake case a b go 7",
		"数据库":                       "数据 据库 库",
		"库":                         "库",
		"重跑gen-itgc脚本":              "重跑 跑 gen itgc 脚本 本",
		"文件。件":                      "文件 件 件",
		"Ｆｕｌｌ ｶﾞｷﾞ":                 "full ガギ ギ",
		"が か":                       "が か",
		"か\u3099":                   "が",
		"Café CAFE\u0301 naïve":     "cafe cafe naive",
		"Straße ﬁn ŒUVRE":           "strasse fin oeuvre",
		"й ё и\u0306 ї за\u0301мок": "й е й ї замок",
		"ὈΔΥΣΣΕΎΣ Ὀδυσσεύς":         "οδυσσευσ οδυσσευσ",
		"done ✅→❤\ufe0f":            "done ✅ → ❤",
		"a\xffb":                    "a b",
		"a\ue000b \U000F0000":       "a b",
		"1½ m² Foo™":                "1 1 ⁄ 2 m2 m 2 foo tm",
		"a\u2260b =\u0338":          "a ≠ b ≠",
		"한국어 \u1112\u1161\u11ab":    "한국 국어 어 한",
		"dGhpc0lzQmFzZTY0":          "dghpc0lzqmfzzty0",
		"aBcDeFgHi":                 "abcdefghi a bc de fg hi",
		"aBcDeFgHiJkLmNoPqR":        "abcdefghijklmnopqr",
		"1\ufe0f\u20e3":             "1",
		"a_b C++ 100%":              "a b c 100",
		strings.Repeat("x", 70):     strings.Repeat("x", 64),
		strings.Repeat("é", 70):     strings.Repeat("e", 64),
		strings.Repeat("ж", 70):     strings.Repeat("ж", 32),
	} {
		if got := strings.Join(terms(in), " "); got != want {
			t.Errorf("the terms of %q are %q, want %q", in, got, want)
		}
	}
}

func TestTokenizerOffsets(t *testing.T) {
	const in = "x Café-數據 ❤\ufe0f SetRef e\u0301Tat"
	var z text.Tokenizer
	z.Reset([]byte(in))
	var got []string
	for z.Next() {
		got = append(got, in[z.Start:z.End])
	}
	want := []string{"x", "Café", "數據", "據", "❤\ufe0f", "SetRef", "Set", "Ref", "e\u0301Tat", "e\u0301", "Tat"}
	if !slices.Equal(got, want) {
		t.Errorf("the terms are at %q, want %q", got, want)
	}
}

// Folding a folded text changes nothing, so a term of the index can be searched for. Terms have no ASCII capitals or
// ASCII punctuation. A composed and a decomposed character have the same terms.
func TestFoldTwice(t *testing.T) {
	var f, g text.Folder
	for r := rune(0); r < 0x20000; r += 1 + r>>14 {
		if !utf8.ValidRune(r) {
			continue
		}
		f.FoldAll([]byte(string(r)))
		g.FoldAll(f.Buf)
		if string(f.Buf) != string(g.Buf) {
			t.Errorf("%U: folded once %q, twice %q", r, f.Buf, g.Buf)
		}
		for _, s := range terms(string(r)) {
			for i := range len(s) {
				if c := s[i]; c < utf8.RuneSelf && text.ASCII(c) != text.Lower && text.ASCII(c) != text.Digit {
					t.Errorf("%U: the term %q has a capital or punctuation", r, s)
				}
			}
			if strings.HasPrefix(s, "\ue000") {
				t.Errorf("%U: the term %q has a character for private use", r, s)
			}
		}
		d := norm.NFD.String(string(r))
		if a, b := terms(string(r)), terms(d); !slices.Equal(a, b) {
			t.Errorf("%U: the terms are %q, decomposed %q", r, a, b)
		}
	}
}

// An ignored character, such as a variation selector, changes nothing: the character before it folds as if it stood
// alone.
func TestIgnoredCharacters(t *testing.T) {
	var f, g text.Folder
	for r := rune(0x20); r < 0x20000; r += 1 + r>>12 {
		f.FoldAll([]byte(string(r) + "x"))
		g.FoldAll([]byte(string(r) + "\ufe0f\u200dx"))
		if string(f.Buf) != string(g.Buf) || string(f.Attr) != string(g.Attr) {
			t.Errorf("%U: %q %v, with a selector %q %v", r, f.Buf, f.Attr, g.Buf, g.Attr)
		}
	}
}
