package sync

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"tape/internal/serve/team/db"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/store/relevance"
	"tape/internal/store/snapshot"
	"tape/internal/text"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
)

// rowMaker makes rows of masked entries.
type rowMaker struct {
	scanner *secrets.Scanner
	key     []byte // for the fingerprints in mask marks
	now     time.Time

	anchors [2]string // the last name of an anchor, and that name masked

	words text.Tokenizer
	text  []byte
	list  []string
	entry int              // number of the current row
	known map[string]*word // by text; rows share the texts
}

// word is a word, with the last entry that has it, and how often it is there.
type word struct {
	text         string
	entry, times int
}

func newRowMaker(key []byte, now time.Time) *rowMaker {
	return &rowMaker{scanner: secrets.New(), key: key, now: now, known: map[string]*word{}}
}

// masked returns an entry without its secrets.
func (r *rowMaker) masked(e layout.Entry) (layout.Entry, error) {
	line, found := r.scanner.MaskAs(e.Raw, nil, r.mark)
	e.Anchor = r.anchor(e.Anchor)
	if len(found) == 0 {
		return e, nil
	}
	return snapshot.ParseEntry(line, e.Tape, e.Anchor, e.AnchorSeq)
}

// anchor returns the name of an anchor without its secrets. The entries of a phase have the same.
func (r *rowMaker) anchor(name string) string {
	if r.anchors[0] != name {
		r.anchors = [2]string{name, string(r.maskedText([]byte(name)))}
	}
	return r.anchors[1]
}

// mark returns the mask mark of a secret.
func (r *rowMaker) mark(f secrets.Finding) string { return f.Keyed(r.key).Mark() }

// maskedText returns a text without its secrets.
func (r *rowMaker) maskedText(plain []byte) []byte {
	value, _ := r.scanner.MaskAs(jsonl.AppendString(nil, string(plain)), nil, r.mark)
	return jsonl.AppendDecoded(nil, value[1:len(value)-1])
}

// row makes the row of a masked entry. size is the length of its line in git, in bytes. attached is the masked text of
// its artifacts, which can be searched as well, as in a workspace.
func (r *rowMaker) row(e layout.Entry, owner string, size int, attached []byte) db.Row {
	r.text = text.AppendEntry(r.text[:0], e.Kind, e.Payload)
	sign := int64(relevance.FoldKey(e.Kind, r.text))
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

// clean returns a text that PostgreSQL accepts.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// mostWords limits the words of an entry together, in bytes. PostgreSQL accepts one megabyte.
const mostWords = 512 << 10

// wordsOf returns the words of the row's text and its marks, as the index of a workspace has them.
func (r *rowMaker) wordsOf(e layout.Entry, row db.Row) []string {
	const mostKnown = 1 << 16
	if len(r.known) > mostKnown {
		clear(r.known)
	}
	r.entry++
	r.list = r.list[:0]
	size := 0
	talk := relevance.IsTalk(e.Kind)
	r.words.Reset(r.text)
	for r.words.Next() {
		w := r.known[string(r.words.Term)]
		if w == nil {
			if bytes.IndexByte(r.words.Term, 0) >= 0 {
				continue
			}
			w = &word{text: string(r.words.Term)}
			r.known[w.text] = w
		}
		if w.entry != r.entry {
			if size += len(w.text); size > mostWords {
				continue
			}
			r.list = append(r.list, w.text)
			w.entry, w.times = r.entry, 0
		}
		if w.times++; talk && w.times == relevance.OftenTimes {
			r.list = append(r.list, relevance.MarkOften+w.text)
		}
	}
	return append(slices.Clone(r.list), marks(e, row.Author)...)
}

// marks returns the terms of an entry that are not in its text. author is the tape's owner if the entry names none.
func marks(e layout.Entry, author string) (list []string) {
	add := func(mark, value string) {
		if value != "" {
			list = append(list, mark+relevance.Shortened(clean(value)))
		}
	}
	for _, p := range snapshot.Properties {
		for _, value := range p.Of(e) {
			if p.Owned && value == "" {
				value = author
			}
			add(relevance.Mark+p.Mark, value)
		}
	}
	add(relevance.MarkName, relevance.NameOf(e))
	if relevance.IsSearch(e) {
		list = append(list, relevance.MarkSearch)
	}
	return list
}

// oneLine returns a text on one line.
func oneLine(s string) string { return clean(strings.Join(strings.Fields(s), " ")) }

// extend adds an entry to the bounds and sums of a tape.
func extend(t *db.Tape, r db.Row) {
	if t.Entries == 0 {
		t.FirstID, t.Oldest, t.Newest = r.ID, r.Date, r.Date
	}
	if r.Date.Before(t.Oldest) {
		t.Oldest = r.Date
	}
	if r.Date.After(t.Newest) {
		t.Newest = r.Date
	}
	t.LastID = r.ID
	t.Entries++
	t.Bytes += int64(r.Bytes)
}

// describe sets what lists show about a tape.
func describe(t *db.Tape, facts about.Tape) error {
	saved, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	t.About = clean(string(saved))
	t.Title, t.Agent, t.Model, t.Project = oneLine(facts.Title), oneLine(facts.Agent), oneLine(facts.Model), clean(facts.Project)
	t.Messages, t.Calls, t.Tokens, t.Anchors = facts.Messages, facts.ToolCalls, facts.Tokens, facts.Anchors
	t.Authors = []string{}
	for _, a := range facts.Authors {
		t.Authors = append(t.Authors, clean(a))
	}
	t.Started, t.Updated = dateOrNil(facts.Started), dateOrNil(facts.Updated)
	return nil
}

// dateOrNil returns a date in UTC, nil if it is zero or its year does not have four digits.
func dateOrNil(at time.Time) *time.Time {
	if at.IsZero() || at.Year() < 1 || at.Year() > 9999 {
		return nil
	}
	at = at.UTC()
	return &at
}
