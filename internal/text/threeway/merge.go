package threeway

import (
	"crypto/sha256"
	"fmt"

	"tape/internal/text/jsonl"
)

// identity is where an entry came to be.
type identity struct {
	origin Origin
	id     int64
	opaque bool // it has an origin that is not one of ours: what it says has to do
}

// content is the checksum of all that an entry says but its id and origin.
type content [sha256.Size]byte

// known is an entry to be found again.
type known struct {
	identity identity
	content  content
}

type merger struct {
	in     Input
	common int // lines that both sides begin with

	// The identities of their additions; true once ours has one like it.
	wanted map[identity]bool
	// How often ours has an entry that may be one of theirs. Counted, so that
	// of equal entries on their side as many are taken as ours lacks.
	ours map[known]int
}

func (m *merger) run() ([][]byte, error) {
	added := m.in.Theirs[m.common:]
	if err := m.checkEnd(); err != nil || len(added) == 0 {
		return nil, err
	}
	who := make([]identity, len(added))
	m.wanted = make(map[identity]bool, len(added))
	for i, line := range added {
		id := m.in.theirID(m.common + i)
		s, err := parseShape(line)
		if err == nil && s.id != id {
			err = fmt.Errorf("it has the id %d", s.id)
		}
		if err != nil {
			return nil, lineError(true, id, err)
		}
		who[i] = s.identity(line, m.in.TheirsOrigin)
		m.wanted[who[i]] = false
	}
	m.ours = make(map[known]int)
	if m.common < len(m.in.Ours) {
		m.findMoved()
		m.findAtHome()
	}
	return m.take(added, who)
}

// checkEnd makes sure that ours ends with the id from which what is appended counts on.
func (m *merger) checkEnd() error {
	n := len(m.in.Ours)
	if n == 0 {
		return nil
	}
	want := m.in.After + int64(n)
	id, err := jsonl.ParseID(m.in.Ours[n-1])
	if err == nil && id != want {
		err = fmt.Errorf("it has the id %d", id)
	}
	if err != nil {
		return lineError(false, want, err)
	}
	return nil
}

// findMoved notes the entries of ours that have an origin which is wanted.
func (m *merger) findMoved() {
	for _, line := range m.in.Ours[m.common:] {
		if !mayHaveOrigin(line) {
			continue
		}
		s, ok := findShape(line)
		if !ok || s.origins == 0 {
			continue
		}
		m.note(line, s, s.identity(line, Origin{}))
	}
}

// findAtHome notes the entries of ours that are wanted and have no origin, because
// they came to be here: theirs are copies of them.
func (m *merger) findAtHome() {
	for who := range m.wanted {
		i := who.id - m.in.After - 1
		if who.opaque || who.origin != m.in.OursOrigin || i < int64(m.common) || i >= int64(len(m.in.Ours)) {
			continue
		}
		line := m.in.Ours[i]
		if s, ok := findShape(line); ok && s.origins == 0 && s.id == who.id {
			m.note(line, s, who)
		}
	}
}

// note counts an entry of ours, if its identity is wanted.
func (m *merger) note(line []byte, s shape, who identity) {
	if _, ok := m.wanted[who]; ok {
		m.wanted[who] = true
		m.ours[known{who, s.content(line)}]++
	}
}

// take renumbers the entries that ours does not have.
func (m *merger) take(added [][]byte, who []identity) (lines [][]byte, err error) {
	from := m.in.TheirsOrigin
	next := m.in.After + int64(len(m.in.Ours)) + 1
	for i, line := range added {
		id := m.in.theirID(m.common + i)
		s, ok := findShape(line)
		if !ok {
			return nil, lineError(true, id, errShape)
		}
		if m.wanted[who[i]] {
			k := known{who[i], s.content(line)}
			if m.ours[k] > 0 {
				m.ours[k]--
				continue
			}
		}
		buf := make([]byte, 0, len(line)+s.growth(from))
		lines = append(lines, s.renumber(buf, line, next, from))
		next++
	}
	return lines, nil
}
