package find

import (
	"context"
	"fmt"
	"slices"

	"tape/index/internal/store"
	"tape/internal/text"
	"tape/repo"
)

// candidate is a document that may match: its row and, once read, its entry.
type candidate struct {
	doc    int64
	rank   int        // of its tape: index into placement.tapes
	holder *repo.Tape // the tape whose files contain it
	store.Line

	stored repo.Entry // as stored, for Search.Stored
	entry  repo.Entry // as seen by the caller
	call   repo.Entry // that the entry tells more about, if it is shown as that
}

func (f *finder) candidate(doc int64) (candidate, error) {
	sc := f.eval.scopeOf(doc)
	line, err := f.line(doc)
	return candidate{doc: doc, holder: sc.holder, rank: sc.rank, Line: line}, err
}

// mostLines is how many rows of documents are cached.
const mostLines = 4096

// fetch reads the rows of documents at once, as far as there is room for them.
func (f *finder) fetch(docs []int64) error {
	missing := make([]int64, 0, len(docs))
	for _, doc := range docs {
		if _, ok := f.lines[doc]; !ok {
			missing = append(missing, doc)
		}
	}
	if missing = missing[:min(len(missing), mostLines)]; len(missing) == 0 {
		return nil
	}
	if len(f.lines)+len(missing) > mostLines {
		clear(f.lines)
	}
	return f.db.Lines(missing, func(doc int64, l store.Line) { f.lines[doc] = l })
}

// line reads the row of a document. It caches a few thousand rows, because newestOf and judge read the same ones.
func (f *finder) line(doc int64) (store.Line, error) {
	if l, ok := f.lines[doc]; ok {
		return l, nil
	}
	l, err := f.db.Line(doc)
	if len(f.lines) >= mostLines {
		clear(f.lines)
	}
	f.lines[doc] = l
	return l, err
}

// read reads a candidate's entry, and returns its text; nil if the caller may not see it.
func (f *finder) read(ctx context.Context, c *candidate) ([]byte, error) {
	var err error
	if c.entry, err = f.entry(ctx, c); err != nil {
		return nil, err
	}
	if f.s.Stored {
		if c.stored = c.entry; len(c.entry.Raw) > StoredLimit {
			c.stored = repo.Entry{ID: c.entry.ID, Tape: c.entry.Tape}
		}
	}
	c.entry = f.db.View.Entry(c.holder, c.entry)
	if f.seen != nil {
		var visible bool
		if c.entry, visible = f.seen(c.entry); !visible {
			return nil, nil
		}
	}
	body := text.AppendEntry(make([]byte, 0, len(c.entry.Payload)+len(c.entry.Attached)+1), c.entry.Kind, c.entry.Payload)
	if !f.s.Own {
		body = store.AppendAttached(body, c.entry)
	}
	return body, nil
}

// entry reads an entry from the files of the tape that holds it, because the working tree of a fork does not
// have its parent's files.
func (f *finder) entry(ctx context.Context, c *candidate) (e repo.Entry, err error) {
	file, ok := f.files[c.File]
	if !ok {
		if file, err = f.db.File(c.File); err != nil {
			return e, err
		}
		f.files[c.File] = file
	}
	key := phaseKey{store.TapeOf(c.doc), file.Seq}
	phase, ok := f.phases[key]
	if !ok {
		if phase, err = f.db.Phase(key.tape, key.seq); err != nil {
			return e, err
		}
		f.phases[key] = phase
	}
	r, err := f.readers.get(ctx, c.holder, f.commits[c.holder.Branch()])
	if err != nil {
		return e, err
	}
	c.At.Folder, c.At.File = phase.Folder, file.Name
	if e, err = r.Entry(c.At, phase.Name, file.Seq); err != nil {
		return e, fmt.Errorf("%w: %w", store.ErrInconsistent, err)
	}
	e = r.Attach(e)
	if id := store.IDOf(c.doc); e.ID != id || e.Kind != c.Kind {
		return e, fmt.Errorf("%w: %s/%s:%d is not entry %d", store.ErrInconsistent, c.At.Folder, c.At.File, c.At.Line+1, id)
	}
	e.Tape = f.eval.tapes[c.rank].tape.Name()
	return e, nil
}

// neighbours adds the entries around each hit; see [Search.Context].
func (f *finder) neighbours(ctx context.Context, hits []Hit) error {
	return surround(hits, f.s.Context, func(tape string, id int64) (e repo.Entry, ok bool, err error) {
		rank := slices.IndexFunc(f.eval.tapes, func(t searchedTape) bool { return t.tape.Name() == tape })
		where := f.eval.tapes[rank].all
		if id > where[0].hi {
			return e, false, nil
		}
		p := where.part(id)
		c := candidate{doc: store.DocOf(p.no, id), holder: p.holder, rank: rank}
		if c.Line, err = f.db.Line(c.doc); err == nil {
			e, err = f.entry(ctx, &c)
			e = f.db.View.Entry(p.holder, e)
		}
		return e, true, err
	})
}
