package find

import (
	"context"
	"errors"
	"math"

	"tape/index/internal/store"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// filter applies the filters that are not about words.
func (f *finder) filter(found set) (set, error) {
	keep := func(mark string, values []string) error {
		if len(values) == 0 {
			return nil
		}
		terms := make([]string, len(values))
		for i, v := range values {
			terms[i] = mark + v
		}
		has, err := f.eval.with(terms...)
		if err == nil {
			found.and(has)
		}
		return err
	}
	if len(f.s.Types) > 0 {
		var terms []string
		for _, name := range f.s.Types {
			terms = append(terms, store.MarkKind+name, store.MarkName+name)
		}
		has, err := f.eval.with(terms...)
		if err != nil {
			return nil, err
		}
		found.and(has)
	}
	if err := errors.Join(keep(store.MarkKind, f.s.Query.Kinds), keep(store.MarkRole, f.s.Query.Roles)); err != nil {
		return nil, err
	}
	if err := f.keepAuthors(found); err != nil {
		return nil, err
	}
	if !f.s.Searches {
		own, err := f.eval.with(store.MarkSearch)
		if err != nil {
			return nil, err
		}
		found.without(own)
	}
	if f.s.Query.Since.IsZero() && f.s.Query.Until.IsZero() {
		return found, nil
	}
	return found, f.dropByDate(found)
}

// keepAuthors keeps the entries of the given authors. A caller who sees entries masked does not learn
// who began a tape.
func (f *finder) keepAuthors(found set) error {
	q := f.s.Query
	if len(q.Authors) == 0 {
		return nil
	}
	var terms []string
	err := f.eval.x.Terms([]byte(store.MarkAuthor), func(term []byte) {
		if q.Wrote(string(term[len(store.MarkAuthor):])) {
			terms = append(terms, string(term))
		}
	})
	if err != nil {
		return err
	}
	wrote, err := f.eval.with(terms...)
	if err != nil {
		return err
	}
	noted, err := f.eval.withPrefix(store.MarkAuthor)
	if err != nil {
		return err
	}
	kept := f.eval.all()
	kept.without(noted)
	for _, sc := range f.eval.scopes { // entries without an author are by whoever began the tape
		t := (*workspace.Tape)(f.eval.tapes[sc.rank].tape)
		if head, err := t.Head(); err != nil || !f.db.View.Plain() || !q.Wrote(snapshot.Owner(t, head)) {
			f.eval.dropRange(kept, sc, sc.lo, sc.hi)
		}
	}
	kept.or(wrote)
	found.and(kept)
	return nil
}

// dates are the bounds of the query, in microseconds since 1970.
func (f *finder) dates() (since, until int64) {
	since, until = math.MinInt64, math.MaxInt64
	if t := f.s.Query.Since; !t.IsZero() {
		since = t.UnixMicro()
		if t.Nanosecond()%1000 != 0 {
			since++
		}
	}
	if t := f.s.Query.Until; !t.IsZero() {
		until = t.UnixMicro()
	}
	return since, until
}

// dropByDate drops documents outside the query's dates. For most blocks of documents, the range of their
// dates decides; in the others each line is read.
func (f *finder) dropByDate(found set) error {
	since, until := f.dates()
	for _, sc := range f.eval.scopes {
		if err := f.dropByDateIn(found, sc, since, until); err != nil {
			return err
		}
	}
	return nil
}

func (f *finder) dropByDateIn(found set, sc scope, since, until int64) error {
	next := sc.lo // documents from here on are undecided
	var partly []int64
	err := f.db.Dated(sc.lo, sc.hi, since, until, func(block int64, all bool) {
		f.eval.dropRange(found, sc, next, block<<store.BlockShift-1)
		if next = max(next, (block+1)<<store.BlockShift); !all {
			partly = append(partly, block)
		}
	})
	if err != nil {
		return err
	}
	f.eval.dropRange(found, sc, next, sc.hi)
	for _, block := range partly {
		part := sc
		part.hi = min(sc.hi, (block+1)<<store.BlockShift-1)
		f.eval.last(found, part, func(doc int64) bool {
			if doc < block<<store.BlockShift {
				return false
			}
			var keep bool
			if keep, err = f.db.IsDated(doc, since, until); err == nil && !keep {
				found.drop(f.eval.place(doc))
			}
			return err == nil
		})
	}
	return err
}

func (f *finder) count(ctx context.Context, found set, sure bool) (int, error) {
	if sure {
		return found.count(), nil
	}
	n, looked := 0, 0
	var err error
	for _, sc := range f.eval.scopes {
		f.eval.last(found, sc, func(doc int64) bool {
			if looked++; looked%256 == 0 {
				err = ctx.Err()
			}
			if err != nil {
				return false
			}
			var c candidate
			if c, err = f.candidate(doc); err != nil {
				return false
			}
			var ok bool
			if ok, err = f.match(ctx, &c); ok {
				n++
			}
			return err == nil
		})
	}
	return n, err
}
