package index

import (
	"database/sql"
	"fmt"
	"slices"

	"tape/internal/text"
	"tape/repo"
)

// candidate is a document that may match: its row, and once it was read its entry.
type candidate struct {
	doc     int64
	rank    int        // of its tape, see layout
	of      *repo.Tape // whose files it is in
	kind    string
	created int64 // microseconds since 1970; 0: no date
	seq     int
	file    int64
	at      repo.Position
	sign    int64

	score float64
	more  int // documents folded into it

	entry repo.Entry
	text  []byte
	match text.Match
}

// candidate reads a document's row.
func (f *finder) candidate(doc int64) (candidate, error) {
	sc := f.eval.scopeOf(doc)
	return f.candidateIn(doc, sc.of, sc.rank)
}

func (f *finder) candidateIn(doc int64, of *repo.Tape, rank int) (candidate, error) {
	c := candidate{doc: doc, of: of, rank: rank}
	var created sql.NullInt64
	ok, err := f.db.row("SELECT kind, created, seq, file, line, offset, length, sign FROM lines WHERE doc = ?", []any{doc},
		&c.kind, &created, &c.seq, &c.file, &c.at.Line, &c.at.Offset, &c.at.Length, &c.sign)
	if err == nil && !ok {
		err = fmt.Errorf("%w: there is no line %d", errStrange, idOf(doc))
	}
	c.created = created.Int64
	return c, err
}

// match reads a candidate's entry back, and asks the query.
func (f *finder) match(c *candidate) (bool, error) {
	var err error
	if c.entry, err = f.entry(c); err != nil {
		return false, err
	}
	f.body = text.AppendEntry(f.body[:0], c.entry.Kind, c.entry.Payload)
	var ok bool
	if c.match, ok = f.query.Match(f.body); ok {
		c.text, f.body = f.body, nil
	}
	return ok, nil
}

// entry reads an entry back from its tape.
func (f *finder) entry(c *candidate) (repo.Entry, error) {
	no := tapeOf(c.doc)
	key := phaseKey{no, c.seq}
	phase, ok := f.folders[key]
	if !ok {
		if _, err := f.db.row("SELECT name, folder FROM phases WHERE tape = ? AND seq = ?", []any{no, c.seq}, &phase.name, &phase.folder); err != nil {
			return repo.Entry{}, err
		}
		f.folders[key] = phase
	}
	name, ok := f.names[c.file]
	if !ok {
		if _, err := f.db.row("SELECT name FROM files WHERE no = ?", []any{c.file}, &name); err != nil {
			return repo.Entry{}, err
		}
		f.names[c.file] = name
	}
	r, err := f.reader(no, c.of)
	if err != nil {
		return repo.Entry{}, err
	}
	c.at.Folder, c.at.File = phase.folder, name
	e, err := r.Entry(c.at, phase.name, c.seq)
	if err != nil {
		return e, fmt.Errorf("%w: %w", errStrange, err)
	}
	if e.ID != idOf(c.doc) || e.Kind != c.kind {
		return e, fmt.Errorf("%w: %s/%s:%d is not entry %d", errStrange, c.at.Folder, c.at.File, c.at.Line+1, idOf(c.doc))
	}
	e.Tape = f.eval.tapes[c.rank].tape.Name()
	return e, nil
}

// reader reads from the tape that an entry is stored with: the working tree of a fork does
// not have its parent's files.
func (f *finder) reader(no int64, of *repo.Tape) (*repo.Reader, error) {
	if r := f.readers[no]; r != nil {
		return r, nil
	}
	r, err := of.Reader()
	if err == nil {
		f.readers[no] = r
	}
	return r, err
}

// neighbours adds what is before and after each hit.
func (f *finder) neighbours(hits []Hit) error {
	n := int64(f.s.Context)
	for i := range hits {
		h := &hits[i]
		rank := slices.IndexFunc(f.eval.tapes, func(t searched) bool { return t.tape.Name() == h.Tape })
		where := f.eval.tapes[rank].all
		for id := max(1, h.ID-n); id <= min(h.ID+n, where[0].hi) && n > 0; id++ {
			if id == h.ID {
				continue
			}
			p := where.part(id)
			c, err := f.candidateIn(docOf(p.no, id), p.of, rank)
			if err != nil {
				return err
			}
			e, err := f.entry(&c)
			if err != nil {
				return err
			}
			if id < h.ID {
				h.Before = append(h.Before, e)
			} else {
				h.After = append(h.After, e)
			}
		}
	}
	return nil
}
