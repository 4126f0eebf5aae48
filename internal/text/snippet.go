package text

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

const ellipsis = "…"

// Snippet returns about width characters of text, in one line, and rel, where the
// spans are in it. A character of Chinese and the like counts as two. It takes the place with the most different matches, of several
// the one with the most matches, then the first; without spans, the beginning. "…"
// marks where text is cut off.
func Snippet(text []byte, spans []Span, width int) (s string, rel []Span) {
	if width < 1 {
		return "", nil
	}
	from := 0
	if len(spans) > 0 {
		from = snippetStart(text, spans, width)
	}
	w := snippetWriter{text: text, spans: spans, width: width}
	for len(w.spans) > 0 && w.spans[0].End <= from {
		w.spans = w.spans[1:]
	}
	if hasText(text[:from]) {
		w.out = append(w.out, ellipsis...)
	}
	w.run(from)
	return string(w.out), w.rel
}

func snippetStart(text []byte, spans []Span, width int) int {
	// Each span begins a window, to which the spans near it belong. Distances are in
	// bytes, which is exact enough.
	best, bestN, bestScore := 0, 0, 0
	kinds := map[string]int{} // in the window
	kind := func(s Span) string { return string(bytes.ToLower(text[s.Start:min(s.End, s.Start+MaxTerm)])) }
	for i, j := 0, 0; i < len(spans); i++ {
		for j < len(spans) && (j == i || spans[j].End-spans[i].Start <= width*2/3) {
			kinds[kind(spans[j])]++
			j++
		}
		if score := len(kinds)*len(spans) + j - i; score > bestScore {
			best, bestN, bestScore = i, j-i, score
		}
		k := kind(spans[i])
		if kinds[k]--; kinds[k] == 0 {
			delete(kinds, k)
		}
	}
	// A third of the remaining width goes before the first span.
	last := spans[min(best+bestN-1, len(spans)-1)]
	used := 0
	for _, r := range string(text[spans[best].Start:max(last.End, spans[best].Start)]) {
		used += columns(r)
	}
	lead := max(width-used, 0) / 3
	start := spans[best].Start
	from := back(text, start, lead)
	if from == 0 {
		return 0
	}
	// Begin at a word, unless there is no space before the span.
	for i := from; i < start; {
		r, n := utf8.DecodeRune(text[i:])
		if r == Sep || unicode.IsSpace(r) {
			return i + n
		}
		i += n
	}
	return from
}

// columns returns how much of a snippet's width a character takes: one of Chinese says as much as two letters, is as wide,
// and costs a model as much as several.
func columns(r rune) int {
	if IsDense(r) {
		return 2
	}
	return 1
}

// back returns the position of the characters before i that take n columns.
func back(text []byte, i, n int) int {
	for n > 0 && i > 0 {
		r, size := utf8.DecodeLastRune(text[:i])
		n -= columns(r)
		i -= size
	}
	return i
}

func hasText(b []byte) bool {
	return bytes.ContainsFunc(b, func(r rune) bool { return !IsSpace(r) && !unicode.IsControl(r) })
}

type snippetWriter struct {
	text  []byte
	spans []Span // the spans that end after the written text
	width int

	out  []byte
	rel  []Span
	in   int  // where the current span begins in out, or -1
	gap  bool // white space was skipped
	word int  // the length of out at the last space, to cut at
}

// run writes from a position on, until the width is full.
func (w *snippetWriter) run(from int) {
	w.in = -1
	begin := len(w.out)
	n := 0
	for i := from; i < len(w.text); {
		r, size := utf8.DecodeRune(w.text[i:])
		w.leave(i)
		switch {
		case IsSpace(r):
			w.gap = len(w.out) > begin
			i += size
			continue
		case unicode.IsControl(r), r == 0xFEFF, unicode.Is(unicode.Bidi_Control, r):
			i += size
			continue
		}
		if n >= w.width {
			w.finish(i, begin)
			return
		}
		if w.gap {
			w.gap = false
			w.word = len(w.out)
			w.out = append(w.out, ' ')
			if n++; n >= w.width {
				w.out = w.out[:w.word]
				w.finish(i, begin)
				return
			}
		}
		if w.in < 0 && len(w.spans) > 0 && i >= w.spans[0].Start {
			w.in = len(w.out)
		}
		w.out = utf8.AppendRune(w.out, r)
		n += columns(r)
		i += size
	}
	w.leave(len(w.text))
}

// leave ends the spans that end at or before i.
func (w *snippetWriter) leave(i int) {
	for len(w.spans) > 0 && w.spans[0].End <= i {
		w.spans = w.spans[1:]
		w.close()
	}
}

func (w *snippetWriter) close() {
	if w.in >= 0 && w.in < len(w.out) {
		w.rel = append(w.rel, Span{w.in, len(w.out)})
	}
	w.in = -1
}

// finish ends the snippet at byte i of the text, or at a space shortly before.
func (w *snippetWriter) finish(i, begin int) {
	w.close()
	inWord := i > 0 && !w.gap && i < len(w.text)
	least := begin + (len(w.out)-begin)*2/3
	if n := len(w.rel); n > 0 {
		least = max(least, w.rel[n-1].End)
	}
	if inWord && w.word > begin && w.word >= least && w.word < len(w.out) {
		w.out = w.out[:w.word]
	}
	if hasText(w.text[i:]) {
		w.out = append(w.out, ellipsis...)
	}
}
