package find

import (
	"slices"

	"tape/index/internal/fts5"
	"tape/internal/text/query"
	"tape/repo"
)

// scope is a range of documents to search.
type scope struct {
	holder *repo.Tape // the tape whose files contain them
	no     int64      // number of holder in the index
	lo, hi int64      // documents, both included
	at     int        // place of the first document, see placement
	rank   int        // of the searched tape: index into placement.tapes
}

// searchedTape is a tape to search. Folding, ranking and results do not depend on which tape holds its
// entries.
type searchedTape struct {
	tape   *repo.Tape
	all    parts // of the whole tape, searched or not
	scopes []int // into placement.scopes, ascending
	newest int64 // date of the newest entry in microseconds since 1970; 0 if no entry has a date
	count  int64 // entries
	bytes  int64 // total length of its lines
}

type evaluator struct {
	placement
	x     *fts5.Index
	terms map[string]*termSet
	units map[string]*termSet // of features of the query, by their ids
}

// termSet has the documents of a word of the query, and their number.
type termSet struct {
	set
	n int
}

// with returns the documents that contain any of the terms.
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
	lo, hi := v.scopes[0].lo, v.scopes[len(v.scopes)-1].hi // one call for all scopes, because finding the terms takes most of the time
	err := v.x.EachPrefix([]byte(prefix), lo, hi, func(docs []int64) { v.add(out, docs) })
	return out, err
}

// term returns the documents of a word of the query, from a cache if find was called before. name is the word as
// Query.Match reports it.
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

// featured returns the documents that may have a feature of the query.
func (v *evaluator) featured(f query.Feature) (*termSet, error) {
	if v.units[f.ID] == nil {
		s, err := v.evalShared(f.Expr)
		if err != nil {
			return nil, err
		}
		v.units[f.ID] = &termSet{s, s.count()}
	}
	return v.units[f.ID], nil
}

// eval returns the documents that an expression selects. The caller may change the set.
func (v *evaluator) eval(e query.Expr) (set, error) {
	s, err := v.evalShared(e)
	if e.Op == query.Term || e.Op == query.Prefix {
		s = slices.Clone(s)
	}
	return s, err
}

// evalShared is eval for callers that do not change the set.
func (v *evaluator) evalShared(e query.Expr) (set, error) {
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
	out, err := v.eval(e.Operands[0])
	for _, kid := range e.Operands[1:] {
		if err != nil {
			break
		}
		var s set
		if s, err = v.evalShared(kid); err != nil {
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
