package find

import (
	"context"
	"math"

	"tape/index/internal/store"
	"tape/internal/store/relevance"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// filter applies the filters that are not about words.
func (f *finder) filter(found set) (set, error) {
	if len(f.s.Types) > 0 {
		var terms []string
		for _, name := range f.s.Types {
			terms = append(terms, relevance.MarkKind+name, relevance.MarkName+name)
		}
		has, err := f.eval.with(terms...)
		if err != nil {
			return nil, err
		}
		found.and(has)
	}
	for i := range snapshot.Properties {
		if err := f.keep(found, &snapshot.Properties[i]); err != nil {
			return nil, err
		}
	}
	if !f.s.Searches {
		own, err := f.eval.with(relevance.MarkSearch)
		if err != nil {
			return nil, err
		}
		found.without(own)
	}
	if f.s.Query.Since.IsZero() && f.s.Query.Until.IsZero() {
		return found, nil
	}
	since, until := f.dates()
	return found, f.dropByDate(found, since, until)
}

// keep drops the entries that do not have a value which the query asks of a property.
func (f *finder) keep(found set, p *snapshot.Property) error {
	asked := p.Asked(&f.s.Query)
	if len(asked) == 0 {
		return nil
	}
	var terms []string
	mark := relevance.Mark + p.Mark
	err := f.eval.x.Terms([]byte(mark), func(term []byte) {
		if p.Fits(asked, string(term[len(mark):])) {
			terms = append(terms, string(term))
		}
	})
	if err != nil {
		return err
	}
	kept, err := f.eval.with(terms...)
	if err == nil && p.Owned {
		err = f.addOwned(kept, mark, func(owner string) bool { return p.Fits(asked, owner) })
	}
	if err == nil {
		found.and(kept)
	}
	return err
}

// addOwned adds the entries without a value of their own, that is without a term with this prefix, if asked accepts
// the owner of their tape. In a shown index it adds none, because a masked run must not learn who began a tape.
func (f *finder) addOwned(kept set, prefix string, asked func(owner string) bool) error {
	withValue, err := f.eval.withPrefix(prefix)
	if err != nil {
		return err
	}
	owned := f.eval.all()
	owned.without(withValue)
	for _, sc := range f.eval.scopes {
		t := (*workspace.Tape)(f.eval.tapes[sc.rank].tape)
		if head, err := t.Head(); err != nil || !f.db.View.Plain() || !asked(snapshot.Owner(t, head)) {
			f.eval.dropRange(owned, sc, sc.lo, sc.hi)
		}
	}
	kept.or(owned)
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

// dropByDate drops documents before since or after until, in microseconds since 1970. For most blocks of documents, the range of their
// dates decides; in the others each line is read.
func (f *finder) dropByDate(found set, since, until int64) error {
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
		if err != nil {
			return err
		}
	}
	return nil
}

// count returns how many of the found documents match. It reads them unless sure.
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
			var body []byte
			if body, err = f.read(ctx, &c); err == nil && body != nil {
				if _, ok := f.query.Match(body); ok {
					n++
				}
			}
			return err == nil
		})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}
