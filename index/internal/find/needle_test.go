package find

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// Needles are found where a plain search finds them, wherever the search begins.
func TestNext(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	alphabets := []string{"ab", "aAbBkK ", `\u0042`, "xqXzZ~", "the no is", "數\xff\x80\xe2a"}
	random := func(from string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = from[rng.IntN(len(from))]
		}
		return string(b)
	}
	var f needleFinder
	for range 10_000 {
		from := alphabets[rng.IntN(len(alphabets))]
		what, fold := random(from, 1+rng.IntN(9)), from[0] < utf8.RuneSelf && rng.IntN(2) == 0
		needles := appendNeedles(nil, what, fold)
		escape := rng.IntN(8) == 0
		if escape {
			needles = append(needles, escapeNeedle())
		}
		file := strings.Repeat("-", rng.IntN(100)) + random(from, rng.IntN(200)) + strings.Repeat("=", rng.IntN(100))
		if rng.IntN(2) == 0 {
			i := rng.IntN(len(file) + 1)
			file = file[:i] + what + file[i:]
		}
		f.reset(needles, []byte(file))
		for start := 0; ; start++ {
			want := start
			for ; want < len(file); want++ {
				rest := file[want:]
				escaped, ok := strings.CutPrefix(rest, `\u00`)
				if escape && ok && (escaped == "" || escaped[0] >= '2' && escaped[0] <= '7') {
					break
				}
				if strings.HasPrefix(rest, what) || fold && len(rest) >= len(what) && strings.EqualFold(rest[:len(what)], what) {
					break
				}
			}
			got, _ := f.next(start)
			if got != want {
				t.Fatalf("%q (ignore case %v) in %q from %d: %d, want %d", what, fold, file, start, got, want)
			}
			if start = got; got == len(file) {
				break
			}
		}
	}
}
