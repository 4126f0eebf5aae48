package cli

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"tape/internal/sessions/catalog"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/store/query"
	"tape/repo"
)

// datedTape is a tape with the dates of its entries.
type datedTape struct {
	about.Tape
	tape *repo.Tape
	base int64 // a fork's last entry from its parent
}

// entries yields the selected entries of the tape itself; a fork's do not include its parent's.
func (t datedTape) entries(ctx context.Context, q repo.Query) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		for e, err := range t.tape.Entries(ctx, q) {
			if errors.Is(err, repo.ErrNotFound) {
				return // it was removed meanwhile
			}
			if (err != nil || e.ID > t.base) && !yield(e, err) {
				return
			}
		}
	}
}

// runAll shows entries of all tapes in the order of their dates.
func (o *logOptions) runAll(ctx context.Context, q repo.Query) error {
	if o.tapeName != "" {
		return usagef("--tape and --all-tapes exclude each other")
	}
	store, err := o.openStore(ctx)
	if err != nil {
		return err
	}
	all, err := catalog.All(ctx, store)
	if err != nil {
		return err
	}
	if err := o.known(ctx, these(all...), q); err != nil {
		return err
	}
	facts, err := o.about(ctx, store, all)
	if err != nil {
		return err
	}
	titles := map[string]string{}
	var tapes []datedTape
	for _, t := range all {
		d := datedTape{Tape: facts[t.Branch()], tape: t}
		// The title does not change the date of the tape's last entry.
		late := !q.Since.IsZero() && d.Updated.Before(q.Since) && d.Given == "" && d.Called == ""
		if late || !q.Until.IsZero() && d.Started.After(q.Until) {
			continue
		}
		if t.IsFork() {
			base, err := t.Base(ctx)
			if err != nil {
				return err
			}
			d.base = base.Entry
		}
		titles[t.Name()] = display.Line(cmp.Or(d.Title, t.Name()))
		tapes = append(tapes, d)
	}
	if !o.JSON && !o.oneline {
		q = o.joining(q)
	}
	entries := o.bounded(q, func(q repo.Query) iter.Seq2[repo.Entry, error] { return byTime(ctx, tapes, q) }, o.entryView)
	return o.showEntries(ctx, nil, entries, o.entryView, func(tape string) string { return titles[tape] })
}

// byTime selects entries of several tapes.
func byTime(ctx context.Context, tapes []datedTape, q repo.Query) iter.Seq2[repo.Entry, error] {
	var sources []query.Source
	for _, t := range tapes {
		from := t.Started
		if q.Reverse {
			from = t.Updated
		}
		sources = append(sources, query.Source{From: from, Entries: t.entries(ctx, q)})
	}
	return query.ByTime(sources, q.Reverse)
}
