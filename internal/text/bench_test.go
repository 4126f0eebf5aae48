package text_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tape/internal/text"
	"tape/internal/text/jsonl"
	"tape/internal/text/query"
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
			var z text.Tokenizer
			var buf []byte
			n := 0
			for b.Loop() {
				for i, p := range payloads {
					buf = text.AppendEntry(buf[:0], kinds[i], p)
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
			buf = text.AppendEntry(buf[:0], kinds[i], p)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, wide := range []bool{false, true} {
		kinds, payloads, _ := benchEntries(1000, wide)
		var texts [][]byte
		size := 0
		for i, p := range payloads {
			texts = append(texts, text.AppendEntry(nil, kinds[i], p))
			size += len(texts[i])
		}
		for _, words := range []string{"anchor", `"anchor is"`, "refs/heads/main", "absent"} {
			b.Run(map[bool]string{false: "ascii/", true: "wide/"}[wide]+words, func(b *testing.B) {
				q := query.Parse(words, query.Options{})
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

func BenchmarkSignature(b *testing.B) {
	kinds, payloads, size := benchEntries(1000, false)
	b.SetBytes(size)
	var buf []byte
	for b.Loop() {
		for i, p := range payloads {
			buf = text.AppendEntry(buf[:0], kinds[i], p)
			text.Signature(buf)
		}
	}
}

// BenchmarkMatchLarge searches large outputs of tools, mostly ASCII, which
// have the words of a phrase but not the phrase.
func BenchmarkMatchLarge(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields("the anchor store opens its branch and reads every phase before an error is written so nothing gets lost (when it stops) at line 42, refs/heads/main err != nil return func")
	for _, kind := range []string{"ascii", "signs", "cjk"} {
		var body []byte
		for len(body) < 256<<10 {
			body = append(append(body, words[rng.IntN(len(words))]...), " \n  "[rng.IntN(4)])
			if kind != "ascii" && rng.IntN(30) == 0 {
				body = append(body, map[string]string{"signs": "│ → … ", "cjk": "数据库的阶段 "}[kind]...)
			}
		}
		for _, words := range []string{`"the store is lost"`, `"the phase of an anchor"`, "absent", "ore", "数据表"} {
			b.Run(kind+"/"+words, func(b *testing.B) {
				q := query.Parse(words, query.Options{})
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					if _, ok := q.Match(body); ok {
						b.Fatal("the text matches, want no match")
					}
				}
			})
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		query.Parse(`some ordinary words "and a phrase" internal/text/query.go -none`, query.Options{})
	}
}
