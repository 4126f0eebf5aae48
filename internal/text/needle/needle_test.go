package needle

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A needle is found where a plain search finds it, whatever of it is looked for
// first, and wherever in the file the search begins and ends.
func TestIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	alphabets := []string{"ab", "aAbBkK ", `\u0042`, "xqXzZ~", "the no is", "數\xff\x80\xe2a", "tTuU\x74\xf4\x54\xd4"}
	random := func(from string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = from[rng.IntN(len(from))]
		}
		return string(b)
	}
	kinds := [3]int{}
	for range 10_000 {
		from := alphabets[rng.IntN(len(alphabets))]
		fold := rng.IntN(2) == 0
		c := New(random(from, 1+rng.IntN(9)), fold)
		if rng.IntN(8) == 0 {
			c.next = [2]byte{'0', '4'}
		}
		file := strings.Repeat("-", rng.IntN(100)) + random(from, rng.IntN(200)) + strings.Repeat("=", rng.IntN(100))
		if rng.IntN(2) == 0 {
			i := rng.IntN(len(file) + 1)
			file = file[:i] + c.s + "1" + file[i:]
		}
		start := rng.IntN(len(file) + 1)
		end := start + rng.IntN(len(file)-start+1)
		want := -1
		for i := start; i < end && want < 0; i++ {
			rest := file[i:]
			if fold {
				rest = Lower(rest)
			}
			after, ok := strings.CutPrefix(rest, c.s)
			if ok && (c.next[1] == 0 || after != "" && after[0] >= '0' && after[0] <= '4') {
				want = i
			}
		}
		switch c.seek[0].(type) {
		case *couple:
			kinds[0]++
		case *lanes:
			kinds[1]++
		default:
			kinds[2]++
		}
		if got := c.Index([]byte(file), start, end); got != want {
			t.Fatalf("%q (ignore case %v) in %q from %d to %d: %d, want %d", c.s, fold, file, start, end, got, want)
		}
	}
	for i, n := range kinds {
		if n < 1000 {
			t.Errorf("way %d to look: %d times", i, n)
		}
	}
}
