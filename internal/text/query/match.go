package query

import (
	"bytes"
	"slices"

	"tape/internal/text"
)

// Match says where and how often a text matches a query.
type Match struct {
	Spans   []text.Span // sorted, without overlaps
	Terms   []TermCount // one for each word or phrase that was found
	Literal bool        // the text has the query as it was typed
}

// TermCount says how often a word or phrase occurs. Term is the folded text, with * after a prefix.
// For a word that is a single term of an index, Term is that term.
type TermCount struct {
	Term string
	N    int
}

type matcher struct {
	f     text.Folder
	run   text.Span   // the current run
	parts []text.Span // of that run, as offsets in the folded text
}

// Match reports whether text satisfies the query, and where.
func (q *Query) Match(body []byte) (Match, bool) {
	if q.Empty() {
		return Match{}, true
	}
	m, _ := q.matchers.Get().(*matcher)
	if m == nil {
		m = new(matcher)
	}
	defer q.matchers.Put(m)
	return m.match(q, body)
}

// match is Match for a query that is not empty.
func (m *matcher) match(q *Query, body []byte) (Match, bool) {
	m.f.FoldAll(body)
	m.run, m.parts = text.Span{}, m.parts[:0]
	if q.asked == nil && !slices.ContainsFunc(q.groups, m.all) {
		return Match{}, false
	}
	var res Match
	if q.asked != nil {
		m.collectTerms(q, &res)
	}
	for _, units := range q.groups {
		for i := range units {
			if _, done := q.terms[units[i].id]; !units[i].not && !done {
				m.collect(&units[i], &res)
			}
		}
	}
	if len(res.Terms) == 0 && q.asked != nil {
		return Match{}, false
	}
	res.Spans = mergeSpans(res.Spans)
	lit := unit{pieces: q.literal}
	if len(lit.pieces) > 0 {
		_, _, res.Literal = m.find(&lit, 0)
	}
	return res, true
}

// all reports whether the text has all units and none of the negated ones.
func (m *matcher) all(units []unit) bool {
	for i := range units {
		if _, _, ok := m.find(&units[i], 0); ok == units[i].not {
			return false
		}
	}
	return true
}

func (m *matcher) collect(u *unit, res *Match) {
	if slices.ContainsFunc(res.Terms, func(t TermCount) bool { return t.Term == u.id }) {
		return
	}
	n := 0
	for from := 0; ; n++ {
		start, end, ok := m.find(u, from)
		if !ok {
			break
		}
		res.Spans = append(res.Spans, text.Span{Start: m.f.Start(start), End: m.f.End(end)})
		from = end
	}
	if n > 0 {
		res.Terms = append(res.Terms, TermCount{u.id, n})
	}
}

// collectTerms collects the words of a query of any words that are single terms, all in one pass.
func (m *matcher) collectTerms(q *Query, res *Match) {
	buf, attrs := m.f.Buf, m.f.Attr
	at := make([]int, len(q.terms)) // of each word in res.Terms, counted from 1
	word := func(start, end int) {
		if q.lengths[buf[start]]&lengthBit(end-start) == 0 {
			return
		}
		n, ok := q.terms[string(buf[start:end])]
		if !ok {
			return
		}
		if at[n] == 0 {
			res.Terms = append(res.Terms, TermCount{Term: string(buf[start:end])})
			at[n] = len(res.Terms)
		}
		res.Terms[at[n]-1].N++
		res.Spans = append(res.Spans, text.Span{Start: m.f.Start(start), End: m.f.End(end)})
	}
	for i := 0; i < len(attrs); {
		start := i
		if i++; !attrs[start].InWord() {
			continue
		}
		mixed := false
		for ; i < len(attrs) && text.SameRun(attrs[i-1], attrs[i]); i++ {
			mixed = mixed || attrs[i] != attrs[i-1] && (i-1 > start || attrs[start].Class() != text.Upper || attrs[i].Class() != text.Lower)
		}
		word(start, i)
		if mixed { // and not just a capital at the beginning
			m.parts = text.SplitRun(attrs[start:i], m.parts)
			for _, p := range m.parts {
				word(start+p.Start, start+p.End)
			}
		}
	}
	m.run, m.parts = text.Span{}, m.parts[:0]
}

func mergeSpans(spans []text.Span) []text.Span {
	slices.SortFunc(spans, func(a, b text.Span) int { return a.Start - b.Start })
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

// find returns the first place of a unit at or after from, as offsets in the folded text.
func (m *matcher) find(u *unit, from int) (start, end int, ok bool) {
	buf := m.f.Buf
	first := u.pieces[0].lit
	for from < len(buf) {
		i := bytes.Index(buf[from:], first)
		if i < 0 {
			break
		}
		start = from + i
		if end, ok = m.unitAt(u, start); ok {
			return start, m.wordEnd(u, end), true
		}
		from = start + 1
	}
	return 0, 0, false
}

// unitAt reports whether the whole unit is at i, where its first piece was found. It returns where
// the unit ends.
func (m *matcher) unitAt(u *unit, i int) (end int, ok bool) {
	buf := m.f.Buf
	for k := range u.pieces {
		p := &u.pieces[k]
		if k > 0 {
			gap := i
			for i < len(buf) && m.f.Attr[i].Class() == text.Space {
				i++
			}
			if i == gap || !bytes.HasPrefix(buf[i:], p.lit) {
				return 0, false
			}
		}
		for j := range p.runs {
			r := &p.runs[j]
			prefix := u.prefix && k == len(u.pieces)-1 && j == len(p.runs)-1
			if !m.hasRun(r.class, i+r.Start, i+r.End, prefix) {
				return 0, false
			}
		}
		i += len(p.lit)
	}
	return i, true
}

// wordEnd moves the end of a prefix to the end of its word.
func (m *matcher) wordEnd(u *unit, end int) int {
	if !u.prefix {
		return end
	}
	for _, p := range m.parts {
		if p.Start < end && end <= p.End {
			return p.End
		}
	}
	return m.run.End
}

// hasRun reports whether the bytes from start to end, which equal a run of the
// query, have the same terms.
func (m *matcher) hasRun(class text.Attr, start, end int, prefix bool) bool {
	attrs := m.f.Attr
	switch class {
	case text.Symbol:
		return attrs[start].Class() == text.Symbol
	case text.Dense:
		for i := start; i < end; i++ {
			if attrs[i].Class() != text.Dense || i > start && attrs[i].IsCut() {
				return false
			}
		}
		return true
	}
	if !attrs[start].InWord() {
		return false
	}
	if start < m.run.Start || start >= m.run.End {
		m.setRun(start)
	}
	if end > m.run.End {
		return false
	}
	if start == m.run.Start && (prefix || end == m.run.End) {
		return true
	}
	return slices.ContainsFunc(m.parts, func(p text.Span) bool { return p.Start == start && (p.End == end || prefix && end < p.End) })
}

// setRun makes the run around i the current one.
func (m *matcher) setRun(i int) {
	attrs := m.f.Attr
	start, end := i, i+1
	for start > 0 && text.SameRun(attrs[start-1], attrs[start]) {
		start--
	}
	for end < len(attrs) && text.SameRun(attrs[end-1], attrs[end]) {
		end++
	}
	m.run = text.Span{Start: start, End: end}
	m.parts = text.SplitRun(attrs[start:end], m.parts)
	for i := range m.parts {
		m.parts[i].Start += start
		m.parts[i].End += start
	}
}
