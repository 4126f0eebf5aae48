package importer

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"net/url"
	"strings"

	"tape/internal/jsonl"
)

// Bub's tapes have the line format of ours, written with a space after every
// colon and comma. Older lines have a "timestamp" in seconds in place of a
// date. The file's name is a hash of the workspace, two underscores, and the
// name of the tape: a hash of the session's id, or in older versions the name
// itself with what is special in URLs escaped.

// BubKeys makes the keys of Bub's entries. They keep nothing in their meta, as
// the entries stay as they are, so a key is made from an entry itself: a hash
// of everything but its id and the spelling of whitespace, and which of the
// identical ones it is. To know the keys that a tape has, call Next for each
// of its entries in their order.
type BubKeys struct{ counts counter }

// Next returns the key of the next entry. The draft has to come from
// [jsonl.ParseDraft] or [jsonl.Draft.Normalize].
func (b *BubKeys) Next(d jsonl.Draft) string {
	h := sha256.New()
	date := []byte(d.Date)
	if len(d.Extra) > 0 {
		extra := append(append([]byte{'{'}, d.Extra[1:]...), '}')
		if at := jsonl.Get(extra, "timestamp"); at != nil {
			date = at
		}
	}
	meta := d.Meta
	if meta == nil {
		meta = []byte("{}")
	}
	for _, field := range [][]byte{[]byte(d.Kind), d.Payload, meta, date} {
		h.Write(field)
		h.Write([]byte{0})
	}
	sum := h.Sum(nil)
	return hashKey(sum, b.counts.next(sum))
}

// Line is Next for an entry's line, as it is stored or as Bub wrote it.
func (b *BubKeys) Line(line []byte) string {
	d, err := jsonl.ParseDraft(line)
	if err != nil {
		return ""
	}
	return b.Next(d)
}

type bubReader struct {
	*reading
	keys   BubKeys
	counts counter
}

func readBub(r *reading) error {
	return eachLine(r.ctx, r.src, wholeBub, &bubReader{reading: r})
}

func wholeBub(raw []byte) bool {
	_, err := jsonl.ParseDraft(raw)
	return err == nil
}

func (b *bubReader) damaged(at span, reason string) error {
	return b.putDamaged("", at, reason, &b.counts)
}

func (b *bubReader) record(_ span, raw []byte) error {
	b.stats.Records++
	d, err := jsonl.ParseDraft(raw)
	if err != nil {
		// Bub passes over an object that is no entry. We keep it.
		key := b.counts.key(raw)
		if b.out.seen("", key) {
			b.stats.Skipped++
			return nil
		}
		return b.out.put(part{kind: kindEvent, payload: eventPayload("record", compact(raw)), keys: []string{key}})
	}
	key := b.keys.Next(d)
	if d.Date == "" {
		d.Date = normalDate(jsonl.Get(raw, "timestamp"))
	}
	if d.Date == "" {
		d.Date = b.out.date
	}
	b.out.date = d.Date
	if b.out.seen("", key) {
		b.stats.Skipped++
		return nil
	}
	return b.out.emit(Item{Entry: d, Keys: []string{key}, Line: bytes.Clone(raw)})
}

type bubOpening struct{ info *Info }

func (o *bubOpening) damaged(span, string) error { return nil }

func (o *bubOpening) record(at span, raw []byte) error {
	o.info.Started = normalDate(jsonl.Get(raw, "date"))
	if o.info.Started == "" {
		o.info.Started = normalDate(jsonl.Get(raw, "timestamp"))
	}
	if o.info.Started != "" || at.line >= openingLines {
		return errEnough
	}
	return nil
}

func describeBub(r *reading, info *Info) error {
	stem := r.src.stem()
	if hash, name, ok := strings.Cut(stem, "__"); ok && name != "" && isHex(hash) {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		info.Session = name
	}
	err := eachLine(r.ctx, r.src, wholeBub, &bubOpening{info: info})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func isHex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}
