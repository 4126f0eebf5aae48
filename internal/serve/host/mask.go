package host

// How entries, values and contents look without their secrets. For readers and for queries, they look like a tape on which the marks were written from the beginning.

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"tape/internal/serve/host/api"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
	"tape/repo"
)

// Masker masks with the marks of one workspace. It may be used from several goroutines.
type Masker struct {
	key       []byte
	rekey     bool // marks that are keyed already are keyed again
	scanner   *secrets.Scanner
	artifacts *artifacts
}

// newMasker returns a Masker whose marks are keyed with a secret of the workspace. So nobody can find out by
// guessing what a mark stands for.
func newMasker(key []byte) *Masker {
	return &Masker{key: key, scanner: secrets.New(), artifacts: &artifacts{}}
}

// Derive returns a Masker with marks of its own. Somebody who writes a guess, and sees its mark, must
// not be able to compare it with the mark of a secret.
func (m *Masker) Derive(purpose, id string) *Masker {
	mac := hmac.New(sha256.New, m.key)
	mac.Write([]byte(purpose + "\x00" + id))
	return &Masker{key: mac.Sum(nil), rekey: purpose == byRun, scanner: m.scanner, artifacts: m.artifacts}
}

const byRun = "run"

// By returns the Masker for what a run wrote; "" means not a run.
func (m *Masker) By(run string) *Masker {
	if run == "" {
		return m
	}
	return m.Derive(byRun, run)
}

// writerOf returns the id of the run that wrote an entry, "" if it was not a run. A run's input comes from the
// admin, although it has the run's id.
func writerOf(e repo.Entry) string {
	if e.Role() == "user" || e.Kind == repo.KindEvent && jsonl.GetString(e.Payload, "name") == "run.started" {
		return ""
	}
	return jsonl.GetString(e.Meta, "run_id")
}

// maxSecrets is how many secrets an entry, a value or a file may have for a masked run. With more, a mark
// replaces all of it, because masking many secrets takes much memory and time.
const maxSecrets = 20_000

// withheld returns the mark for content with more than maxSecrets secrets. It differs for each file, because
// the id of a file is the hash of what a run sees of it.
func (m *Masker) withheld() string {
	return fmt.Sprintf("[withheld:%s: more than %d secrets]", secrets.KeyedFingerprint(m.key, "withheld"), maxSecrets)
}

// JSON masks a JSON value.
func (m *Masker) JSON(value json.RawMessage) json.RawMessage {
	out, _ := m.json(value, maxSecrets)
	return out
}

// json masks a value and counts its secrets. It withholds a value that has more than limit of them.
func (m *Masker) json(value json.RawMessage, limit int) (out json.RawMessage, found int) {
	out, found = m.scanner.MaskLimited(value, limit, func(f secrets.Finding) string { return f.Keyed(m.key).Mark() })
	if found > limit {
		return jsonl.AppendString(nil, m.withheld()), found
	}
	out = secrets.KeyMarks(m.key, out)
	if m.rekey {
		out = secrets.KeyAgain(m.key, out)
	}
	return out, found
}

// Text masks a text in UTF-8.
func (m *Masker) Text(text string) string {
	return string((&content{m, maxSecrets}).utf8([]byte(text)))
}

// utf8 masks a text in UTF-8, and counts its secrets.
func (m *content) utf8(text []byte) []byte {
	if m.left < 0 {
		return text // the whole content will be withheld
	}
	value := jsonl.AppendString(nil, string(text))
	masked, found := m.json(value, m.left)
	m.left -= found
	if bytes.Equal(masked, value) {
		return text
	}
	return jsonl.AppendDecoded(nil, masked[1:len(masked)-1])
}

// Named masks a value that has a name: the name DB_PASSWORD makes it a secret.
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

// line masks the line of an entry. References to artifacts stay as they are.
func (m *Masker) line(e repo.Entry) []byte {
	raw, found := m.json(e.Raw, maxSecrets)
	if found > maxSecrets {
		raw = m.bare(e)
	}
	payload := jsonl.Get(raw, "payload")
	for _, object := range [][]byte{payload, jsonl.Get(payload, "data")} { // a state entry, and a result that sets one
		value := jsonl.Get(object, "value")
		if name := jsonl.GetString(object, "key"); name != "" && len(value) > 0 {
			raw = bytes.ReplaceAll(raw, member("value", value), member("value", m.Named(name, value)))
		}
	}
	if meta := jsonl.Get(raw, "meta"); bytes.Contains(meta, []byte(maskedRequestHash)) {
		raw = bytes.Replace(raw, meta, without(meta, maskedRequestHash), 1)
	}
	if e.Kind == repo.KindEvent && jsonl.GetString(payload, "name") == purgeEvent {
		for found := range jsonl.Elements(jsonl.Get(payload, "data", "fingerprints")) {
			if text := string(bytes.Trim(found, `"`)); secrets.IsFingerprint(text) {
				raw = bytes.ReplaceAll(raw, found, jsonl.AppendString(nil, secrets.KeyedFingerprint(m.key, text)))
			}
		}
	}
	return raw
}

// bare returns the line of an entry whose payload is withheld.
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
		panic(err) // cannot happen: strings, and JSON that was read
	}
	return raw
}

// maskedRequestHash is the member of an entry's meta with a hash of the whole request, which would confirm a guess.
const maskedRequestHash = "request_sha256"

// without returns a JSON object without the member of a name.
func without(object []byte, name string) []byte {
	out := []byte{'{'}
	for key, value := range jsonl.Fields(object) {
		if key != name {
			out = append(append(append(jsonl.AppendString(out, key), ':'), value...), ',')
		}
	}
	return append(bytes.TrimSuffix(out, []byte(",")), '}')
}

const purgeEvent = "tape.purged" // records a purge

func member(name string, value []byte) []byte {
	return append(append(jsonl.AppendString(nil, name), ':'), value...)
}

// Entry masks an entry, and the references to artifacts in it: an artifact that masking changes has another
// id, hash and size for the reader.
func (m *Masker) Entry(e repo.Entry, open openArtifact) repo.Entry {
	run, refs := writerOf(e), repo.References(e)
	raw := m.By(run).line(e)
	for _, a := range refs {
		if seen := m.artifacts.seen(m, a.SHA256, open); seen.ID != a.SHA256 {
			raw = rename(raw, a, seen)
		}
	}
	switch {
	case len(e.Attached) == 0:
	case run != "" && len(refs) > 1: // marks of different files must not appear together
		e.Attached = nil
	default:
		e.Attached = m.file(refs[0].SHA256).Content(e.Attached)
	}
	e.Anchor = m.Text(e.Anchor)
	if !bytes.Equal(raw, e.Raw) {
		e.Raw, e.Payload, e.Meta = raw, jsonl.Get(raw, "payload"), api.OrEmpty(jsonl.Get(raw, "meta"))
		e.Kind, e.Date = jsonl.GetString(raw, "kind"), jsonl.GetString(raw, "date")
	}
	return e
}
