package threeway

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A fork of ten entries is merged into a tape of a million, half of which are after the
// base. The lines of the fork share the memory of the tape's, or are copies.
func BenchmarkMergeSmallFork(b *testing.B) {
	const n = 1 << 20
	text := strings.Repeat("what was said, \\\"quoted\\\"\\n", 12)
	tape := make([][]byte, n)
	size := 0
	for i := range tape {
		tape[i] = fmt.Appendf(nil, `{"id":%d,"kind":"message","payload":{"role":"user","content":"%s"},"meta":{"run_id":"r"},"date":"2026-11-20T09:30:00.123456+00:00"}`, i+1, text)
		size += len(tape[i])
	}
	fork := slices.Clone(tape[:n/2])
	for i := range 10 {
		fork = append(fork, []byte(event(n/2+i+1, i)))
	}
	for name, theirs := range map[string][][]byte{"shared": fork, "copied": copies(fork)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				r, err := Merge(Input{Ours: tape, Theirs: theirs, OursOrigin: tapeMain, TheirsOrigin: forkX})
				if err != nil || len(r) != 10 {
					b.Fatal(len(r), err)
				}
			}
		})
	}
}

// A hundred thousand entries are merged at once, and then again.
func BenchmarkMergeMany(b *testing.B) {
	const n = 100_000
	in := Input{OursOrigin: tapeMain, TheirsOrigin: forkX}
	size := 0
	for i := range n {
		line := []byte(event(i+1, i))
		size += len(line)
		in.Theirs = append(in.Theirs, line)
	}
	in.Ours = [][]byte{[]byte(event(1, -1))}
	r, err := Merge(in)
	if err != nil {
		b.Fatal(err)
	}
	again := in
	again.Ours = slices.Concat(in.Ours, r)
	for name, in := range map[string]Input{"first": in, "again": again} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Merge(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func copies(lines [][]byte) [][]byte {
	all := make([][]byte, len(lines))
	for i, line := range lines {
		all[i] = slices.Clone(line)
	}
	return all
}
