package claudecode_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/claudecode"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
	"tape/internal/testkit"
	"tape/internal/text/jsonl"
)

// large makes a transcript of about that many bytes, with lines as long as
// those of real sessions.
func large(size int) []byte {
	var b bytes.Buffer
	filler := strings.Repeat("func main() {\\n\\tfmt.Println(\\\"hello, 世界\\\")\\n}\\n", 60)
	for seed := uint64(0); b.Len() < size; seed++ {
		for _, l := range formattest.Claude(seed, 40) {
			l = strings.ReplaceAll(l, "out of ", filler+"out of ")
			l = strings.ReplaceAll(l, "think ", filler[:1200]+"think ")
			for _, kind := range []string{"u-", "a-", "r-", "p-", "c-", "d-", "in-", "msg-", "toolu-"} {
				l = strings.ReplaceAll(l, `"`+kind, fmt.Sprintf(`"%x-%s`, seed, kind))
			}
			b.WriteString(l)
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

func BenchmarkClaude(b *testing.B) {
	data := large(32 << 20)
	bench(b, data)
}

func BenchmarkClaudeReal(b *testing.B) {
	var all []byte
	for _, f := range formattest.Fixture(b, "claude-code") {
		all = append(all, f...)
		all = append(all, '\n')
	}
	bench(b, all)
}

func bench(b *testing.B, data []byte) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		stats, err := importer.Read(context.Background(), &claudecode.Format, formattest.Source("x", data), formattest.Seen{}.Has, func(it record.Item) error {
			n += len(it.Entry.Payload)
			return nil
		})
		if err != nil || stats.Damaged > 1 {
			b.Fatal(stats, err)
		}
	}
}

// TestMemory: the memory of a read does not grow with the length of the lines.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	data := large(testkit.Size(12, 40) << 20)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak, n := uint64(0), 0
	_, err := importer.Read(context.Background(), &claudecode.Format, formattest.Source("x", data), formattest.Seen{}.Has, func(record.Item) error {
		if n++; n%1000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	held := int64(peak) - int64(before.HeapAlloc)
	t.Logf("%d MB read, %d items, %d KB held", len(data)>>20, n, held>>10)
	if held > 8<<20 {
		t.Errorf("%d MB held, want at most 8", held>>20)
	}
}

// BenchmarkValid is the yardstick: one validating pass over the same bytes.
func BenchmarkValid(b *testing.B) {
	data := large(32 << 20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		for line := range bytes.Lines(data) {
			if err := jsonl.Valid(line); err != nil {
				b.Fatal(err)
			}
		}
	}
}
