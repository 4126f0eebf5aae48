// Package mask shows entries, values and contents without their secrets. Whoever reads what it
// gives, and asks what is asked of that, cannot tell it from a tape on which the marks were written
// in the first place.
package mask

import (
	"bytes"
	"encoding/json"

	"tape/internal/jsonl"
	"tape/internal/secrets"
	"tape/repo"
)

// Masker masks with the marks of one workspace. It may be used from several goroutines.
type Masker struct {
	key       []byte
	scanner   *secrets.Scanner
	artifacts artifacts
}

// New returns a Masker whose marks are keyed with a secret of the workspace: nobody who sees one can
// find out what it stands for by trying.
func New(key []byte) *Masker { return &Masker{key: key, scanner: secrets.New()} }

// JSON is a JSON value without its secrets.
func (m *Masker) JSON(value json.RawMessage) json.RawMessage {
	out, _ := m.scanner.MaskAs(value, nil, func(f secrets.Finding) string { return f.Keyed(m.key).Mark() })
	return secrets.KeyMarks(m.key, out)
}

// Text is a text in UTF-8 without its secrets.
func (m *Masker) Text(text string) string { return string(m.utf8([]byte(text))) }

func (m *Masker) utf8(text []byte) []byte {
	value := jsonl.AppendString(nil, string(text))
	masked := m.JSON(value)
	if bytes.Equal(masked, value) {
		return text
	}
	return jsonl.AppendDecoded(nil, masked[1:len(masked)-1])
}

// Named is the value that a name stands for: DB_PASSWORD says of a word that it is a secret.
func (m *Masker) Named(name string, value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		return value
	}
	key := jsonl.AppendString(nil, name)
	object := append(append(append([]byte{'{'}, key...), ':'), value...)
	masked := m.JSON(append(object, '}'))
	for _, value := range jsonl.Fields(masked) {
		return m.JSON(value)
	}
	return m.JSON(value)
}

// line is the line of an entry without its secrets, with the references to artifacts as they are.
func (m *Masker) line(e repo.Entry) []byte {
	raw := []byte(m.JSON(e.Raw))
	payload := jsonl.Get(raw, "payload")
	for _, object := range [][]byte{payload, jsonl.Get(payload, "data")} { // a state, and a result that sets one
		value := jsonl.Get(object, "value")
		if name := jsonl.GetString(object, "key"); name != "" && len(value) > 0 {
			raw = bytes.ReplaceAll(raw, member("value", value), member("value", m.Named(name, value)))
		}
	}
	if meta := jsonl.Get(raw, "meta"); bytes.Contains(meta, []byte(hashed)) {
		raw = bytes.Replace(raw, meta, without(meta, hashed), 1)
	}
	if e.Kind == repo.KindEvent && jsonl.GetString(payload, "name") == purged {
		for found := range jsonl.Elements(jsonl.Get(payload, "data", "fingerprints")) {
			if text := string(bytes.Trim(found, `"`)); secrets.IsFingerprint(text) {
				raw = bytes.ReplaceAll(raw, found, jsonl.AppendString(nil, secrets.Keyed(m.key, text)))
			}
		}
	}
	return raw
}

// hashed is what the meta of an entry has of the request that wrote it: a hash over all that it said.
const hashed = "request_sha256"

func without(object []byte, name string) []byte {
	out := []byte{'{'}
	for key, value := range jsonl.Fields(object) {
		if key != name {
			out = append(append(append(jsonl.AppendString(out, key), ':'), value...), ',')
		}
	}
	return append(bytes.TrimSuffix(out, []byte(",")), '}')
}

const purged = "tape.purged" // the event that records a purge

func member(name string, value []byte) []byte {
	return append(append(jsonl.AppendString(nil, name), ':'), value...)
}

// Entry is an entry without its secrets. The artifacts that it refers to are those of the reader:
// where one is changed by masking, so are its id, hash and size. open opens one by its hash.
func (m *Masker) Entry(e repo.Entry, open Open) repo.Entry {
	raw := m.line(e)
	for _, a := range repo.References(e) {
		if seen := m.artifacts.seen(m, a.SHA256, open); seen.ID != a.SHA256 {
			raw = rename(raw, a, seen)
		}
	}
	e.Attached = m.Content(e.Attached)
	e.Anchor = m.Text(e.Anchor)
	if !bytes.Equal(raw, e.Raw) {
		e.Raw, e.Payload, e.Meta = raw, jsonl.Get(raw, "payload"), orEmpty(jsonl.Get(raw, "meta"))
		e.Kind, e.Date = jsonl.GetString(raw, "kind"), jsonl.GetString(raw, "date")
	}
	return e
}

func orEmpty(object []byte) []byte {
	if len(object) == 0 {
		return []byte("{}")
	}
	return object
}
