package find

import (
	"context"
	"fmt"
	"slices"

	"tape/index/internal/store"
	"tape/internal/text"
	"tape/internal/text/query"
	"tape/repo"
)

// candidate is a document that may match: its row and, once read, its entry.
type candidate struct {
	doc  int64
	rank int        // of its tape, see placement
	of   *repo.Tape // the tape whose files it is in
	store.Line

	score float64
	more  int // how many documents were folded into it

	stored repo.Entry // as stored, for Search.Stored
	entry  repo.Entry // as seen by the caller
	text   []byte
	match  query.Match

	snippet string // made early if entry and text are not kept
}

func (f *finder) candidate(doc int64) (candidate, error) {
	sc := f.eval.scopeOf(doc)
	line, err := f.line(doc)
	return candidate{doc: doc, of: sc.of, rank: sc.rank, Line: line}, err
}

// line reads the row of a document. It caches a few thousand, because those that may be the newest are
// read more than once.
func (f *finder) line(doc int64) (store.Line, error) {
	const most = 4096
	if l, ok := f.lines[doc]; ok {
		return l, nil
	}
	l, err := f.db.Line(doc)
	if len(f.lines) >= most {
		clear(f.lines)
	}
	f.lines[doc] = l
	return l, err
}

// match reads a candidate's entry, and matches the query against it.
func (f *finder) match(ctx context.Context, c *candidate) (bool, error) {
	var err error
	if c.entry, err = f.entry(ctx, c); err != nil {
		return false, err
	}
	if f.s.Stored {
		if c.stored = c.entry; len(c.entry.Raw) > StoredLimit {
			c.stored = repo.Entry{ID: c.entry.ID, Tape: c.entry.Tape}
		}
	}
	c.entry = f.db.View.Entry(c.of, c.entry)
	if f.seen != nil {
		var seen bool
		if c.entry, seen = f.seen(c.entry); !seen {
			return false, nil
		}
	}
	f.body = text.AppendEntry(f.body[:0], c.entry.Kind, c.entry.Payload)
	if !f.s.Own {
		f.body = store.AppendAttached(f.body, c.entry)
	}
	var ok bool
	if c.match, ok = f.query.Match(f.body); ok {
		c.text, f.body = f.body, nil
	}
	return ok, nil
}

// entry reads an entry back from the tape that it is stored with, because the working tree of a fork
// does not have its parent's files.
func (f *finder) entry(ctx context.Context, c *candidate) (e repo.Entry, err error) {
	key := phaseKey{store.TapeOf(c.doc), c.Seq}
	phase, ok := f.phases[key]
	if !ok {
		if phase, err = f.db.Phase(key.tape, key.seq); err != nil {
			return e, err
		}
		f.phases[key] = phase
	}
	name, ok := f.names[c.File]
	if !ok {
		if name, err = f.db.FileName(c.File); err != nil {
			return e, err
		}
		f.names[c.File] = name
	}
	r, err := f.readers.of(ctx, c.of, f.commits[c.of.Branch()])
	if err != nil {
		return e, err
	}
	c.At.Folder, c.At.File = phase.Folder, name
	if e, err = r.Entry(c.At, phase.Name, c.Seq); err != nil {
		return e, fmt.Errorf("%w: %w", store.ErrInconsistent, err)
	}
	e = r.Attach(e)
	if id := store.IDOf(c.doc); e.ID != id || e.Kind != c.Kind {
		return e, fmt.Errorf("%w: %s/%s:%d is not entry %d", store.ErrInconsistent, c.At.Folder, c.At.File, c.At.Line+1, id)
	}
	e.Tape = f.eval.tapes[c.rank].tape.Name()
	return e, nil
}

func (f *finder) neighbours(ctx context.Context, hits []Hit) error {
	return surround(hits, f.s.Context, func(tape string, id int64) (e repo.Entry, ok bool, err error) {
		rank := slices.IndexFunc(f.eval.tapes, func(t searched) bool { return t.tape.Name() == tape })
		where := f.eval.tapes[rank].all
		if id > where[0].hi {
			return e, false, nil
		}
		p := where.part(id)
		c := candidate{doc: store.DocOf(p.no, id), of: p.of, rank: rank}
		if c.Line, err = f.db.Line(c.doc); err == nil {
			e, err = f.entry(ctx, &c)
			e = f.db.View.Entry(p.of, e)
		}
		return e, true, err
	})
}
