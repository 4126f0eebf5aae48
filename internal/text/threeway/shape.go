package threeway

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strconv"

	"tape/internal/text/jsonl"
)

// errShape is for a line whose members cannot be told although it parses: there is none.
var errShape = errors.New("its members cannot be told")

// cut returns the bytes that go with a member taken out of its object, which stays an
// object: exactly what renumber inserts.
func cut(m jsonl.Member) (fromTo [2]int) {
	if m.Next >= 0 {
		return [2]int{m.KeyAt, m.Next}
	}
	return [2]int{m.Before, m.End}
}

// shape is where the parts of a line stand that a merge looks at.
type shape struct {
	id          int64
	idAt, idEnd int
	meta, date  jsonl.Member // absent ones have KeyAt -1
	last        int          // end of the last member's value
	metaLast    int          // the same in meta; behind its brace when it is empty
	metaMembers int
	origin      jsonl.Member // the last one
	origins     int
	ids, metas  int // how often the members are there
}

// parseShape validates a line and tells its shape.
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

// findShape tells the shape of a valid line; of any other, nonsense or false.
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

// mayHaveOrigin reports false when a line surely has no origin, which takes a
// fraction of the time that decoding it would: the key would have to be spelled
// out, or with escapes. What begins with a rare byte is looked for first.
func mayHaveOrigin(line []byte) bool {
	return bytes.Contains(line, []byte(`gin"`)) && bytes.Contains(line, []byte(`"origin"`)) ||
		bytes.Contains(line, []byte(`\u`)) && bytes.Contains(line, []byte(`\u00`))
}

// identity is the entry's origin, or else its place on the side that it is on.
func (s *shape) identity(line []byte, side Origin) identity {
	if s.origins == 0 {
		return identity{origin: side, id: s.id}
	}
	if o, id, ok := s.readOrigin(line); ok {
		return identity{origin: o, id: id}
	}
	return identity{opaque: true}
}

// readOrigin decodes an origin that renumber has written, spelling aside. Anything else
// that people keep under this name is theirs: then it reports false.
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

// content returns the checksum of the line without its id, and without an origin
// that says who it is. No meta is as good as an empty one.
func (s *shape) content(line []byte) content {
	cuts := [][2]int{{s.idAt, s.idEnd}}
	members := s.metaMembers
	if _, _, ok := s.readOrigin(line); ok {
		members--
		cuts = append(cuts, cut(s.origin))
	}
	if s.meta.KeyAt >= 0 && members == 0 {
		cuts = append(cuts[:1], cut(s.meta))
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
