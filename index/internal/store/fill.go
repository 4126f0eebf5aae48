package store

import (
	"context"
	"errors"
	"iter"
	"runtime"

	"golang.org/x/sync/errgroup"

	"tape/index/internal/fts5"
	"tape/internal/store/query"
	"tape/repo"
)

// How new entries become rows. One goroutine reads them, several collect their words, and the caller's goroutine
// writes rows and words to the database: see fillParallel.

const (
	// Limits of a batch of entries.
	batchEntries = 256
	batchBytes   = 1 << 20
	// builderBytes limits the words that all workers together keep in memory.
	builderBytes = 96 << 20
)

type batch struct {
	number  int
	last    bool
	entries []repo.Entry
	lines   []Line        // of the entries, once their words were collected
	words   *fts5.Builder // a builder that is full, or a worker's last one; or nil
}

func send(ctx context.Context, to chan<- *batch, b *batch) error {
	if err := ctx.Err(); err != nil { // a select takes any of the cases that are ready
		return err
	}
	select {
	case to <- b:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// filler adds the new entries of several tapes. A tape usually has few, so its words wait for those of the
// next tape. Many entries of one tape are handled by several goroutines.
type filler struct {
	words *wordWriter
	// Waiting words, with ascending documents in each: of tapes that the index had, and of new ones.
	waiting [2]*wordCollector
	old     int64 // the highest number of a tape that the index had
	notes   bool  // also read what was done
}

// fill reads a suffix. For every entry, in order, it calls read with the entry, and row with its line, which
// is made from show(entry). It calls row on the caller's goroutine; if there are many entries, read on another
// one, and show on several at once.
func (f *filler) fill(ctx context.Context, s *query.Suffix, tape int64, show func(repo.Entry) repo.Entry, read func(repo.Entry), row func(Line) error) error {
	next, stop := iter.Pull2(s.Entries(ctx))
	defer stop()
	source := func() (*batch, error) { return readBatch(next, read) }
	b, err := source()
	if err != nil {
		return err
	}
	if !b.last {
		return f.fillParallel(ctx, b, source, tape, show, row)
	}
	w, err := f.collector(tape)
	if err != nil {
		return err
	}
	for _, e := range b.entries {
		if err := row(w.add(tape, show(e))); err != nil {
			return err
		}
	}
	return nil
}

// collector returns the collector for the words of a tape, whose documents must come after those that the
// collector has.
func (f *filler) collector(tape int64) (*wordCollector, error) {
	i := 0
	if tape > f.old {
		i = 1
	}
	w := f.waiting[i]
	if w != nil && w.builder.Size() < builderBytes/2 && w.tape <= tape {
		w.tape = tape
		return w, nil
	}
	f.waiting[i] = &wordCollector{builder: fts5.NewBuilder(), tape: tape, notes: f.notes}
	if w == nil {
		return f.waiting[i], nil
	}
	return f.waiting[i], f.words.add(w.builder)
}

// close writes the waiting words, if all went well.
func (f *filler) close(ok bool) error {
	var err error
	for _, w := range f.waiting {
		if ok && err == nil && w != nil && w.builder.Docs() > 0 {
			err = f.words.add(w.builder)
		}
	}
	return errors.Join(err, f.words.close(ok && err == nil))
}

// fillParallel handles the first batch and those that source returns after it.
func (f *filler) fillParallel(ctx context.Context, first *batch, source func() (*batch, error), tape int64, show func(repo.Entry) repo.Entry, row func(Line) error) error {
	workers := max(1, runtime.GOMAXPROCS(0))
	g, ctx := errgroup.WithContext(ctx)
	in := make(chan *batch, workers)
	out := make(chan *batch) // without a buffer, because a batch may be large
	g.Go(func() error { return readBatches(ctx, first, source, in) })
	collectors, collecting := errgroup.WithContext(ctx)
	for range workers {
		collectors.Go(func() error { return f.collectWords(collecting, tape, show, builderBytes/workers, in, out) })
	}
	g.Go(func() error {
		defer close(out)
		return collectors.Wait()
	})
	err := receive(out, row, f.words.add)
	if err != nil {
		// Wait for the others, which stop when the context is cancelled.
		g.Go(func() error { return err })
		for range out {
		}
	}
	if waited := g.Wait(); err == nil {
		err = waited
	}
	return err
}

func readBatches(ctx context.Context, b *batch, source func() (*batch, error), in chan<- *batch) error {
	defer close(in)
	for number := 0; ; number++ {
		b.number = number
		if err := send(ctx, in, b); err != nil || b.last {
			return err
		}
		var err error
		if b, err = source(); err != nil {
			return err
		}
	}
}

func readBatch(next func() (repo.Entry, error, bool), read func(repo.Entry)) (*batch, error) {
	b := &batch{}
	for size := 0; len(b.entries) < batchEntries && size < batchBytes; {
		e, err, more := next()
		if err != nil {
			return nil, err
		}
		if !more {
			b.last = true
			break
		}
		read(e)
		b.entries = append(b.entries, e)
		size += len(e.Raw) + len(e.Attached)
	}
	return b, nil
}

// collectWords handles batches until there are no more.
func (f *filler) collectWords(ctx context.Context, tape int64, show func(repo.Entry) repo.Entry, limit int, in <-chan *batch, out chan<- *batch) error {
	w := &wordCollector{builder: fts5.NewBuilder(), notes: f.notes}
	for b := range in {
		b.lines = make([]Line, len(b.entries))
		for i, e := range b.entries {
			b.lines[i] = w.add(tape, show(e))
		}
		b.entries = nil
		if w.builder.Size() >= limit {
			b.words, w.builder = w.builder, fts5.NewBuilder()
		}
		if err := send(ctx, out, b); err != nil {
			return err
		}
	}
	if w.builder.Docs() == 0 {
		return nil
	}
	return send(ctx, out, &batch{words: w.builder})
}

// receive passes on what the workers made: lines in order, words as they come.
func receive(out <-chan *batch, row func(Line) error, words func(*fts5.Builder) error) error {
	early := map[int][]Line{}
	next := 0
	for b := range out {
		if b.words != nil {
			if err := words(b.words); err != nil {
				return err
			}
		}
		if b.lines != nil {
			early[b.number] = b.lines
		}
		for ; early[next] != nil; next++ {
			for _, l := range early[next] {
				if err := row(l); err != nil {
					return err
				}
			}
			delete(early, next)
		}
	}
	return nil
}
