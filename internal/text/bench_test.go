package text

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tape/internal/jsonl"
)

// benchEntries returns payloads like those of a session.
func benchEntries(n int, wide bool) (kinds []string, payloads [][]byte, size int64) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the Store opens its branch and reads every phase before an anchor is written so SetReference returns nothing lost (when it stops) at line 42, refs/heads/main err != nil")
	if wide {
		words = append(words, strings.Fields("数据库的阶段从锚点开始， 重跑脚本 café “quoted” — ✓ ──── Привет мир")...)
	}
	prose := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[rng.IntN(len(words))])
			b.WriteString([]string{" ", " ", " ", "\n"}[rng.IntN(4)])
		}
		return b.String()
	}
	for i := range n {
		kind, payload := "message", append(jsonl.AppendString([]byte(`{"role":"user","content":`), prose(10+rng.IntN(120))), '}')
		switch rng.IntN(3) {
		case 0:
			args := `{"path":"internal/x.go","text":` + string(jsonl.AppendString(nil, prose(50))) + `}`
			kind, payload = "tool_call", fmt.Appendf(nil, `{"calls":[{"id":"call_%d","type":"function","function":{"name":"write","arguments":%s}}]}`, i, jsonl.AppendString(nil, args))
		case 1:
			kind, payload = "tool_result", fmt.Appendf(nil, `{"results":[{"exit":0,"stdout":%s}]}`, jsonl.AppendString(nil, prose(100)))
		}
		kinds, payloads = append(kinds, kind), append(payloads, payload)
		size += int64(len(payload))
	}
	return kinds, payloads, size
}

func BenchmarkEntryTerms(b *testing.B) {
	for _, wide := range []bool{false, true} {
		b.Run(map[bool]string{false: "ascii", true: "wide"}[wide], func(b *testing.B) {
			kinds, payloads, size := benchEntries(1000, wide)
			b.SetBytes(size)
			b.ReportAllocs()
			var z Tokenizer
			var buf []byte
			n := 0
			for b.Loop() {
				for i, p := range payloads {
					buf = AppendEntry(buf[:0], kinds[i], p)
					z.Reset(buf)
					for z.Next() {
						n += len(z.Term)
					}
				}
			}
		})
	}
}

func BenchmarkAppendEntry(b *testing.B) {
	kinds, payloads, size := benchEntries(1000, false)
	b.SetBytes(size)
	var buf []byte
	for b.Loop() {
		for i, p := range payloads {
			buf = AppendEntry(buf[:0], kinds[i], p)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, wide := range []bool{false, true} {
		kinds, payloads, _ := benchEntries(1000, wide)
		var texts [][]byte
		size := 0
		for i, p := range payloads {
			texts = append(texts, AppendEntry(nil, kinds[i], p))
			size += len(texts[i])
		}
		for _, query := range []string{"anchor", `"anchor is"`, "refs/heads/main", "absent"} {
			b.Run(map[bool]string{false: "ascii/", true: "wide/"}[wide]+query, func(b *testing.B) {
				q := Parse(query, Options{})
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					for _, t := range texts {
						q.Match(t)
					}
				}
			})
		}
	}
}

func BenchmarkCandidate(b *testing.B) {
	for _, wide := range []bool{false, true} {
		kinds, payloads, _ := benchEntries(10000, wide)
		var file []byte
		for i, p := range payloads {
			file = fmt.Appendf(file, `{"id":%d,"kind":%q,"payload":%s}`+"\n", i+1, kinds[i], p)
		}
		scan := func(name string, s *Scan) {
			b.Run(map[bool]string{false: "ascii/", true: "wide/"}[wide]+name, func(b *testing.B) {
				b.SetBytes(int64(len(file)))
				for b.Loop() {
					for rest := file; len(rest) > 0; {
						i := s.Candidate(rest)
						if i < 0 {
							break
						}
						rest = rest[i+bytes.IndexByte(rest[i:], '\n')+1:]
					}
				}
			})
		}
		scan("absent", NewSubstring("readable xylophone", false))
		scan("absentFold", NewSubstring("readable xylophone", true))
		scan("common", NewSubstring("anchor", false))
		scan("commonAbsent", NewSubstring("there is no", false))
		re, err := NewRegexp(`(alpha|omega)\d+ tests`, false)
		if err != nil {
			b.Fatal(err)
		}
		scan("regexp", re)
	}
}

func BenchmarkSignature(b *testing.B) {
	kinds, payloads, size := benchEntries(1000, false)
	b.SetBytes(size)
	var buf []byte
	for b.Loop() {
		for i, p := range payloads {
			buf = AppendEntry(buf[:0], kinds[i], p)
			Signature(buf)
		}
	}
}
