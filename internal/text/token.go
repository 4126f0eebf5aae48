package text

import "unicode/utf8"

const (
	// MaxTerm is the length of the longest term, in bytes.
	MaxTerm = 64
	// A run with more parts than these is not split; maxMixedParts applies if some parts
	// are digits. Hashes and base64 have more, and nobody searches for their parts.
	maxParts      = 8
	maxMixedParts = 4
)

// Span is a range of bytes.
type Span struct{ Start, End int }

// Tokenizer splits text into terms. Indexing and matching use the same one, so
// a term that is found in the index is found in the text.
type Tokenizer struct {
	Term       []byte // folded; valid until the next call
	Start, End int    // where it is in the text

	f     Folder
	head  int // start of the unused part of f.Buf
	dense int // where in f.Buf the run of a dense script ends; 0 outside one

	low   []byte // the folded form of a run of ASCII
	attrs []Attr

	run    []byte // the folded run whose parts are returned
	base   int    // where the run begins: in the text, or in f.Buf if folded is set
	folded bool   // the run is in f.Buf
	parts  []Span // ranges of run
	part   int    // index of the next part to return
}

// Reset starts over with another text, which must not change while it is read.
func (z *Tokenizer) Reset(text []byte) {
	z.f.reset(text)
	z.head, z.dense, z.part = 0, 0, 0
	z.parts = z.parts[:0]
}

// Next moves to the next term and reports false when there is none. A run of
// letters and digits is a term; after it come its parts, if it has any. So is a
// symbol. In a dense script, each two neighbours are one, and so is the last
// character.
func (z *Tokenizer) Next() bool {
	if z.part < len(z.parts) {
		z.givePart()
		return true
	}
	for {
		if z.dense > 0 || z.head < len(z.f.Buf) {
			if z.nextFolded() {
				return true
			}
		}
		text, i := z.f.text, z.f.pos
		from := i
		for i < len(text) && asciiAttr[text[i]] < Lower && text[i] < utf8.RuneSelf {
			i++
		}
		if i == len(text) {
			z.f.pos = i
			return false
		}
		if text[i] >= utf8.RuneSelf {
			if i > from && isASCIISymbol(text[i-1]) {
				i--
			}
		} else if end, ok := z.ascii(text, i); ok {
			z.f.pos = end
			return true
		}
		z.f.pos = i
		z.f.drop()
		z.head = 0
		z.f.step()
	}
}

// ascii sets the term to the run of ASCII that begins at i, and returns its end. It
// reports false when a character outside ASCII follows, which may belong to the run.
func (z *Tokenizer) ascii(text []byte, i int) (end int, ok bool) {
	j := i
	var seen, capitals uint
	for j < len(text) {
		a := asciiAttr[text[j]]
		if a < Lower {
			break
		}
		seen |= 1 << a
		if a == Upper {
			capitals++
		}
		j++
	}
	if j < len(text) && text[j] >= utf8.RuneSelf {
		return 0, false
	}
	z.Start, z.End = i, j
	run := text[i:j]
	if seen&(1<<Upper) == 0 && seen != 1<<Lower|1<<Digit {
		z.Term = CutTerm(run)
		return j, true
	}
	z.low = append(z.low[:0], run...)
	for k, c := range z.low {
		if asciiAttr[c] == Upper {
			z.low[k] = c | 0x20
		}
	}
	z.Term = CutTerm(z.low)
	if seen == 1<<Upper || seen == 1<<Upper|1<<Lower && capitals == 1 && asciiAttr[run[0]] == Upper {
		return j, true
	}
	z.attrs = z.attrs[:0]
	for _, c := range run {
		z.attrs = append(z.attrs, asciiAttr[c])
	}
	z.run, z.base, z.folded = z.low, i, false
	z.parts, z.part = SplitRun(z.attrs, z.parts), 0
	return j, true
}

// nextFolded sets the term to the next one of the folded text, and folds more text
// until the term's run ends. It reports false when nothing is left in the buffer.
func (z *Tokenizer) nextFolded() bool {
	f := &z.f
	for z.dense == 0 {
		if z.head == len(f.Buf) {
			return false
		}
		a := f.Attr[z.head]
		if a.Class() == Symbol {
			_, n := utf8.DecodeRune(f.Buf[z.head:])
			z.give(z.head, z.head+n)
			z.head += n
			return true
		}
		if a.InRun() {
			end := z.runEnd()
			if a.Class() == Dense {
				z.dense = end
				break
			}
			z.give(z.head, end)
			z.run, z.base, z.folded = f.Buf[z.head:end], z.head, true
			z.parts, z.part = SplitRun(f.Attr[z.head:end], z.parts), 0
			z.head = end
			return true
		}
		z.head++
	}
	_, n := utf8.DecodeRune(f.Buf[z.head:])
	end := z.head + n
	if end < z.dense {
		_, m := utf8.DecodeRune(f.Buf[end:])
		z.give(z.head, end+m)
	} else {
		z.give(z.head, end)
		z.dense = 0
	}
	z.head = end
	return true
}

// runEnd folds up to the end of the run that begins at head, and returns where the run
// ends.
func (z *Tokenizer) runEnd() int {
	f := &z.f
	i := z.head + 1
	for {
		for i < len(f.Buf) {
			if !SameRun(f.Attr[i-1], f.Attr[i]) {
				return i
			}
			i++
		}
		if f.pos == len(f.text) {
			return i
		}
		f.step()
	}
}

// give sets the term to a range of the folded text.
func (z *Tokenizer) give(start, end int) {
	z.Term = CutTerm(z.f.Buf[start:end])
	z.Start, z.End = z.f.Start(start), z.f.End(end)
}

func (z *Tokenizer) givePart() {
	p := z.parts[z.part]
	z.part++
	if z.folded {
		z.give(z.base+p.Start, z.base+p.End)
		return
	}
	z.Term = CutTerm(z.run[p.Start:p.End])
	z.Start, z.End = z.base+p.Start, z.base+p.End
}

// CutTerm shortens a run to MaxTerm bytes at most, by whole characters.
func CutTerm(run []byte) []byte {
	if len(run) <= MaxTerm {
		return run
	}
	n := MaxTerm
	for n > 0 && !utf8.RuneStart(run[n]) {
		n--
	}
	return run[:n]
}

// SplitRun returns the parts of a run: the words and numbers of an identifier such as
// parseHTTP2. Other runs have none. It reuses the memory of parts.
func SplitRun(attrs []Attr, parts []Span) []Span {
	parts = parts[:0]
	start, before, prev := 0, 0, attrs[0].Class()
	digits := prev == Digit
	for i := 1; i < len(attrs); i++ {
		if attrs[i]&joined != 0 {
			continue
		}
		c := attrs[i] & classMask
		border := 0
		switch {
		case (prev == Digit) != (c == Digit), prev == Lower && c == Upper:
			border = i
			digits = digits || c == Digit
		case prev == Upper && c == Lower && before > start:
			border = before
		}
		if border > 0 {
			parts = append(parts, Span{start, border})
			if len(parts) == maxParts {
				return parts[:0]
			}
			start = border
		}
		prev, before = c, i
	}
	if len(parts) == 0 || digits && len(parts) >= maxMixedParts {
		return parts[:0]
	}
	parts = append(parts, Span{start, len(attrs)})
	if digits {
		parts = appendWords(attrs, parts)
	}
	return parts
}

// appendWords adds each word between digits that was split into several parts: KiB of
// 512KiB.
func appendWords(attrs []Attr, parts []Span) []Span {
	for i, n := 0, len(parts); i < n; i++ {
		first := i
		for i < n && attrs[parts[i].Start].Class() != Digit {
			i++
		}
		if i-first > 1 {
			parts = append(parts, Span{parts[first].Start, parts[i-1].End})
		}
	}
	return parts
}
