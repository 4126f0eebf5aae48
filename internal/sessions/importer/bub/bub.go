// Package bub reads the tapes of Bub.
//
// Their lines have our format, with a space after every colon and comma. Older lines have a "timestamp"
// in seconds instead of a date. The file's name is a hash of the workspace, two underscores, and a hash
// of the session's id. Older versions have the tape's name in place of the second hash, escaped as in URLs.
// Sessions of several workspaces may have the same name.
package bub

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"net/url"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Keys makes the keys of Bub's entries. Their meta has no keys, because the entries are stored unchanged. So
// a key is a hash of the entry without its id and whitespace, and a count of identical entries. For the
// keys of a tape, call Next for each of its entries in their order.
type Keys struct{ counts record.Counter }

// Next returns the key of the next entry. The draft has to come from
// [jsonl.ParseDraft] or [jsonl.Draft.Normalize].
func (k *Keys) Next(d jsonl.Draft) string {
	h := sha256.New()
	date := []byte(d.Date)
	if len(d.Extra) > 0 {
		extra := append(append([]byte{'{'}, d.Extra[1:]...), '}')
		if at := jsonl.Get(extra, "timestamp"); at != nil {
			date = at
		}
	}
	for _, field := range [][]byte{[]byte(d.Kind), d.Payload, record.Or(d.Meta, "{}"), date} {
		h.Write(field)
		h.Write([]byte{0})
	}
	return k.counts.HashKey(h.Sum(nil))
}

type reader struct {
	*record.Reading
	keys   Keys
	counts record.Counter
}

// Read makes the entries of a tape.
func Read(ctx context.Context, r *record.Reading) error {
	return record.Each(ctx, r.Source, isRecord, nil, &reader{Reading: r})
}

func isRecord(raw []byte) bool {
	_, err := jsonl.ParseDraft(raw)
	return err == nil
}

func (b *reader) Damaged(at record.Span, reason string) {
	b.PutDamaged("", at, reason, &b.counts)
}

func (b *reader) Record(_ record.Span, raw []byte) {
	b.Stats.Records++
	d, err := jsonl.ParseDraft(raw)
	if err != nil {
		// Bub ignores an object that is not an entry. We keep it.
		key := b.counts.Key(raw)
		if !b.Seen("", key) {
			b.Put(record.Event(key, "", "record", record.Compact(raw)))
		}
		return
	}
	key := b.keys.Next(d)
	d.Date = cmp.Or(d.Date, record.Date(jsonl.Get(raw, "timestamp")), b.Date)
	b.Date = d.Date
	if !b.Seen("", key) && b.Err == nil {
		b.Fail(b.Emit(record.Item{Entry: d, Keys: []string{key}, Line: bytes.Clone(raw)}))
	}
}

// Describe reads the start of a tape and its file's name.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	hash, name, ok := strings.Cut(src.Stem(), "__")
	if ok && name != "" && IsHash(hash) {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		info.Session, info.Full = name, hash+"__"+name
	}
	first := true
	return record.Scan(ctx, src, isRecord, nil, func(at record.Span, raw []byte) bool {
		info.Began(jsonl.Get(raw, "date"))
		info.Began(jsonl.Get(raw, "timestamp"))
		if first && info.Started == "" && info.Full != "" {
			info.Session = info.Full // without a date, sessions of two workspaces may begin alike
		}
		first = false
		info.Complete = info.Started != "" || at.Line >= record.OpeningLines
		return !info.Complete
	})
}

// IsHash reports whether s may be the hash that begins a file's name.
func IsHash(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}
