package store

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"tape/index/internal/fts5"
	"tape/internal/query"
	"tape/repo"
)

// How new entries become rows. One goroutine reads them, some take their words, and the
// caller's writes rows and words to the database: see fill.

const (
	// Entries are handed on in batches, bounded by their number and their bytes.
	batchEntries = 256
	batchBytes   = 1 << 20
	// builderBytes bounds the words that all workers together hold in memory.
	builderBytes = 96 << 20
)

type batch struct {
	number  int
	entries []repo.Entry
	lines   []Line        // of the entries, by who took their words
	words   *fts5.Builder // that became full; nil: none did
}

func hand(ctx context.Context, to chan<- *batch, b *batch) error {
	select {
	case to <- b:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fill reads a suffix and calls read and row for every entry, in order, and words with
// every builder that has become full. The last two are called by this goroutine.
func fill(ctx context.Context, s *query.Suffix, tape int64, read func(repo.Entry), row func(Line) error, words func(*fts5.Builder) error) error {
	workers := max(1, runtime.GOMAXPROCS(0))
	g, ctx := errgroup.WithContext(ctx)
	in := make(chan *batch, workers)
	out := make(chan *batch) // without a buffer: a batch may have much with it
	g.Go(func() error { return readBatches(ctx, s, read, in) })
	takers, taking := errgroup.WithContext(ctx)
	for range workers {
		takers.Go(func() error { return takeWords(taking, tape, builderBytes/workers, in, out) })
	}
	g.Go(func() error {
		defer close(out)
		return takers.Wait()
	})
	err := receive(out, row, words)
	if err != nil {
		// Let the others end: they stop when the context is cancelled.
		g.Go(func() error { return err })
		for range out {
		}
	}
	if waited := g.Wait(); err == nil {
		err = waited
	}
	return err
}

func readBatches(ctx context.Context, s *query.Suffix, read func(repo.Entry), in chan<- *batch) error {
	defer close(in)
	b, size := &batch{}, 0
	for e, err := range s.Entries(ctx) {
		if err != nil {
			return err
		}
		read(e)
		b.entries = append(b.entries, e)
		if size += len(e.Raw); len(b.entries) < batchEntries && size < batchBytes {
			continue
		}
		if err := hand(ctx, in, b); err != nil {
			return err
		}
		b, size = &batch{number: b.number + 1}, 0
	}
	if len(b.entries) == 0 {
		return nil
	}
	return hand(ctx, in, b)
}

// takeWords does the work on batches until there are no more.
func takeWords(ctx context.Context, tape int64, limit int, in <-chan *batch, out chan<- *batch) error {
	w := &worder{builder: fts5.NewBuilder()}
	for b := range in {
		b.lines = make([]Line, len(b.entries))
		for i, e := range b.entries {
			b.lines[i] = w.add(tape, e)
		}
		b.entries = nil
		if w.builder.Size() >= limit {
			b.words, w.builder = w.builder, fts5.NewBuilder()
		}
		if err := hand(ctx, out, b); err != nil {
			return err
		}
	}
	if w.builder.Docs() == 0 {
		return nil
	}
	return hand(ctx, out, &batch{words: w.builder})
}

// receive takes what the workers made: lines in their order, words as they come.
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
