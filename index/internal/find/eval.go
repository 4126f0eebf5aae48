package find

import (
	"slices"

	"tape/index/internal/fts5"
	"tape/internal/text/query"
	"tape/repo"
)

// scope is a run of documents that are searched.
type scope struct {
	of     *repo.Tape // whose files they are in
	no     int64
	lo, hi int64 // documents
	at     int   // see placement
	rank   int   // of the tape that is searched: index into placement.tapes
}

// searched is a tape that is searched. What is folded, ranked and shown does not depend
// on where its entries are stored.
type searched struct {
	tape   *repo.Tape
	all    parts // of the tape, searched or not
	scopes []int // into placement.scopes, ascending
	newest int64 // date of the newest entry, microseconds since 1970; 0: none has one
	count  int64 // entries
	bytes  int64 // of all its lines
}

type evaluator struct {
	placement
	x     *fts5.Index
	terms map[string]*termSet
}

type termSet struct {
	set
	n int
}

// with returns the documents that have one of some terms.
func (v *evaluator) with(terms ...string) (set, error) {
	out := v.none()
	for _, term := range terms {
		for _, s := range v.spans {
			if err := v.x.Each([]byte(term), s.lo, s.hi, func(docs []int64) { v.add(out, docs) }); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (v *evaluator) withPrefix(prefix string) (set, error) {
	out := v.none()
	lo, hi := v.scopes[0].lo, v.scopes[len(v.scopes)-1].hi // once: it is the terms that take time
	err := v.x.EachPrefix([]byte(prefix), lo, hi, func(docs []int64) { v.add(out, docs) })
	return out, err
}

// term finds a word of the query, once. Name is what Query.Match calls it.
func (v *evaluator) term(name string, find func() (set, error)) (set, error) {
	if v.terms[name] == nil {
		s, err := find()
		if err != nil {
			return nil, err
		}
		v.terms[name] = &termSet{s, s.count()}
	}
	return v.terms[name].set, nil
}

// eval returns the documents that an expression selects, in a set of its own.
func (v *evaluator) eval(e query.Expr) (set, error) {
	s, err := v.look(e)
	if e.Op == query.Term || e.Op == query.Prefix {
		s = slices.Clone(s)
	}
	return s, err
}

// look is eval for who does not change the set.
func (v *evaluator) look(e query.Expr) (set, error) {
	switch e.Op {
	case query.All:
		return v.all(), nil
	case query.None:
		return v.none(), nil
	case query.Term:
		return v.term(e.Term, func() (set, error) { return v.with(e.Term) })
	case query.Prefix:
		return v.term(e.Term+"*", func() (set, error) { return v.withPrefix(e.Term) })
	}
	out, err := v.eval(e.Kids[0])
	for _, kid := range e.Kids[1:] {
		if err != nil {
			break
		}
		var s set
		if s, err = v.look(kid); err != nil {
			break
		}
		switch e.Op {
		case query.And:
			out.and(s)
		case query.Or:
			out.or(s)
		default: // query.Not
			out.without(s)
		}
	}
	return out, err
}
