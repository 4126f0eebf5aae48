package text

import (
	"bytes"
	"slices"
)

// Match says where and how often a text has what was looked for.
type Match struct {
	Spans   []Span      // sorted, none overlaps another
	Terms   []TermCount // of every word or phrase that was found
	Literal bool        // the text has the query as it was typed
}

// Span is a range of bytes.
type Span struct{ Start, End int }

// TermCount says how often one word or phrase of a query occurs. Term is its
// term in an index where it is one.
type TermCount struct {
	Term string
	N    int
}

// matcher looks for units in one folded text.
type matcher struct {
	screen screen

	f     folder
	run   span   // the run that parts belong to
	parts []span // from the beginning of the text
}

// Match reports whether text satisfies the whole query, and what of it is
// there.
func (q *Query) Match(text []byte) (Match, bool) {
	if q.Empty() {
		return Match{}, true
	}
	m, _ := q.matchers.Get().(*matcher)
	if m == nil {
		m = new(matcher)
	}
	defer q.matchers.Put(m)
	if m.screen.cannot(q, text) {
		return Match{}, false
	}
	return m.match(q, text)
}

// match is Match for a query that is not empty.
func (m *matcher) match(q *Query, text []byte) (Match, bool) {
	m.f.foldAll(text)
	m.run, m.parts = span{}, m.parts[:0]
	any := false
	for _, units := range q.groups {
		if m.all(units) {
			any = true
			break
		}
	}
	if !any {
		return Match{}, false
	}
	var res Match
	for _, units := range q.groups {
		for i := range units {
			if !units[i].not {
				m.collect(&units[i], &res)
			}
		}
	}
	res.Spans = mergeSpans(res.Spans)
	lit := unit{pieces: q.literal}
	if len(lit.pieces) > 0 {
		_, _, res.Literal = m.find(&lit, 0)
	}
	return res, true
}

// all reports whether the text has all units, and none that is negated.
func (m *matcher) all(units []unit) bool {
	for i := range units {
		if _, _, ok := m.find(&units[i], 0); ok == units[i].not {
			return false
		}
	}
	return true
}

// collect adds every place of a unit to res.
func (m *matcher) collect(u *unit, res *Match) {
	for _, t := range res.Terms {
		if t.Term == u.id {
			return
		}
	}
	n := 0
	for from := 0; ; n++ {
		start, end, ok := m.find(u, from)
		if !ok {
			break
		}
		res.Spans = append(res.Spans, Span{m.f.start(start), m.f.end(end)})
		from = end
	}
	if n > 0 {
		res.Terms = append(res.Terms, TermCount{u.id, n})
	}
}

// mergeSpans sorts spans and joins those that overlap.
func mergeSpans(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.Start < out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

// find returns the first place of a unit at or behind from, in folded bytes.
func (m *matcher) find(u *unit, from int) (start, end int, ok bool) {
	buf := m.f.buf
	first := u.pieces[0].lit
	for from < len(buf) {
		i := bytes.Index(buf[from:], first)
		if i < 0 {
			break
		}
		start = from + i
		if end, ok = m.at(u, start); ok {
			return start, m.wholeToken(u, end), true
		}
		from = start + 1
	}
	return 0, 0, false
}

// at reports whether the unit, whose first piece stands at i, is there as a
// whole, and where it ends.
func (m *matcher) at(u *unit, i int) (end int, ok bool) {
	buf := m.f.buf
	for k := range u.pieces {
		p := &u.pieces[k]
		if k > 0 {
			gap := i
			for i < len(buf) && m.f.attr[i]&classMask == space {
				i++
			}
			if i == gap || !bytes.HasPrefix(buf[i:], p.lit) {
				return 0, false
			}
		}
		for j := range p.runs {
			r := &p.runs[j]
			prefix := u.prefix && k == len(u.pieces)-1 && j == len(p.runs)-1
			if !m.hasRun(r.class, i+r.start, i+r.end, prefix) {
				return 0, false
			}
		}
		i += len(p.lit)
	}
	return i, true
}

// wholeToken moves the end of a prefix to the end of the word it begins.
func (m *matcher) wholeToken(u *unit, end int) int {
	if !u.prefix {
		return end
	}
	for _, p := range m.parts {
		if p.start < end && end <= p.end {
			return p.end
		}
	}
	return m.run.end
}

// hasRun reports whether the bytes from start to end, which are known to be
// equal to a run of the query, give the same terms.
func (m *matcher) hasRun(class attr, start, end int, prefix bool) bool {
	attrs := m.f.attr
	switch class {
	case symbol:
		return attrs[start]&classMask == symbol
	case dense:
		for i := start; i < end; i++ {
			if attrs[i]&classMask != dense || i > start && attrs[i]&cut != 0 {
				return false
			}
		}
		return true
	}
	if !inWord(attrs[start]) {
		return false
	}
	if start < m.run.start || start >= m.run.end {
		m.enter(start)
	}
	if end > m.run.end {
		return false
	}
	if start == m.run.start && (prefix || end == m.run.end) {
		return true
	}
	for _, p := range m.parts {
		if p.start == start && (p.end == end || prefix && end < p.end) {
			return true
		}
	}
	return false
}

// enter makes the run around i the current one.
func (m *matcher) enter(i int) {
	attrs := m.f.attr
	start, end := i, i+1
	for start > 0 && sameRun(attrs[start-1], attrs[start]) {
		start--
	}
	for end < len(attrs) && sameRun(attrs[end-1], attrs[end]) {
		end++
	}
	m.run = span{start, end}
	m.parts = splitRun(attrs[start:end], m.parts)
	for i := range m.parts {
		m.parts[i].start += start
		m.parts[i].end += start
	}
}
