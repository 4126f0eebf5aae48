package threeway

import (
	"crypto/sha256"
	"fmt"

	"tape/internal/text/jsonl"
)

// identity is where an entry was first written.
type identity struct {
	origin Origin
	id     int64
	opaque bool // another program wrote meta.origin; only its content identifies the entry
}

// content is the checksum of an entry without its id and origin.
type content [sha256.Size]byte

// entryKey is equal for an entry and its copies.
type entryKey struct {
	identity identity
	content  content
}

type merger struct {
	in     Input
	common int // lines that both sides begin with

	// The identities of their additions; true once ours has an entry with the identity.
	wanted map[identity]bool
	// How often ours has an entry that may be one of theirs. Of equal entries on
	// their side, only those that ours lacks are added.
	ours map[entryKey]int
}

func (m *merger) run() ([][]byte, error) {
	added := m.in.Theirs[m.common:]
	if err := m.checkEnd(); err != nil || len(added) == 0 {
		return nil, err
	}
	identities := make([]identity, len(added))
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
		identities[i] = s.identity(line, m.in.TheirsOrigin)
		m.wanted[identities[i]] = false
	}
	m.ours = make(map[entryKey]int)
	if m.common < len(m.in.Ours) {
		m.countCopies()
		m.countOriginals()
	}
	return m.renumberNew(added, identities)
}

// checkEnd makes sure that ours ends with the id that the appended entries continue.
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

// countCopies counts the entries of ours with a wanted origin.
func (m *merger) countCopies() {
	for _, line := range m.in.Ours[m.common:] {
		if !mayHaveOrigin(line) {
			continue
		}
		s, ok := findShape(line)
		if !ok || s.origins == 0 {
			continue
		}
		m.count(line, s, s.identity(line, Origin{}))
	}
}

// countOriginals counts the wanted entries of ours without an origin. They were written on
// our side, and their side has copies.
func (m *merger) countOriginals() {
	for entry := range m.wanted {
		i := entry.id - m.in.After - 1
		if entry.opaque || entry.origin != m.in.OursOrigin || i < int64(m.common) || i >= int64(len(m.in.Ours)) {
			continue
		}
		line := m.in.Ours[i]
		if s, ok := findShape(line); ok && s.origins == 0 && s.id == entry.id {
			m.count(line, s, entry)
		}
	}
}

// count counts an entry of ours, if its identity is wanted.
func (m *merger) count(line []byte, s shape, entry identity) {
	if _, ok := m.wanted[entry]; ok {
		m.wanted[entry] = true
		m.ours[entryKey{entry, s.content(line)}]++
	}
}

// renumberNew renumbers the entries that ours lacks.
func (m *merger) renumberNew(added [][]byte, identities []identity) (lines [][]byte, err error) {
	from := m.in.TheirsOrigin
	next := m.in.After + int64(len(m.in.Ours)) + 1
	for i, line := range added {
		id := m.in.theirID(m.common + i)
		s, ok := findShape(line)
		if !ok {
			return nil, lineError(true, id, errShape)
		}
		if m.wanted[identities[i]] {
			k := entryKey{identities[i], s.content(line)}
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
