package telegram

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// randomText joins n random words.
func randomText(r *rand.Rand, words []string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(words[r.IntN(len(words))])
	}
	return b.String()
}

// hostile are pieces of Markdown that a cut could damage.
var hostile = []string{
	"word ", "word ", "longer-word ", "\n", "\n\n", "```go\n", "```\n", "~~~\n", "````\n", "  ```\n", "```", "~~~~ x y\n", "😀", "👩‍💻", "é", "e\u0301",
	strings.Repeat("x", 90), " ", "\t", "`code` ", "**bold** ", "**", "*", "`", "``", "\x00", "\r\n", "\x1b[31m", "\xff", "\u202e",
}

func TestSplit(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		text, limit := randomText(r, hostile, r.IntN(300)), 20+r.IntN(300)
		var joined strings.Builder
		for _, p := range split(text, limit) {
			joined.WriteString(p.text)
			shown, entities := p.format()
			if n := len(utf16.Encode([]rune(p.text))); n > limit {
				t.Fatalf("seed %d: a piece of %d units, want at most %d", seed, n, limit)
			}
			if utf8.ValidString(text) && !utf8.ValidString(p.text) {
				t.Fatalf("seed %d: a character is cut: %q", seed, p.text)
			}
			n := len(utf16.Encode([]rune(shown)))
			for _, e := range entities {
				if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > n || n > limit {
					t.Fatalf("seed %d: entity %+v in %d units of %q", seed, e, n, shown)
				}
			}
		}
		if joined.String() != text {
			t.Fatalf("seed %d: the pieces, joined, are not the text", seed)
		}
	}
}

// A block of code is shown as the same block in the same language, cut or not.
func TestSplitKeepsBlocks(t *testing.T) {
	words := []string{"word ", "word ", "\n", "\n", "\n```go\n", "\n```\n", "\n~~~\n", "😀", strings.Repeat("x", 90)}
	shown := func(pieces []piece) string {
		var b strings.Builder
		for _, p := range pieces {
			text, entities := p.format()
			wide := utf16.Encode([]rune(text))
			lang := make([]string, len(wide))
			for _, e := range entities {
				for i := range e.Length {
					lang[e.Offset+i] = e.Type + e.Language
				}
			}
			for i, u := range wide {
				b.WriteString(string(rune(u)) + lang[i] + " ")
			}
		}
		return b.String()
	}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		text := randomText(r, words, r.IntN(300))
		if whole, cut := shown(split(text, 1<<30)), shown(split(text, 100+r.IntN(300))); whole != cut {
			t.Fatalf("seed %d of %q:\nwhole %s\ncut   %s", seed, text, whole, cut)
		}
	}
}

func TestWhereTextsAreSplit(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"short", "hello", []string{"hello"}},
		{"empty", "", []string{""}},
		{"line", "aaaaaaaaaa\nbbbbbbbbbb\ncc", []string{"aaaaaaaaaa\n", "bbbbbbbbbb\ncc"}},
		{"word", "aaaaaaaaaa bbbbbbbbbb", []string{"aaaaaaaaaa ", "bbbbbbbbbb"}},
		{"no word", strings.Repeat("a", 17), []string{strings.Repeat("a", 16), "a"}},
		{"pair", strings.Repeat("a", 15) + "😀", []string{strings.Repeat("a", 15), "😀"}},
		{"fence", "aaa\n``` go language\nx", []string{"aaa\n", "``` go language\n", "x"}},
	} {
		var got []string
		for _, p := range split(c.text, 16) {
			got = append(got, p.text)
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		text, shown string
		want        []entity
	}{
		{"plain *x* 2 ** 3 ** 4", "plain *x* 2 ** 3 ** 4", nil},
		{"😀 run `go test` **now**", "😀 run go test now", []entity{{Type: "code", Offset: 7, Length: 7}, {Type: "bold", Offset: 15, Length: 3}}},
		{"a\n```go x\nf()\n```\nb", "a\nf()\nb", []entity{{Type: "pre", Offset: 2, Length: 4, Language: "go"}}},
		{"```\nopen", "open", []entity{{Type: "pre", Offset: 0, Length: 4}}},
		{"``a`b`` `", "a`b `", []entity{{Type: "code", Offset: 0, Length: 3}}},
	} {
		p := piece{text: c.text}
		shown, entities := p.format()
		if shown != c.shown || len(entities) != len(c.want) {
			t.Errorf("%q: %q %+v, want %q %+v", c.text, shown, entities, c.shown, c.want)
			continue
		}
		for i := range entities {
			if entities[i] != c.want[i] {
				t.Errorf("%q: %+v, want %+v", c.text, entities[i], c.want[i])
			}
		}
	}
}
