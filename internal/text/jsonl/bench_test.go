package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// sample returns n lines like those of a session: short messages, source code
// with many escapes, tool results with structure, and text outside ASCII.
func sample(n int) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the store opens its branch and reads every phase before an anchor is written so that nothing is lost when it stops")
	prose := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[rng.IntN(len(words))])
			b.WriteByte(' ')
		}
		return b.String()
	}
	code := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "\tif err := step%d(\"%s\"); err != nil {\n\t\treturn err\n\t}\n", i, words[rng.IntN(len(words))])
		}
		return b.String()
	}
	lines := make([][]byte, n)
	for i := range lines {
		d := Draft{Kind: "message", Date: "2026-11-20T09:30:00.123456+00:00"}
		obj := func(role, text string) []byte {
			b := append([]byte(`{"role":"`), role...)
			return append(AppendString(append(b, `","content":`...), text), '}')
		}
		switch rng.IntN(5) {
		case 0:
			d.Payload = obj("user", prose(5+rng.IntN(60)))
		case 1:
			d.Payload = obj("assistant", prose(20+rng.IntN(200)))
		case 2:
			d.Kind = "tool_call"
			args := AppendString(nil, string(obj("edit", code(1+rng.IntN(10)))))
			d.Payload = fmt.Appendf(nil, `{"calls":[{"id":"call_%d","type":"function","function":{"name":"write","arguments":%s}}]}`, i, args)
		case 3:
			d.Kind = "tool_result"
			d.Payload = fmt.Appendf(nil, `{"results":[{"ok":true,"exit":0,"seconds":%.3f,"files":["a.go","b.go","c.go"],"stdout":%s}]}`,
				rng.Float64(), AppendString(nil, code(1+rng.IntN(40))))
		case 4:
			d.Payload = obj("assistant", strings.Repeat("阶段从锚点开始，到下一个锚点为止。", 1+rng.IntN(20)))
		}
		d.Meta = fmt.Appendf(nil, `{"run_id":"run-%d","usage":{"input_tokens":%d,"output_tokens":%d}}`, i/10, rng.IntN(100000), rng.IntN(2000))
		lines[i] = bytes.TrimSuffix(AppendLine(nil, int64(i+1), d), []byte{'\n'})
	}
	return lines
}

// benchLines measures f on the lines of a sample.
func benchLines(b *testing.B, f func(line []byte)) { benchThese(b, sample(2000), f) }

// benchThese measures f on lines, in bytes per second.
func benchThese(b *testing.B, lines [][]byte, f func(line []byte)) {
	total := 0
	for _, line := range lines {
		total += len(line)
	}
	b.SetBytes(int64(total))
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range lines {
			f(line)
		}
	}
}

func BenchmarkValid(b *testing.B) {
	b.Run("jsonl", func(b *testing.B) { benchLines(b, func(line []byte) { _ = Valid(line) }) })
	b.Run("std", func(b *testing.B) { benchLines(b, func(line []byte) { _ = json.Valid(line) }) })
}

func BenchmarkParse(b *testing.B) {
	b.Run("jsonl", func(b *testing.B) {
		benchLines(b, func(line []byte) {
			if _, err := Parse(line); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("std", func(b *testing.B) {
		benchLines(b, func(line []byte) {
			var e struct {
				ID            int64
				Kind, Date    string
				Payload, Meta json.RawMessage
			}
			if err := json.Unmarshal(line, &e); err != nil {
				b.Fatal(err)
			}
		})
	})
}

func BenchmarkParseID(b *testing.B) {
	benchLines(b, func(line []byte) { _, _ = ParseID(line) })
}

func BenchmarkParseDraft(b *testing.B) {
	var buf []byte
	benchLines(b, func(line []byte) {
		d, err := ParseDraft(line)
		if err != nil {
			b.Fatal(err)
		}
		buf = AppendLine(buf[:0], 1, d)
	})
}

func BenchmarkCompact(b *testing.B) {
	var buf []byte
	b.Run("jsonl", func(b *testing.B) { benchLines(b, func(line []byte) { buf, _ = Compact(buf[:0], line) }) })
	b.Run("std", func(b *testing.B) {
		var w bytes.Buffer
		benchLines(b, func(line []byte) {
			w.Reset()
			_ = json.Compact(&w, line)
		})
	})
}

// BenchmarkCompactSpaced removes the spaces that other programs write, here those of json.Indent.
func BenchmarkCompactSpaced(b *testing.B) {
	var buf []byte
	lines := sample(500)
	for i, line := range lines {
		var w bytes.Buffer
		if err := json.Indent(&w, line, "", " "); err != nil {
			b.Fatal(err)
		}
		lines[i] = bytes.ReplaceAll(w.Bytes(), []byte("\n"), nil)
	}
	benchThese(b, lines, func(line []byte) { buf, _ = Compact(buf[:0], line) })
}

func BenchmarkFields(b *testing.B) {
	b.Run("jsonl", func(b *testing.B) {
		n := 0
		benchLines(b, func(line []byte) {
			for k, v := range Fields(line) {
				n += len(k) + len(v)
			}
		})
	})
	b.Run("std", func(b *testing.B) {
		n := 0
		benchLines(b, func(line []byte) {
			var m map[string]json.RawMessage
			_ = json.Unmarshal(line, &m)
			n += len(m)
		})
	})
}

func BenchmarkGetString(b *testing.B) {
	n := 0
	benchLines(b, func(line []byte) { n += len(GetString(line, "payload", "content")) })
}

func BenchmarkUnescape(b *testing.B) {
	var buf []byte
	benchLines(b, func(line []byte) { buf = Unescape(buf[:0], line) })
}

func BenchmarkAppendString(b *testing.B) {
	var buf []byte
	text := strings.Repeat("Some text of a message, with a \"quote\" and a line's end.\n", 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		buf = AppendString(buf[:0], text)
	}
}

func BenchmarkScanner(b *testing.B) {
	src := bytes.Join(sample(2000), []byte{'\n'})
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		s := NewScanner(bytes.NewReader(src), 0)
		for {
			if _, err := s.Next(); err != nil {
				break
			}
		}
	}
}
