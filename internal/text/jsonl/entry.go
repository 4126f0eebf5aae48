package jsonl

import (
	"strconv"
	"unicode/utf8"
)

// Parse decodes one stored line. It has to be one valid JSON object (see [Valid])
// with an integer id of 1 or more, a kind that is not empty, and an object payload;
// an object meta and a string date are optional. None of these may be repeated.
// Members may be in any order, with any whitespace, as in a line that was edited by
// hand. Other members are allowed and stay in Raw. The error is a *SyntaxError.
func Parse(line []byte) (Entry, error) {
	line = trimEnd(line)
	e := Entry{Raw: line}
	m := members{scan: scan{b: line}}
	var seen memberSet
	for m.next() {
		k := memberOf(m.key)
		switch {
		case k == 0:
			continue
		case seen&k != 0:
			m.refuse("more than one " + string(m.key))
		case k == keyID:
			e.ID = m.id()
		case k == keyKind:
			e.Kind = m.kind()
		case k == keyPayload:
			e.Payload = m.object("payload")
		case k == keyMeta:
			e.Meta = m.object("meta")
		case k == keyDate:
			e.Date = m.text("date")
		}
		seen |= k
	}
	if m.err == nil {
		m.require(seen, keyID, "id")
		m.require(seen, keyKind, "kind")
		m.require(seen, keyPayload, "payload")
	}
	if m.err != nil {
		return Entry{}, m.err
	}
	if e.Meta == nil {
		e.Meta = []byte("{}")
	}
	return e, nil
}

// ParseID returns the id of a stored line. If the line begins with its id, the rest is
// not checked; any other line is decoded by [Parse], whose errors it returns.
func ParseID(line []byte) (int64, error) {
	const start = `{"id":`
	if len(line) <= len(start) || string(line[:len(start)]) != start {
		return parseID(line)
	}
	i := trimSpace(line, len(start))
	first := i
	var id int64
	// Eighteen digits cannot overflow.
	for i < len(line) && line[i]-'0' <= 9 && i-first < 18 {
		id = id*10 + int64(line[i]-'0')
		i++
	}
	if i == first || line[first] == '0' || i >= len(line) || line[i] != ',' {
		return parseID(line)
	}
	return id, nil
}

func parseID(line []byte) (int64, error) {
	e, err := Parse(line)
	return e.ID, err
}

// ParseDraft decodes one line of input: an entry whose id, if any, is ignored. Kind
// and payload are required; meta and date are optional. The members that output adds
// to an entry (tape, workspace, anchor, anchor_seq; score, snippet and what follows
// that in a hit of a search) are ignored, so that output can be fed back; other unknown members are kept in Extra. Payload, Meta
// and Extra are compacted copies. The error is a *SyntaxError.
func ParseDraft(line []byte) (Draft, error) {
	hit := false
	return parseDraft(line, func(key []byte) bool {
		hit = hit || string(key) == "snippet"
		return isOutputKey(key) || hit && isHitKey(key)
	})
}

// Draft returns the entry without its id, to be written with another id. Unlike
// [ParseDraft] it keeps all unknown members. The draft does not alias the line. The
// error is a *SyntaxError, and nil for an entry that [Parse] returned.
func (e Entry) Draft() (Draft, error) {
	return parseDraft(e.Raw, func([]byte) bool { return false })
}

// parseDraft is like ParseDraft, but ignores the unknown members for which ignored
// returns true.
func parseDraft(line []byte, ignored func(key []byte) bool) (Draft, error) {
	m := members{scan: scan{b: line}}
	var d Draft
	var seen memberSet
	// One allocation for payload and meta, which are never longer than the
	// line: buf must not move, because the draft points into it.
	buf := make([]byte, 0, len(line))
	extra := make([]byte, 0)
	for m.next() {
		k := memberOf(m.key)
		if k == 0 {
			if !ignored(m.key) {
				extra = m.appendTo(extra)
			}
			continue
		}
		if k != keyID && seen&k != 0 {
			m.refuse("more than one " + string(m.key))
			break
		}
		seen |= k
		switch k {
		case keyKind:
			d.Kind = m.kind()
		case keyPayload:
			buf, d.Payload = appendValue(buf, m.object("payload"), m.spaced)
		case keyMeta:
			buf, d.Meta = appendValue(buf, m.object("meta"), m.spaced)
		case keyDate:
			d.Date = m.text("date")
		}
	}
	if m.err == nil {
		m.require(seen, keyKind, "kind")
		m.require(seen, keyPayload, "payload")
	}
	if m.err != nil {
		return Draft{}, m.err
	}
	if len(extra) > 0 {
		d.Extra = extra
	}
	return d, nil
}

// appendValue appends a value to buf and returns buf and the copy of the value in it.
func appendValue(buf, val []byte, spaced bool) (all, copied []byte) {
	start := len(buf)
	buf = appendStripped(buf, val, spaced)
	return buf, buf[start:len(buf):len(buf)]
}

// Normalize checks a draft that did not come from [ParseDraft] and compacts its
// payload, meta and extra members, so that [Parse] accepts the line that [AppendLine]
// makes of the draft. The error is a *SyntaxError.
func (d Draft) Normalize() (Draft, error) {
	switch {
	case d.Kind == "":
		return Draft{}, dataError(0, "kind is empty")
	case !utf8.ValidString(d.Kind):
		return Draft{}, dataError(0, "invalid UTF-8 in kind")
	case !utf8.ValidString(d.Date):
		return Draft{}, dataError(0, "invalid UTF-8 in date")
	case !IsObject(d.Payload):
		return Draft{}, dataError(0, "payload is not an object")
	case len(d.Meta) > 0 && !IsObject(d.Meta):
		return Draft{}, dataError(0, "meta is not an object")
	}
	// The entry's own braces are one level.
	var err error
	if d.Payload, err = compactAt(nil, d.Payload, 1); err != nil {
		return Draft{}, err
	}
	if len(d.Meta) > 0 {
		if d.Meta, err = compactAt(nil, d.Meta, 1); err != nil {
			return Draft{}, err
		}
	}
	if len(d.Extra) == 0 {
		d.Extra = nil
		return d, nil
	}
	if d.Extra, err = normalizeExtra(d.Extra); err != nil {
		return Draft{}, err
	}
	return d, nil
}

// normalizeExtra checks and compacts members that start with a comma.
func normalizeExtra(extra []byte) ([]byte, error) {
	if extra[0] != ',' {
		return nil, dataError(0, "extra members do not start with a comma")
	}
	obj := make([]byte, 0, len(extra)+1)
	obj = append(obj, '{')
	obj = append(obj, extra[1:]...)
	obj = append(obj, '}')
	m := members{scan: scan{b: obj}}
	out := make([]byte, 0, len(extra))
	for m.next() {
		if memberOf(m.key) != 0 {
			m.refuse("extra members repeat " + string(m.key))
			break
		}
		out = m.appendTo(out)
	}
	if m.err != nil {
		return nil, m.err
	}
	return out, nil
}

// AppendLine appends the stored line of a draft, newline included: the members
// in the order of the format, then the draft's extra members. The draft has to
// come from [ParseDraft] or [Draft.Normalize].
func AppendLine(dst []byte, id int64, d Draft) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = append(dst, `,"kind":`...)
	dst = AppendString(dst, d.Kind)
	dst = append(dst, `,"payload":`...)
	dst = append(dst, d.Payload...)
	dst = append(dst, `,"meta":`...)
	if len(d.Meta) == 0 {
		dst = append(dst, '{', '}')
	} else {
		dst = append(dst, d.Meta...)
	}
	dst = append(dst, `,"date":`...)
	dst = AppendString(dst, d.Date)
	dst = append(dst, d.Extra...)
	return append(dst, '}', '\n')
}
