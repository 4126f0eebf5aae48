package secrets

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/text/jsonl"
)

// sample returns n lines like those of a session: messages, code with many escapes, arguments
// that are JSON in a string, results, and words for secrets.
func sample(n int) [][]byte {
	rng := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields("the store opens its branch and reads every phase before an anchor is written so that nothing is lost when the token ends " +
		"which key of the map is it and how does authentication pass the request on to what reads its password from the environment")
	prose := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[rng.IntN(len(words))] + " ")
		}
		return b.String()
	}
	code := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "\tif err := s.step%d(\"%s\", opts.%s); err != nil {\n\t\treturn nil, fmt.Errorf(\"step: %%w\", err)\n\t}\n", i, words[rng.IntN(len(words))], words[rng.IntN(len(words))])
		}
		return b.String()
	}
	lines := make([][]byte, n)
	for i := range lines {
		text := func(role, s string) string {
			return fmt.Sprintf(`{"role":%q,"content":%s}`, role, jsonl.AppendString(nil, s))
		}
		var kind, payload string
		switch rng.IntN(4) {
		case 0:
			kind, payload = "message", text("user", prose(5+rng.IntN(60)))
		case 1:
			kind, payload = "message", text("assistant", prose(20+rng.IntN(200)))
		case 2:
			args := jsonl.AppendString(nil, text("edit", code(1+rng.IntN(20))))
			kind, payload = "tool_call", fmt.Sprintf(`{"calls":[{"id":"call_%d","type":"function","function":{"name":"write","arguments":%s}}]}`, i, args)
		case 3:
			kind, payload = "tool_result", fmt.Sprintf(`{"results":[{"ok":true,"stdout":%s}]}`, jsonl.AppendString(nil, code(1+rng.IntN(60))))
		}
		lines[i] = fmt.Appendf(nil, `{"id":%d,"kind":%q,"payload":%s,"meta":{"usage":{"input_tokens":%d}},"date":"2026-11-20T09:30:00.123456+00:00"}`,
			i+1, kind, payload, rng.IntN(100000))
	}
	return lines
}

func benchmark(b *testing.B, lines [][]byte) {
	s := New()
	total := 0
	for _, line := range lines {
		total += len(line)
	}
	b.SetBytes(int64(total))
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range lines {
			if _, err := s.Line(line); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkLine(b *testing.B) { benchmark(b, sample(2000)) }

// BenchmarkFiles scans the entry files below the folder that TAPE_SCAN names.
func BenchmarkFiles(b *testing.B) {
	dir := os.Getenv("TAPE_SCAN")
	if dir == "" {
		b.Skip("TAPE_SCAN names no folder of entry files")
	}
	var lines [][]byte
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		raw, err := os.ReadFile(path)
		for line := range bytes.Lines(raw) {
			lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	benchmark(b, lines)
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New()
	}
}
