package publishing

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"tape/internal/store/layout"
	"tape/internal/store/outgoing"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
	"tape/repo"
)

// masker replaces secrets by marks, as the setting redact does: with keyed fingerprints, so that nobody can test
// guessed passwords against them.
type masker struct {
	s       *workspace.Store
	scanner *secrets.Scanner

	mu   sync.Mutex
	key  []byte
	err  error
	seen map[string]map[string]bool // fingerprints, by tape
}

func (m *masker) mark(f secrets.Finding) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.key == nil && m.err == nil {
		m.key, m.err = m.s.MarkKey()
	}
	return f.Keyed(m.key).Mark()
}

// value masks a JSON value of a tape.
func (m *masker) value(tape string, raw []byte) []byte {
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

// text masks a text.
func (m *masker) text(text string) string {
	out, _ := m.scanner.MaskAs(jsonl.AppendString(nil, text), m.s.Allows, m.mark)
	said, _ := jsonl.String(out)
	return said
}

// find returns the secrets in a text.
func (m *masker) find(text string) []secrets.Finding {
	return slices.DeleteFunc(m.scanner.Text([]byte(text)), m.s.Allows)
}

// countOf counts the secrets that value has masked in a tape.
func (m *masker) countOf(tape string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.seen[tape])
}

// count is the sum of countOf for all tapes. It takes no lock: nothing may be masked meanwhile.
func (m *masker) count() (n int) {
	for _, found := range m.seen {
		n += len(found)
	}
	return n
}

// keyError returns why there is no key for marks; nil if there is one, or none was needed.
func (m *masker) keyError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// entry masks an entry.
func (m *masker) entry(e repo.Entry) (repo.Entry, error) {
	out := m.value(e.Tape, e.Raw)
	if m.keyError() != nil || bytes.Equal(out, e.Raw) {
		return e, m.keyError()
	}
	return snapshot.ParseEntry(out, e.Tape, m.text(e.Anchor), e.AnchorSeq)
}

// refuse returns the error of a push that would send secrets, if --refuse-secrets is set and the tapes have any.
func (p *publisher) refuse(ctx context.Context, tapes []*repo.Tape) error {
	if !p.Refuse {
		return nil
	}
	var found []outgoing.SecretFinding
	for _, t := range tapes {
		for e, err := range t.Entries(ctx, repo.Query{}) {
			if err != nil {
				return err
			}
			list, err := p.mask.scanner.Line(e.Raw)
			if err != nil {
				return err
			}
			for _, f := range list {
				if !p.mask.s.Allows(f) {
					found = append(found, outgoing.SecretFinding{Tape: t.Name(), Entry: e.ID, Rule: f.Rule, Path: f.Path, Masked: f.Masked, Fingerprint: f.Fingerprint})
				}
			}
		}
	}
	if len(found) > 0 {
		return layout.Wrap(&outgoing.SecretsError{Findings: found}, "publish")
	}
	return nil
}
