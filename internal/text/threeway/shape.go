package threeway

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strconv"

	"tape/internal/text/jsonl"
)

// errShape is the error for a line that parses, but whose members findShape cannot find. No such
// line is known.
var errShape = errors.New("its members cannot be found")

// removal returns the range of bytes to cut out so that a member is gone and its object
// stays valid. These are exactly the bytes that renumber inserts.
func removal(m jsonl.Member) (fromTo [2]int) {
	if m.Next >= 0 {
		return [2]int{m.KeyAt, m.Next}
	}
	return [2]int{m.Before, m.End}
}

// shape has the places of the members of a line that a merge reads.
type shape struct {
	id          int64
	idAt, idEnd int
	meta, date  jsonl.Member // absent ones have KeyAt -1
	last        int          // end of the last member's value
	metaLast    int          // the same in meta; if meta is empty, after its brace
	metaMembers int
	origin      jsonl.Member // the last one
	origins     int
	ids, metas  int // how many there are
}

// parseShape validates a line and returns its shape.
func parseShape(line []byte) (shape, error) {
	e, err := jsonl.Parse(line)
	if err != nil {
		return shape{}, err
	}
	s, ok := findShape(line)
	if !ok || s.id != e.ID {
		return shape{}, errShape
	}
	return s, nil
}

// findShape returns the shape of a valid line. For other lines, the result means nothing.
func findShape(line []byte) (shape, bool) {
	absent := jsonl.Member{KeyAt: -1}
	s := shape{meta: absent, date: absent, origin: absent}
	ok := jsonl.Members(line, 0, func(key []byte, m jsonl.Member) {
		s.last = m.End
		switch string(key) {
		case "id":
			s.ids++
			s.idAt, s.idEnd = m.ValueAt, m.End
		case "meta":
			s.metas++
			s.meta = m
		case "date":
			s.date = m
		}
	})
	if !ok || s.ids != 1 || s.metas > 1 {
		return shape{}, false
	}
	id, err := strconv.ParseInt(string(line[s.idAt:s.idEnd]), 10, 64)
	if err != nil || id < 1 {
		return shape{}, false
	}
	s.id = id
	if s.meta.KeyAt < 0 {
		return s, true
	}
	if line[s.meta.ValueAt] != '{' {
		return shape{}, false
	}
	s.metaLast = s.meta.ValueAt + 1
	ok = jsonl.Members(line[:s.meta.End], s.meta.ValueAt, func(key []byte, m jsonl.Member) {
		s.metaLast = m.End
		s.metaMembers++
		if string(key) == "origin" {
			s.origins++
			s.origin = m
		}
	})
	return s, ok
}

// mayHaveOrigin reports false only if a line certainly has no origin: it has neither the plain
// key nor an escape that could spell it. That takes a fraction of the time of decoding. The first
// search is for a part with a rare byte.
func mayHaveOrigin(line []byte) bool {
	return bytes.Contains(line, []byte(`gin"`)) && bytes.Contains(line, []byte(`"origin"`)) ||
		bytes.Contains(line, []byte(`\u`)) && bytes.Contains(line, []byte(`\u00`))
}

// identity is the entry's origin, or else its place on its own side.
func (s *shape) identity(line []byte, side Origin) identity {
	if s.origins == 0 {
		return identity{origin: side, id: s.id}
	}
	if o, id, ok := s.readOrigin(line); ok {
		return identity{origin: o, id: id}
	}
	return identity{opaque: true}
}

// readOrigin decodes an origin in the form that renumber writes, in any spelling. It
// reports false for anything else that people keep under this name.
func (s *shape) readOrigin(line []byte) (o Origin, id int64, ok bool) {
	if s.origins == 0 || line[s.origin.ValueAt] != '{' {
		return Origin{}, 0, false
	}
	raw := line[s.origin.ValueAt:s.origin.End]
	var tapes, forks, ids int
	for k, v := range jsonl.Fields(raw) {
		text, isText := jsonl.String(v)
		switch {
		case k == "tape" && isText:
			o.Tape = text
			tapes++
		case k == "fork" && isText:
			o.Fork = text
			forks++
		case k == "id":
			id = plainID(v)
			ids++
		default:
			return Origin{}, 0, false
		}
	}
	return o, id, tapes == 1 && forks <= 1 && ids == 1 && id > 0
}

// plainID decodes an id; 0 stands for anything else.
func plainID(raw []byte) int64 {
	id, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || id < 1 || raw[0] == '+' {
		return 0
	}
	return id
}

// content returns the checksum of the line without its id, and without the origin if the
// origin identifies the entry. A missing meta counts as an empty one.
func (s *shape) content(line []byte) content {
	cuts := [][2]int{{s.idAt, s.idEnd}}
	members := s.metaMembers
	if _, _, ok := s.readOrigin(line); ok {
		members--
		cuts = append(cuts, removal(s.origin))
	}
	if s.meta.KeyAt >= 0 && members == 0 {
		cuts = append(cuts[:1], removal(s.meta))
	}
	if len(cuts) == 2 && cuts[1][0] < cuts[0][0] {
		cuts[0], cuts[1] = cuts[1], cuts[0]
	}
	h := sha256.New()
	at := 0
	for _, c := range cuts {
		h.Write(line[at:c[0]])
		at = c[1]
	}
	h.Write(line[at:])
	var sum content
	h.Sum(sum[:0])
	return sum
}
