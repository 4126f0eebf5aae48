package workspace

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
)

// Redaction says what to do with secrets in entries that are appended or imported.
type Redaction int

// The values of redact. Fingerprints in Config.Allowed never count as secrets.
const (
	RedactOff  Redaction = iota // entries are stored unchanged and not scanned
	RedactMark                  // the entry's meta lists its secrets
	RedactMask                  // the secrets are replaced before anything is written
)

var redactions = []string{RedactOff: "off", RedactMark: "mark", RedactMask: "mask"}

// String returns the redaction as in config.json.
func (r Redaction) String() string { return redactions[r] }

// parseRedaction parses off, mark or mask; "" is off.
func parseRedaction(s string) (Redaction, error) {
	if i := slices.Index(redactions, cmp.Or(s, "off")); i >= 0 {
		return Redaction(i), nil
	}
	return RedactOff, layout.Invalid("use off, mark or mask", "%q is not a value of redact", s)
}

// Keys in an entry's meta that list its secrets, as RULE:FINGERPRINT.
const (
	metaSecrets  = "secrets"  // secrets in the entry
	metaRedacted = "redacted" // secrets that were replaced in it
)

// Allows reports whether a finding is a known false positive. An allowed fingerprint that was copied from a
// mark is keyed.
func (s *Store) Allows(f secrets.Finding) bool {
	allowed := s.Config().Allowed
	if slices.Contains(allowed, f.Fingerprint) {
		return true
	}
	if !slices.ContainsFunc(allowed, secrets.IsKeyed) {
		return false
	}
	key, err := s.MarkKey()
	return err == nil && slices.Contains(allowed, secrets.KeyedFingerprint(key, f.Fingerprint))
}

const (
	markKeyFile = "mark.key"
	markKeySize = 32 // bytes
)

// MarkKey returns the key for the marks of this workspace, and creates it on first use. Clones do not have
// it, so that readers of a tape cannot find out which secret a mark stands for by trying secrets.
func (s *Store) MarkKey() ([]byte, error) {
	s.markKey.Lock()
	defer s.markKey.Unlock()
	if s.markKey.key != nil {
		return s.markKey.key, nil
	}
	path := s.PrivatePath(markKeyFile)
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = s.newMarkKey(path)
	}
	if err == nil && len(key) != markKeySize {
		err = &layout.CorruptError{File: path, Msg: "this is not a key of 32 bytes", Fix: "delete it; new marks of the same secrets will differ from then on"}
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of marks: %w", layout.Classify(err))
	}
	s.markKey.key = key
	return key, nil
}

// newMarkKey creates the key, unless another process was faster.
func (s *Store) newMarkKey(path string) (key []byte, err error) {
	unlock, err := s.LockPrivate(context.Background(), "mark.lock")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if key, err = os.ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, markKeySize)
	rand.Read(key)
	return key, s.fs.WriteFile(path, key)
}

// AllowSecret notes, durably, that a fingerprint belongs to a false positive: from now on, no push stops at it,
// and the setting redact leaves it alone.
func (s *Store) AllowSecret(fingerprint string) error {
	if !secrets.IsFingerprint(fingerprint) && !secrets.IsKeyed(fingerprint) {
		return NoFingerprint(fingerprint)
	}
	return s.changeConfig(func(c *Config) error {
		if !slices.Contains(c.Allowed, fingerprint) {
			c.Allowed = append(c.Allowed, fingerprint)
		}
		return nil
	})
}

// DisallowSecret undoes AllowSecret. Errors: ErrNotFound if the fingerprint is not allowed.
func (s *Store) DisallowSecret(fingerprint string) error {
	return s.changeConfig(func(c *Config) error {
		if !slices.Contains(c.Allowed, fingerprint) {
			return layout.NotFound("", "the fingerprint %q is not allowed", fingerprint).Try(layout.ListAllowed)
		}
		c.Allowed = slices.DeleteFunc(c.Allowed, func(f string) bool { return f == fingerprint })
		return nil
	})
}

// parseFingerprints parses a list separated by commas or spaces.
func parseFingerprints(text string) ([]string, error) {
	list := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	for _, f := range list {
		if !secrets.IsFingerprint(f) && !secrets.IsKeyed(f) {
			return nil, NoFingerprint(f)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// NoFingerprint returns the ErrInvalid for a text that is not a fingerprint.
func NoFingerprint(text string) error {
	return layout.Invalid("copy it from the message that names the secret", "%q is not a fingerprint: those are 16 digits, 0-9 and a-f, in a mark with a k before them", text)
}

// Redact marks or masks the secrets of an entry before it is stored, as the setting says. Errors: ErrInvalid if
// a secret in an anchor's name would be masked.
func (t *Tape) Redact(d jsonl.Draft) (jsonl.Draft, error) {
	c := t.store.Config()
	if c.Redact == RedactOff {
		return d, nil
	}
	m := masker{s: t.store, scanner: c.Scanner(), keyed: c.Redact == RedactMask}
	out := d
	out.Payload, out.Meta = m.value(d.Payload), m.value(d.Meta)
	if len(d.Extra) > 0 {
		object := append(append([]byte{'{'}, d.Extra[1:]...), '}')
		if masked := m.value(object); !bytes.Equal(masked, object) {
			out.Extra = append([]byte{','}, masked[1:len(masked)-1]...)
		}
	}
	if m.err != nil {
		return d, m.err
	}
	if len(m.found) == 0 {
		return d, nil
	}
	if c.Redact == RedactMark {
		out = d
		out.Meta = listSecrets(d.Meta, metaSecrets, m.found)
		return out, nil
	}
	if name := jsonl.GetString(d.Payload, "name"); d.Kind == layout.KindAnchor && jsonl.GetString(out.Payload, "name") != name {
		return d, layout.Invalid("", "the anchor's name has what looks like a secret: %s", m.found[0].Masked).Try(layout.RenameOrAllow, m.found[0].Fingerprint)
	}
	for i, f := range m.found {
		m.found[i] = f.Keyed(m.key)
	}
	out.Meta = listSecrets(out.Meta, metaRedacted, m.found)
	return out, nil
}

type masker struct {
	s       *Store
	scanner *secrets.Scanner
	found   []secrets.Finding
	keyed   bool   // the marks are written, and need the key
	key     []byte // see MarkKey; nil before the first mark
	err     error
}

func (m *masker) value(raw []byte) []byte {
	if len(raw) == 0 {
		return raw
	}
	out, found := m.scanner.MaskAs(raw, m.s.Allows, m.mark)
	m.found = append(m.found, found...)
	return out
}

// mark returns the text that replaces a secret.
func (m *masker) mark(f secrets.Finding) string {
	if !m.keyed {
		return f.Mark()
	}
	if m.key == nil && m.err == nil {
		m.key, m.err = m.s.MarkKey()
	}
	return f.Keyed(m.key).Mark()
}

// listSecrets adds findings to a list in meta. A value there that is not a list stays.
func listSecrets(meta []byte, key string, found []secrets.Finding) []byte {
	var list []string
	old := jsonl.Get(meta, key)
	if old != nil && json.Unmarshal(old, &list) != nil {
		return meta
	}
	for _, f := range found {
		if name := f.Rule + ":" + f.Fingerprint; !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	var value []byte
	for i, name := range list {
		value = jsonl.AppendString(append(value, "[,"[min(i, 1)]), name)
	}
	value = append(value, ']')
	member := append(append(jsonl.AppendString(nil, key), ':'), value...)
	out := []byte{'{'}
	for name, kept := range jsonl.Fields(meta) {
		if name != key {
			out = append(append(append(jsonl.AppendString(out, name), ':'), kept...), ',')
		}
	}
	if old == nil && len(meta) > len("{}") {
		out = append(append(out[:0], meta[:len(meta)-1]...), ',') // keep meta's bytes
	}
	return append(append(out, member...), '}')
}

// Redacts reports whether Redact would change an entry's line.
func (s *Store) Redacts(line []byte) bool {
	c := s.Config()
	if c.Redact == RedactOff {
		return false
	}
	found, err := c.Scanner().Line(line)
	return err == nil && slices.ContainsFunc(found, func(f secrets.Finding) bool { return !s.Allows(f) })
}
