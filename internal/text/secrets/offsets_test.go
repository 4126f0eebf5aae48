package secrets

import (
	"math/rand/v2"
	"strings"
	"testing"

	"tape/internal/text/jsonl"
)

// TestPlacesInStrings: offsets in a text, in any order, become offsets in the JSON string of that text.
func TestPlacesInStrings(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test repeats
	parts := []string{"a", "bc", `\n`, `\\`, `\"`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, "é", "😀"}
	for range 500 {
		var body []byte
		ends := map[int]int{0: 0} // of parts: offset in the text, and in the string
		decoded := 0
		for range rnd.IntN(30) {
			part := parts[rnd.IntN(len(parts))]
			if part == `\ud83d` {
				part += "x" // two surrogates in a row would be one character
			}
			body = append(body, part...)
			decoded += len(jsonl.AppendDecoded(nil, []byte(part)))
			ends[decoded] = len(body)
		}
		var spots []spot
		var want [][2]int
		for from, rawFrom := range ends { // in no order
			for to, rawTo := range ends {
				spots = append(spots, spot{from: from, to: to})
				want = append(want, [2]int{rawFrom, rawTo})
			}
		}
		toRaw(body, spots)
		for i, s := range spots {
			if s.from != want[i][0] || s.to != want[i][1] {
				t.Fatalf("%s: %d to %d, wanted %v", body, s.from, s.to, want[i])
			}
		}
	}
}

// TestManySecrets: a text with very many secrets is masked in one or two passes. With a pass for each
// secret, this test would take minutes.
func TestManySecrets(t *testing.T) {
	const n = 100_000
	text := strings.Repeat("password=Tr0ub4dor99\n", n)
	out, found := New().Mask(jsonl.AppendString(nil, text), nil)
	if len(found) != 1 || strings.Count(string(out), "[redacted:") != n {
		t.Errorf("%d findings, %d marks, want 1 and %d", len(found), strings.Count(string(out), "[redacted:"), n)
	}
}
