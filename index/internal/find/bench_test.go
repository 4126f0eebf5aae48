package find

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tape/internal/text/jsonl"
)

// benchFile returns a stored file: prose and source code from a vocabulary in
// which few words are usual and most are rare.
func benchFile(rng *rand.Rand, size int) []byte {
	syllables := strings.Fields("re con ti on er in the ing st at or de pro com pa ta lo se mi no ex im fo wa che ck ble ment ri ca un li do v y")
	vocabulary := strings.Fields("the of to and a in is it for that on with this be as not are if return err nil func string test file error code from")
	for len(vocabulary) < 4000 {
		w := ""
		for range 2 + rng.IntN(3) {
			w += syllables[rng.IntN(len(syllables))]
		}
		vocabulary = append(vocabulary, w)
	}
	zipf := rand.NewZipf(rng, 1.1, 3, uint64(len(vocabulary)-1))
	word := func() string { return vocabulary[zipf.Uint64()] }
	var file []byte
	for id := 1; len(file) < size; id++ {
		var b strings.Builder
		for range 20 + rng.IntN(200) {
			switch rng.IntN(12) {
			case 0:
				fmt.Fprintf(&b, "\n\t\t%s := %s(%s, \"%s\")\n", word(), word(), word(), word())
			case 1:
				fmt.Fprintf(&b, "%s/%s.go:%d: ", word(), word(), rng.IntN(900))
			default:
				b.WriteString(word() + " ")
			}
		}
		file = fmt.Appendf(file, `{"id":%d,"kind":"message","payload":{"role":"assistant","content":%s},"meta":{},"date":"2026-01-%02dT10:%02d:00.%06dZ"}`+"\n",
			id, jsonl.AppendString(nil, b.String()), 1+rng.IntN(28), rng.IntN(60), rng.IntN(1e6))
	}
	return file[:bytes.LastIndexByte(file[:size], '\n')+1]
}

func BenchmarkScan(b *testing.B) {
	file := benchFile(rand.New(rand.NewPCG(5, 6)), 256<<10)
	for _, needle := range []string{"xylophone", "connection refused", "there is no", "NullPointerException", "deadlock", "数据库"} {
		for _, fold := range []bool{false, true} {
			benchScan(b, fmt.Sprintf("%s/fold=%v", needle, fold), file, NewSubstring(needle, fold))
		}
	}
	for _, expr := range []string{`(alpha|omega)\d+ tests`, `func \w+\(.*xylophone`, `the \w+ deadlock`, `error: .* refused`} {
		s, err := NewRegexp(expr, false)
		if err != nil {
			b.Fatal(err)
		}
		benchScan(b, expr, file, s)
	}
}

// benchScan measures finding the candidate lines of a scan, one after the
// other.
func benchScan(b *testing.B, name string, file []byte, s *Scanner) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(int64(len(file)))
		lines := 0
		may := s.Lines("")
		for b.Loop() {
			lines = 0
			may.Reset(file)
			for from := may.Next(0); from < len(file); from = may.Next(from) {
				lines++
				from += bytes.IndexByte(file[from:], '\n') + 1
			}
		}
		b.ReportMetric(float64(lines), "candidates")
	})
}
