package telegram

import "strings"

// format converts a piece of Markdown to Telegram's text and entities, for blocks of code, inline
// code and bold. Everything else stays as it was written. Telegram's own markup languages are not
// used: in them, a stray character makes Telegram refuse the text.
func (p *piece) format() (string, []entity) {
	w := &formatter{}
	open, mid := p.open, p.mid
	for line := range strings.SplitAfterSeq(p.text, "\n") {
		bare := strings.TrimSuffix(line, "\n")
		next := open
		if !mid {
			next = open.next(bare)
		}
		mid = false
		switch {
		case open != next && open.mark == "":
			w.block = w.n
		case open != next:
			w.end(open)
		case open.mark != "":
			w.put(line)
		default:
			w.line(line)
		}
		open = next
	}
	w.end(open)
	return w.text.String(), w.entities
}

type formatter struct {
	text     strings.Builder
	n        int // UTF-16 units of text
	block    int // where the current block of code begins
	entities []entity
}

// put adds a text without an entity.
func (w *formatter) put(s string) {
	w.text.WriteString(s)
	w.n += units(s)
}

// mark adds a text with an entity.
func (w *formatter) mark(kind, s string) {
	w.entities = append(w.entities, entity{Type: kind, Offset: w.n, Length: units(s)})
	w.put(s)
}

// end adds the entity of the block f, which ends here; none if the block is empty or f means no block.
func (w *formatter) end(f fence) {
	if f.mark != "" && w.n > w.block {
		language, _, _ := strings.Cut(f.info, " ")
		w.entities = append(w.entities, entity{Type: "pre", Offset: w.block, Length: w.n - w.block, Language: language})
	}
}

// line adds a line outside of code blocks, with entities for inline code and bold.
func (w *formatter) line(s string) {
	for s != "" {
		at := strings.IndexAny(s, "`*")
		if at < 0 {
			break
		}
		w.put(s[:at])
		s = s[at:]
		run := len(s) - len(strings.TrimLeft(s, s[:1]))
		mark := s[:run]
		inner, rest, ok := strings.Cut(s[run:], mark)
		ok = ok && strings.TrimSpace(inner) != "" && !strings.HasPrefix(rest, mark[:1])
		switch {
		case ok && mark[0] == '`':
			w.mark("code", inner)
			s = rest
		case ok && mark == "**" && strings.TrimSpace(inner) == inner:
			w.mark("bold", inner)
			s = rest
		default:
			w.put(mark)
			s = s[run:]
		}
	}
	w.put(s)
}
