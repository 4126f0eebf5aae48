package sharing

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"syscall"

	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
	"tape/repo"
)

// Masker replaces secrets by marks, as the setting redact does: with keyed fingerprints, so that nobody can test
// guessed passwords against them.
type Masker struct {
	s       *workspace.Store
	scanner *secrets.Scanner

	mu      sync.Mutex
	key     []byte
	err     error
	seen    map[string]map[string]bool // fingerprints, by tape
	anchors map[string]string          // masked, by name
}

func (m *Masker) mark(f secrets.Finding) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.key == nil && m.err == nil {
		m.key, m.err = m.s.MarkKey()
		if errors.Is(m.err, syscall.EROFS) || errors.Is(m.err, fs.ErrPermission) {
			m.key, m.err = []byte(rand.Text()), nil // nothing can be kept there: the marks are of this run alone
		}
	}
	return f.Keyed(m.key).Mark()
}

// NewMasker returns a masker for the secrets of a workspace.
func NewMasker(s *workspace.Store) *Masker { return &Masker{s: s, scanner: s.Config().Scanner()} }

// Value masks a JSON value of a tape.
func (m *Masker) Value(tape string, raw []byte) []byte {
	if len(raw) == 0 {
		return raw
	}
	out, found := m.scanner.MaskAs(raw, m.s.Allows, m.mark)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range found {
		if m.seen == nil {
			m.seen = map[string]map[string]bool{}
		}
		if m.seen[tape] == nil {
			m.seen[tape] = map[string]bool{}
		}
		m.seen[tape][f.Fingerprint] = true
	}
	return out
}

// Text masks a text.
func (m *Masker) Text(text string) string {
	out, _ := m.scanner.MaskAs(jsonl.AppendString(nil, text), m.s.Allows, m.mark)
	said, _ := jsonl.String(out)
	return said
}

// Find returns the secrets in a text.
func (m *Masker) Find(text string) []secrets.Finding {
	return slices.DeleteFunc(m.scanner.Text([]byte(text)), m.s.Allows)
}

// Line returns the secrets in an entry's line.
func (m *Masker) Line(raw []byte) ([]secrets.Finding, error) {
	list, err := m.scanner.Line(raw)
	return slices.DeleteFunc(list, m.s.Allows), err
}

// CountOf counts the secrets that Value has masked in a tape.
func (m *Masker) CountOf(tape string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.seen[tape])
}

// Count is the sum of CountOf for all tapes. It takes no lock: nothing may be masked meanwhile.
func (m *Masker) Count() (n int) {
	for _, found := range m.seen {
		n += len(found)
	}
	return n
}

// Err returns why there is no key for marks; nil if there is one, or none was needed.
func (m *Masker) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Entry masks an entry.
func (m *Masker) Entry(e repo.Entry) (repo.Entry, error) {
	out, anchor := m.Value(e.Tape, e.Raw), m.anchor(e.Anchor)
	if m.Err() != nil || bytes.Equal(out, e.Raw) {
		e.Anchor = anchor
		return e, m.Err()
	}
	return snapshot.ParseEntry(out, e.Tape, anchor, e.AnchorSeq)
}

// anchor masks the name of an anchor, which many entries have.
func (m *Masker) anchor(name string) string {
	m.mu.Lock()
	known, ok := m.anchors[name]
	m.mu.Unlock()
	if ok {
		return known
	}
	masked := m.Text(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.anchors == nil {
		m.anchors = map[string]string{}
	}
	m.anchors[name] = masked
	return masked
}
