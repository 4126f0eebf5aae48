package index

import (
	"math"
	"slices"
	"sort"

	"tape/index/internal/fts5"
	"tape/internal/text"
	"tape/repo"
)

// scope is the part of one tape that is searched.
type scope struct {
	tape   *repo.Tape
	no     int64
	lo, hi int64 // documents
	count  int64 // entries of the tape
	newest int64 // microseconds since 1970; 0: no entry has a date
	bytes  int64
}

// docs is a set of documents, in order.
type docs []int64

// evaluator finds documents by their words.
type evaluator struct {
	x      *fts5.Index
	scopes []scope         // by number
	sets   map[string]docs // by the term that was asked for
}

// span is the range of documents that holds all scopes.
func (v *evaluator) span() (lo, hi int64) {
	lo, hi = math.MaxInt64, -1
	for _, s := range v.scopes {
		lo, hi = min(lo, s.lo), max(hi, s.hi)
	}
	return lo, hi
}

// inScope keeps the documents of the scopes.
func (v *evaluator) inScope(ds docs) docs {
	if len(v.scopes) == 1 {
		return ds // what was asked for
	}
	out := ds[:0]
	for _, s := range v.scopes {
		from, _ := slices.BinarySearch(ds, s.lo)
		to, _ := slices.BinarySearch(ds, s.hi+1)
		out = append(out, ds[from:to]...)
	}
	return out
}

// all are the documents of the scopes: the ids of a tape have no gaps.
func (v *evaluator) all() docs {
	var out docs
	for _, s := range v.scopes {
		for doc := s.lo; doc <= min(s.hi, docOf(s.no, s.count)); doc++ {
			out = append(out, doc)
		}
	}
	return out
}

// with returns the documents that have one of some terms.
func (v *evaluator) with(terms ...string) (docs, error) {
	lo, hi := v.span()
	return v.within(lo, hi, terms...)
}

// within returns those from lo to hi.
func (v *evaluator) within(lo, hi int64, terms ...string) (docs, error) {
	var out docs
	for _, term := range terms {
		ds, err := v.x.Docs(nil, []byte(term), lo, hi)
		if err != nil {
			return nil, err
		}
		out = union(out, v.inScope(ds))
	}
	return out, nil
}

func (v *evaluator) eval(e text.Expr) (docs, error) {
	switch e.Op {
	case text.All:
		return v.all(), nil
	case text.None:
		return nil, nil
	case text.Term:
		ds, err := v.with(e.Term)
		v.sets[e.Term] = ds
		return ds, err
	case text.Prefix:
		lo, hi := v.span()
		ds, err := v.x.Prefix(nil, []byte(e.Term), lo, hi)
		ds = v.inScope(ds)
		v.sets[e.Term+"*"] = ds // as Match calls it
		return ds, err
	case text.And:
		return v.and(e.Kids)
	case text.Or:
		var out docs
		for _, kid := range e.Kids {
			ds, err := v.eval(kid)
			if err != nil {
				return nil, err
			}
			out = union(out, ds)
		}
		return out, nil
	}
	return v.not(e.Kids)
}

func (v *evaluator) and(kids []text.Expr) (docs, error) {
	var sets []docs
	for _, kid := range kids {
		if kid.Op == text.All {
			continue
		}
		ds, err := v.eval(kid)
		if err != nil {
			return nil, err
		}
		sets = append(sets, ds)
	}
	if len(sets) == 0 {
		return v.all(), nil
	}
	sort.SliceStable(sets, func(i, j int) bool { return len(sets[i]) < len(sets[j]) })
	out := sets[0]
	for _, s := range sets[1:] {
		out = intersect(out, s)
	}
	return out, nil
}

func (v *evaluator) not(kids []text.Expr) (docs, error) {
	out, err := v.eval(kids[0])
	for _, kid := range kids[1:] {
		if err != nil || len(out) == 0 {
			break
		}
		var ds docs
		if ds, err = v.eval(kid); err == nil {
			out = subtract(out, ds)
		}
	}
	return out, err
}

func (ds docs) has(doc int64) bool {
	_, ok := slices.BinarySearch(ds, doc)
	return ok
}

// intersect returns what both have.
func intersect(short, long docs) docs {
	if len(short) > len(long) {
		short, long = long, short
	}
	out := make(docs, 0, len(short))
	for _, d := range short {
		i := gallop(long, d)
		long = long[i:]
		if len(long) == 0 {
			break
		}
		if long[0] == d {
			out = append(out, d)
		}
	}
	return out
}

// gallop is the index of the first document that is not below d, found in steps that
// double: the next one is usually near.
func gallop(ds docs, d int64) int {
	if len(ds) == 0 || ds[0] >= d {
		return 0
	}
	step := 1
	for step < len(ds) && ds[step] < d {
		step *= 2
	}
	low := step / 2
	i, _ := slices.BinarySearch(ds[low:min(step+1, len(ds))], d)
	return low + i
}

// subtract returns what only the first has.
func subtract(from, what docs) docs {
	if len(what) == 0 {
		return from
	}
	out := make(docs, 0, len(from))
	for _, d := range from {
		i := gallop(what, d)
		if what = what[i:]; len(what) == 0 || what[0] != d {
			out = append(out, d)
		}
	}
	return out
}

func union(a, b docs) docs {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make(docs, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}
