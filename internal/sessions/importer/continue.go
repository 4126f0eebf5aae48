package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"tape/internal/sessions/importer/record"
	"tape/internal/store/join"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"tape/repo"
)

// Live says how to import a transcript that is still being written.
type Live struct {
	Formats Formats
	Format  string // one of Formats, or Auto
	// Idle says that a turn has ended: the model's last answer in the file is complete.
	Idle bool
	// Over says that the session has ended: nothing is held back.
	Over bool
	// Version is the program's: bookmarks of other versions are ignored.
	Version string
}

// Continue imports what is new in a transcript since the last call. A bookmark says where to go on, so
// that only the new part is read. Without one, or if file or tape do not match it, the file is read from
// the beginning, and what the tape lacks is added.
//
// What may still change is held back: an answer that is not complete, calls without results. So the
// tape becomes the same as by one import of the final file, except that what a person takes back later
// stays as it was.
//
// Each call commits what is new; in a workspace with the policy turn, also what is before each prompt
// of a person.
func Continue(ctx context.Context, s *repo.Store, path string, o Live) (*Result, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	src, closer, err := OpenSource(path, nil)
	if err != nil {
		return nil, err
	}
	res, err := follow(ctx, s, path, src, o)
	if o.Over && err == nil {
		_ = (*workspace.Store)(s).FS().Remove(bookmarkPath((*workspace.Store)(s), path)) // it is not needed any more
	}
	return res, errors.Join(err, closer.Close())
}

func follow(ctx context.Context, s *repo.Store, path string, src record.Source, o Live) (*Result, error) {
	src.Open, src.Idle = !o.Over, o.Idle
	f := &following{store: s, path: path, src: src}
	res, err := f.goOn(ctx, o)
	if errors.Is(err, record.ErrMisfit) {
		res, err = f.begin(ctx, o)
	}
	return res, err
}

// following is one call of Continue.
type following struct {
	store *repo.Store
	path  string
	src   record.Source
}

// goOn reads what is after the bookmark. ErrMisfit says that the bookmark does not match and nothing was
// changed.
func (f *following) goOn(ctx context.Context, o Live) (*Result, error) {
	b, ok := loadBookmark((*workspace.Store)(f.store), f.path, f.src)
	format := o.Formats.Find(b.Format)
	if !ok || format == nil || b.Program != o.Version || o.Format != "" && o.Format != Auto && o.Format != b.Format {
		return nil, record.ErrMisfit
	}
	res := &Result{File: f.path, Format: b.Format, Tape: b.Tape}
	in := newIntake(f.store, nil, format, record.Info{Format: b.Format}, Options{live: true}, res)
	r := &record.Reading{Source: f.src, Format: b.Format, Date: b.Date, From: &b.Restart}
	r.Start = record.Span{Off: b.Off, Line: b.Line}
	r.Last = &record.Restart{Off: b.Off, Line: b.Line, Date: b.Date}
	stored := b.Since // sums of items that the tape has already
	r.Seen = func(string, string) bool { return false }
	r.Emit = func(item record.Item) error {
		switch {
		case item.Fork != "":
			return record.ErrMisfit
		case len(stored) > 0:
			sum := item.Sum()
			rest, same := bytes.CutPrefix(stored, sum[:])
			if stored = rest; !same {
				return record.ErrMisfit
			}
			return nil
		case in.tx == nil:
			in.resume(ctx, b)
		}
		return in.add(ctx, item)
	}
	err := errors.Join(format.Read(ctx, r), r.Err)
	if err == nil && len(stored) > 0 {
		err = record.ErrMisfit
	}
	if err = in.finish(ctx, err); err != nil {
		if errors.Is(err, record.ErrMisfit) {
			return nil, record.ErrMisfit
		}
		return nil, fmt.Errorf("import %s into tape %q: %w", f.path, b.Tape, err)
	}
	res.Stats = r.Stats
	f.save(ctx, in, b, r.Last)
	return res, nil
}

// resume begins the change of a tape if the tape ends as the bookmark says.
func (in *intake) resume(ctx context.Context, b bookmark) {
	tape, err := in.store.Tape(ctx, b.Tape)
	if errors.Is(err, repo.ErrNotFound) {
		err = record.ErrMisfit
	}
	if err != nil {
		in.fail(err)
		return
	}
	t := (*workspace.Tape)(tape)
	in.fail(join.Settled(ctx, func() (err error) {
		in.tx, err = writer.BeginBare(ctx, t)
		return err
	}))
	if in.err != nil {
		return
	}
	if head, err := t.Head(); err != nil {
		in.fail(err)
	} else if head.String() != b.Head || in.tx.LastID() != b.Entries {
		in.fail(record.ErrMisfit)
	}
}

// begin reads the whole file.
func (f *following) begin(ctx context.Context, o Live) (*Result, error) {
	var res Result
	var failed error
	open := func(string) (record.Source, io.Closer, error) { return f.src, io.NopCloser(nil), nil }
	batch := NewBatch(f.store, o.Version, open, func(r Result, err error) error {
		res, failed = r, err
		return nil
	})
	defer batch.Close()
	out := outcome{o: Options{Formats: o.Formats, Format: o.Format, live: true}, res: Result{File: f.path, Format: o.Format}}
	if err := batch.add(ctx, out); err != nil {
		return nil, err
	}
	in, r := batch.read[0].in, batch.read[0].reading
	if err := errors.Join(batch.Flush(ctx), failed); err != nil {
		return nil, err
	}
	if in != nil && in.tx != nil && r.Last != nil && r.Home == "" {
		f.save(ctx, in, bookmark{Program: o.Version, Format: res.Format, Tape: res.Tape}, r.Last)
	}
	return &res, nil
}

// save writes the bookmark for the next call.
func (f *following) save(ctx context.Context, in *intake, b bookmark, at *record.Restart) {
	if !f.src.Open || at.State == nil {
		return
	}
	if in.tx != nil {
		tape, err := f.store.Tape(ctx, b.Tape)
		if err != nil {
			return
		}
		head, err := (*workspace.Tape)(tape).Head()
		if err != nil {
			return
		}
		b.Head, b.Entries = head.String(), in.tx.LastID()
	}
	saveBookmark((*workspace.Store)(f.store), f.path, f.src, b, at)
}
