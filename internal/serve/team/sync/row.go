package sync

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"tape/internal/serve/team/db"
	"tape/internal/store/layout"
	"tape/internal/store/relevance"
	"tape/internal/store/snapshot"
	"tape/internal/text"
	"tape/internal/text/secrets"
)

// rower makes rows of entries. Nothing of an entry leaves it unmasked.
type rower struct {
	scanner *secrets.Scanner
	key     []byte // of marks
	now     time.Time

	words text.Tokenizer
	text  []byte
	times map[string]int
	list  []string
	known map[string]string // words, so that rows share their memory
}

func newRower(key []byte, now time.Time) *rower {
	return &rower{scanner: secrets.New(), key: key, now: now, times: map[string]int{}, known: map[string]string{}}
}

// masked returns an entry without its secrets.
func (r *rower) masked(e layout.Entry) (layout.Entry, error) {
	line, found := r.scanner.MaskAs(e.Raw, nil, func(f secrets.Finding) string { return f.Keyed(r.key).Mark() })
	if len(found) == 0 {
		return e, nil
	}
	return snapshot.ParseEntry(line, e.Tape, e.Anchor, e.AnchorSeq)
}

// maskedText is a text without its secrets.
func (r *rower) maskedText(plain []byte) []byte {
	if len(plain) == 0 {
		return nil
	}
	var out string
	value, err := json.Marshal(string(plain))
	if err == nil {
		value, _ = r.scanner.MaskAs(value, nil, func(f secrets.Finding) string { return f.Keyed(r.key).Mark() })
		err = json.Unmarshal(value, &out)
	}
	if err != nil {
		return nil // rather nothing than something unmasked
	}
	return []byte(out)
}

// row makes the row of a masked entry. size is the length of its line in git, attached the masked text of its
// artifacts: a search finds what a search in a workspace does.
func (r *rower) row(e layout.Entry, owner string, size int, attached []byte) db.Row {
	r.text = text.AppendEntry(r.text[:0], e.Kind, e.Payload)
	sign := int64(relevance.SignOf(e.Kind, r.text))
	if len(attached) > 0 {
		r.text = append(append(r.text, text.Sep), attached...)
	}
	out := db.Row{ID: e.ID, Kind: clean(e.Kind), Role: clean(e.Role()), Author: clean(e.Author()), Phase: e.AnchorSeq, Anchor: clean(e.Anchor),
		Sign: sign, Bytes: size, Text: clean(string(r.text)), Line: clean(string(e.Raw))}
	if out.Author == "" {
		out.Author = clean(owner)
	}
	at, ok := e.Time()
	out.Date = db.Dated(at, ok, r.now).Truncate(time.Microsecond)
	out.Words = r.wordsOf(e, out)
	return out
}

// clean is text as PostgreSQL takes it.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// mostWords is how many bytes the words of an entry may have; PostgreSQL takes a megabyte.
const mostWords = 512 << 10

// wordsOf returns the words of the text, as the index of a workspace has them, and marks.
func (r *rower) wordsOf(e layout.Entry, row db.Row) []string {
	clear(r.times)
	r.list = r.list[:0]
	size := 0
	talk := relevance.IsTalk(e.Kind)
	r.words.Reset(r.text)
	for r.words.Next() {
		n, known := r.times[string(r.words.Term)]
		if !known {
			if size += len(r.words.Term); size > mostWords || bytes.IndexByte(r.words.Term, 0) >= 0 {
				continue
			}
			r.list = append(r.list, r.word(r.words.Term))
		}
		r.times[string(r.words.Term)] = n + 1
		if talk && n+1 == relevance.OftenTimes {
			r.list = append(r.list, relevance.MarkOften+string(r.words.Term))
		}
	}
	for _, mark := range Marks(e, row.Author) {
		r.list = append(r.list, mark)
	}
	return slices.Clone(r.list)
}

func (r *rower) word(term []byte) string {
	const most = 1 << 16
	if w, ok := r.known[string(term)]; ok {
		return w
	}
	if len(r.known) >= most {
		clear(r.known)
	}
	w := string(term)
	r.known[w] = w
	return w
}

// The marks of an entry's properties, beside those of package relevance.
const (
	MarkRole   = relevance.Mark + "r"
	MarkAuthor = relevance.Mark + "a"
)

// Marks are the terms of an entry that are not in its text.
func Marks(e layout.Entry, author string) (marks []string) {
	add := func(mark, value string) {
		const longest = 200 // bytes
		if value != "" {
			marks = append(marks, mark+strings.ToValidUTF8(value[:min(len(value), longest)], ""))
		}
	}
	add(relevance.MarkKind, clean(e.Kind))
	add(MarkRole, clean(e.Role()))
	add(MarkAuthor, author)
	add(relevance.MarkName, clean(relevance.NameOf(e)))
	if relevance.IsSearch(e) {
		marks = append(marks, relevance.MarkSearch)
	}
	return marks
}

// title is a text of a list: one line, not too long.
func title(s string) string { return clean(strings.Join(strings.Fields(s), " ")) }
