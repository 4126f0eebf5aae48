package threeway

import (
	"strconv"

	"tape/internal/text/jsonl"
)

// Renumber appends line to dst, with its id replaced by id. It adds the former place of the
// entry as meta.origin, the last member of meta, unless there is an origin already. A line
// without meta gets one, before its date if it has one. All other bytes stay. The
// error is a *jsonl.SyntaxError for a line that is not an entry; dst is then
// returned as it was.
func Renumber(dst, line []byte, id int64, origin Origin) ([]byte, error) {
	s, err := parseShape(line)
	if err != nil {
		return dst, err
	}
	return s.renumber(dst, line, id, origin), nil
}

// renumber is Renumber for a line whose shape is known.
func (s *shape) renumber(dst, line []byte, id int64, origin Origin) []byte {
	at := -1 // where the origin goes
	var insert []byte
	switch {
	case s.origins > 0:
	case s.meta.KeyAt >= 0:
		at = s.metaLast
		insert = make([]byte, 0, s.growth(origin))
		if s.metaMembers > 0 {
			insert = append(insert, ',')
		}
		insert = appendOrigin(insert, s.id, origin)
	case s.date.KeyAt >= 0:
		at = s.date.KeyAt
		insert = append(insert, `"meta":{`...)
		insert = append(appendOrigin(insert, s.id, origin), '}', ',')
	default:
		at = s.last
		insert = append(insert, `,"meta":{`...)
		insert = append(appendOrigin(insert, s.id, origin), '}')
	}
	copied := 0 // bytes of line that dst has
	put := func(to int, text []byte) {
		dst = append(append(dst, line[copied:to]...), text...)
		copied = to
	}
	if at >= 0 && at <= s.idAt {
		put(at, insert)
		at = -1
	}
	put(s.idAt, nil)
	dst, copied = strconv.AppendInt(dst, id, 10), s.idEnd
	if at >= 0 {
		put(at, insert)
	}
	return append(dst, line[copied:]...)
}

// appendOrigin appends the member origin.
func appendOrigin(dst []byte, id int64, o Origin) []byte {
	dst = append(dst, `"origin":{"tape":`...)
	dst = jsonl.AppendString(dst, o.Tape)
	if o.Fork != "" {
		dst = append(dst, `,"fork":`...)
		dst = jsonl.AppendString(dst, o.Fork)
	}
	dst = append(dst, `,"id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	return append(dst, '}')
}

// digits is the length of the longest id.
const digits = 19

// growth estimates how many bytes renumber adds to a line.
func (s *shape) growth(o Origin) int {
	if s.origins > 0 {
		return digits
	}
	return len(`,"meta":{"origin":{"tape":"","fork":"","id":}}`) + len(o.Tape) + len(o.Fork) + 2*digits
}
