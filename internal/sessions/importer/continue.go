package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"tape/internal/git/projectgit"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/forks"
	"tape/internal/store/join"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"tape/repo"
)

// Live says how to import a transcript that is still being written.
type Live struct {
	Formats Formats
	Format  string // the name of one of Formats; Auto or "" detects it
	// TurnEnded says that a turn has ended: the model's last answer in the file is complete.
	TurnEnded bool
	// SessionEnded says that the session has ended: nothing is held back.
	SessionEnded bool
	// Version is the program's: bookmarks of other versions are ignored.
	Version string
}

// Continue imports what is new in a transcript since the last call. A bookmark says where to continue, so
// that it reads only the new part. Without a bookmark, or if the file or the tape does not match it, it
// reads the file from the beginning and adds what the tape lacks.
//
// It holds back what may still change: incomplete answers, calls without results. So the tape becomes
// what one import of the final file would make it. If a person takes back what is on the tape already,
// the tape is made anew, see [Again], unless others have it or it has entries that were not imported.
//
// Each call commits what is new; with the commit policy "turn", it also commits before each prompt of a
// person.
func Continue(ctx context.Context, s *repo.Store, path string, o Live) (*Result, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	src, closer, err := OpenSource(path, nil)
	if err != nil {
		return nil, err
	}
	res, err := importLive(ctx, s, path, src, o)
	if err == nil && res.tookBack {
		err = anew(ctx, s, path, src, o, res)
	}
	if o.SessionEnded && err == nil {
		_ = (*workspace.Store)(s).FS().Remove(bookmarkPath((*workspace.Store)(s), path)) // nobody needs it any more
	}
	err = errors.Join(err, closer.Close())
	if former, ok := errors.AsType[formerError](err); ok {
		o.Format = Auto
		return Continue(ctx, s, former.path, o)
	}
	return res, err
}

// anew makes the tape of a live session anew, because it has in its context what a person took back.
func anew(ctx context.Context, s *repo.Store, path string, src record.Source, o Live, res *Result) error {
	t, err := s.Tape(ctx, res.Tape)
	if err != nil {
		return err
	}
	remotes, err := t.Distances(ctx)
	if err != nil || slices.ContainsFunc(remotes, func(r repo.Distance) bool { return r.Shared }) || forks.CheckNoneOpen(ctx, (*workspace.Tape)(t)) != nil {
		return err
	}
	src.Open, src.Idle = !o.SessionEnded, o.TurnEnded
	open := func(string) (record.Source, io.Closer, error) { return src, io.NopCloser(nil), nil }
	_, err = remake(ctx, s, t, path, o.Version, Options{Formats: o.Formats, Format: res.Format, live: true}, open)
	if errors.Is(err, repo.ErrInvalid) { // it stays as it is
		err = nil
	}
	return err
}

func importLive(ctx context.Context, s *repo.Store, path string, src record.Source, o Live) (*Result, error) {
	src.Open, src.Idle = !o.SessionEnded, o.TurnEnded
	f := &liveImport{store: s, path: path, src: src}
	res, err := f.fromBookmark(ctx, o)
	if errors.Is(err, record.ErrNotRestartable) {
		res, err = f.fromStart(ctx, o)
	}
	return res, err
}

// liveImport is one call of [Continue].
type liveImport struct {
	store *repo.Store
	path  string
	src   record.Source
}

// fromBookmark reads what is after the bookmark. It returns ErrNotRestartable if the bookmark does not match; then nothing
// was changed.
func (f *liveImport) fromBookmark(ctx context.Context, o Live) (*Result, error) {
	b, ok := loadBookmark((*workspace.Store)(f.store), f.path, f.src)
	format := o.Formats.Find(b.Format)
	if !ok || format == nil || b.Program != o.Version || o.Format != "" && o.Format != Auto && o.Format != b.Format {
		return nil, record.ErrNotRestartable
	}
	res := &Result{File: f.path, Format: b.Format, Tape: b.Tape}
	in := newIntake(f.store, nil, format, record.Info{Format: b.Format}, Options{live: true}, res)
	var git projectgit.Resolver
	defer git.Close()
	in.git = &git
	r := &record.Reading{Source: f.src, Format: b.Format, Date: b.Date, From: &b.Restart}
	in.stats = &r.Stats
	r.Start = record.Span{Off: b.Off, Line: b.Line}
	r.Last = &record.Restart{Off: b.Off, Line: b.Line, Date: b.Date}
	stored := b.Since // sums of items after the bookmark that the tape already has
	r.Seen = func(string, string) bool { return false }
	r.Emit = func(item record.Item) error {
		switch {
		case item.Fork != "":
			return record.ErrNotRestartable
		case len(stored) > 0:
			sum := item.Sum()
			rest, same := bytes.CutPrefix(stored, sum[:])
			if stored = rest; !same {
				return record.ErrNotRestartable
			}
			return nil
		case in.tx == nil:
			in.resume(ctx, b)
		}
		return in.add(ctx, item)
	}
	err := errors.Join(format.Read(ctx, r), r.Err)
	if err == nil && len(stored) > 0 {
		err = record.ErrNotRestartable
	}
	if err = in.finish(ctx, err); err != nil {
		if errors.Is(err, record.ErrNotRestartable) {
			return nil, record.ErrNotRestartable
		}
		return nil, fmt.Errorf("import %s into tape %q: %w", f.path, b.Tape, err)
	}
	res.Stats = r.Stats
	f.save(ctx, in, b, r.Last)
	return res, nil
}

// resume opens the bookmark's tape for changes. It fails with ErrNotRestartable if the tape does not end as the bookmark says.
func (in *intake) resume(ctx context.Context, b bookmark) {
	tape, err := in.store.Tape(ctx, b.Tape)
	if errors.Is(err, repo.ErrNotFound) {
		err = record.ErrNotRestartable
	}
	if err != nil {
		in.fail(err)
		return
	}
	t := (*workspace.Tape)(tape)
	in.fail(join.WithMergesCompleted(ctx, func() (err error) {
		if in.tx, err = writer.BeginBare(ctx, t); err == nil {
			err = in.tx.DateCommits()
		}
		return err
	}))
	if in.err != nil {
		return
	}
	if head, err := t.Head(); err != nil {
		in.fail(err)
	} else if head.String() != b.Head || in.tx.LastID() != b.Entries {
		in.fail(record.ErrNotRestartable)
	}
}

// fromStart reads the file from its beginning.
func (f *liveImport) fromStart(ctx context.Context, o Live) (*Result, error) {
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
	in, r := batch.pending[0].in, batch.pending[0].reading
	if err := errors.Join(batch.Flush(ctx), failed); err != nil {
		return nil, err
	}
	if in != nil && in.tx != nil && r.Last != nil && r.Home == "" {
		f.save(ctx, in, bookmark{Program: o.Version, Format: res.Format, Tape: res.Tape}, r.Last)
	}
	return &res, nil
}

// save writes the bookmark for the next call.
func (f *liveImport) save(ctx context.Context, in *intake, b bookmark, at *record.Restart) {
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
