// Package mask shows entries, values and contents without their secrets. Whoever reads what it
// gives, and asks what is asked of that, cannot tell it from a tape on which the marks were written
// in the first place.
package mask

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
	"tape/repo"
)

// Masker masks with the marks of one workspace. It may be used from several goroutines.
type Masker struct {
	key       []byte
	again     bool // marks that are keyed are keyed again
	scanner   *secrets.Scanner
	artifacts *artifacts
}

// New returns a Masker whose marks are keyed with a secret of the workspace: nobody who sees one can
// find out what it stands for by trying.
func New(key []byte) *Masker {
	return &Masker{key: key, scanner: secrets.New(), artifacts: &artifacts{}}
}

// With is a Masker with marks of its own. Who can write a guess, and sees its mark, must not be able to
// compare that with the mark of a secret.
func (m *Masker) With(purpose, id string) *Masker {
	mac := hmac.New(sha256.New, m.key)
	mac.Write([]byte(purpose + "\x00" + id))
	return &Masker{key: mac.Sum(nil), again: purpose == byRun, scanner: m.scanner, artifacts: m.artifacts}
}

const byRun = "run"

// By masks what a run wrote; "" is nobody's.
func (m *Masker) By(run string) *Masker {
	if run == "" {
		return m
	}
	return m.With(byRun, run)
}

// Writer is the run that wrote an entry, "" for what others have: what a run is started with comes from
// the admin, whatever run it belongs to.
func Writer(e repo.Entry) string {
	if e.Role() == "user" || e.Kind == repo.KindEvent && jsonl.GetString(e.Payload, "name") == "run.started" {
		return ""
	}
	return jsonl.GetString(e.Meta, "run_id")
}

// MostSecrets is how many secrets an entry, a value or a file may have that a masked run reads: to mask
// many takes much memory and time. What has more is withheld, with a mark in its place.
const MostSecrets = 20_000

// withheld is that mark. It differs for each file, as the id of a file is made of what is seen.
func (m *Masker) withheld() string {
	return fmt.Sprintf("[withheld:%s: more than %d secrets]", secrets.Keyed(m.key, "withheld"), MostSecrets)
}

// JSON is a JSON value without its secrets.
func (m *Masker) JSON(value json.RawMessage) json.RawMessage {
	out, _ := m.json(value, MostSecrets)
	return out
}

// json also tells how many secrets there are. If that is more than most, the value is withheld.
func (m *Masker) json(value json.RawMessage, most int) (out json.RawMessage, found int) {
	out, found = m.scanner.MaskLimited(value, most, func(f secrets.Finding) string { return f.Keyed(m.key).Mark() })
	if found > most {
		return jsonl.AppendString(nil, m.withheld()), found
	}
	out = secrets.KeyMarks(m.key, out)
	if m.again {
		out = secrets.KeyAgain(m.key, out)
	}
	return out, found
}

// Text is a text in UTF-8 without its secrets.
func (m *Masker) Text(text string) string {
	return string((&content{m, MostSecrets}).utf8([]byte(text)))
}

func (m *content) utf8(text []byte) []byte {
	if m.left < 0 {
		return text // all of it is withheld
	}
	value := jsonl.AppendString(nil, string(text))
	masked, found := m.json(value, m.left)
	m.left -= found
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
	raw, found := m.json(e.Raw, MostSecrets)
	if found > MostSecrets {
		raw = m.bare(e)
	}
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

// bare is the line of an entry whose payload is withheld.
func (m *Masker) bare(e repo.Entry) []byte {
	payload := map[string]string{"content": m.withheld()}
	if role := e.Role(); role != "" {
		payload["role"] = m.Text(role)
	}
	meta := m.JSON(e.Meta)
	if !bytes.HasPrefix(meta, []byte("{")) {
		meta = []byte("{}")
	}
	raw, err := json.Marshal(map[string]any{"id": e.ID, "kind": m.Text(e.Kind), "payload": payload, "meta": meta, "date": m.Text(e.Date)})
	if err != nil {
		panic(err) // strings, and JSON that was read
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
	run, refs := Writer(e), repo.References(e)
	raw := m.By(run).line(e)
	for _, a := range refs {
		if seen := m.artifacts.seen(m, a.SHA256, open); seen.ID != a.SHA256 {
			raw = rename(raw, a, seen)
		}
	}
	switch {
	case len(e.Attached) == 0:
	case run != "" && len(refs) > 1: // marks of one file would show beside those of another
		e.Attached = nil
	default:
		e.Attached = m.file(refs[0].SHA256).Content(e.Attached)
	}
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
