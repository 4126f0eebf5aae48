package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"
)

// vocabulary is how many words there are. The n-th is used about a share of 1/n, as in any language.
const vocabulary = 150_000

// word spells the n-th one. The frequent ones are short.
func word(n int) string {
	const onsets, vowels = "bdfgklmnprstvwz", "aeiou"
	var b strings.Builder
	for n += 15; n > 0; n /= 75 {
		b.WriteByte(onsets[n%75/5])
		b.WriteByte(vowels[n%5])
	}
	return b.String()
}

// writer makes the entries: the same each time.
type writer struct {
	rng  *rand.Rand
	zipf *rand.Zipf
	at   time.Time
}

func newWriter() *writer {
	rng := rand.New(rand.NewPCG(7, 7))
	return &writer{rng, rand.NewZipf(rng, 1.05, 2.7, vocabulary-1), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// text has 200 to 600 bytes.
func (w *writer) text() string {
	b := make([]byte, 0, 640)
	for least := 201 + w.rng.IntN(390); len(b) < least; b = append(b, ' ') {
		b = append(b, word(int(w.zipf.Uint64()))...)
	}
	return string(b[:len(b)-1])
}

type entry struct {
	kind, payload, date, text string
}

func (w *writer) entry() entry {
	w.at = w.at.Add(time.Duration(w.rng.IntN(20)) * time.Second)
	e := entry{kind: "message", text: w.text(), date: w.at.Format("2006-01-02T15:04:05.000000+00:00")}
	switch w.rng.IntN(4) {
	case 0:
		e.payload = fmt.Sprintf(`{"role":"user","content":%q}`, e.text)
	case 1:
		e.payload, e.kind = fmt.Sprintf(`{"results":[%q]}`, e.text), "tool_result"
	default:
		e.payload = fmt.Sprintf(`{"role":"assistant","content":%q}`, e.text)
	}
	return e
}

func (e entry) json() string {
	return fmt.Sprintf(`{"kind":%q,"payload":%s,"date":%q}`, e.kind, e.payload, e.date)
}

// lines streams n entries in the form that line gives them.
func (w *writer) lines(n int, line func(e entry) string) io.Reader {
	r, to := io.Pipe()
	go func() {
		b := bufio.NewWriterSize(to, 1<<20)
		for range n {
			if _, err := b.WriteString(line(w.entry()) + "\n"); err != nil {
				return // who reads tells why it has gone
			}
		}
		to.CloseWithError(b.Flush())
	}()
	return r
}

// common are words that stand in a few of a hundred entries, rare ones in about one of 30,000.
func common() []string { return some(30, 40, 5) }
func rare() []string   { return some(100_000, 40, 991) }

func some(from, n, step int) (out []string) {
	for i := range n {
		out = append(out, word(from+i*step))
	}
	return out
}
