package find

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tape/index/internal/store"
	"tape/internal/git/gitstore"
	"tape/internal/store/relevance"
	"tape/internal/text/query"
	"tape/repo"
)

// InIndex finds entries by their words. The index has to be up to date with targets: the searched tapes and
// their ancestors. Call it in a transaction. has are the index's rows of targets. seen, if not nil, returns an
// entry as the caller may see it, and false if the caller may not see it.
func InIndex(ctx context.Context, db *store.DB, targets []*store.Target, has store.Has, s Search, seen func(repo.Entry) (repo.Entry, bool)) (*Result, error) {
	f := &finder{db: db, s: s, seen: seen, has: has, byNo: map[int64]store.TapeRow{}, byBranch: make(map[string]*repo.Tape, len(targets)),
		readers: readers{}, phases: map[phaseKey]store.Phase{}, files: map[int64]store.File{}, lines: map[int64]store.Line{}, commits: map[string]gitstore.Hash{}}
	wanted := map[string]bool{}
	for _, name := range s.Tapes {
		wanted[name] = true
	}
	forks := false
	for _, t := range targets {
		f.byBranch[t.Tape.Branch()] = t.Tape
		if !t.Commit.IsZero() {
			f.commits[t.Tape.Branch()] = t.Commit
		}
		forks = forks || t.Tape.IsFork()
		if s.Tapes == nil || wanted[t.Tape.Name()] {
			f.tapes = append(f.tapes, t.Tape)
		}
	}
	for _, k := range has {
		if forks {
			f.byNo[k.No] = k
		}
	}
	defer f.readers.close()
	res, err := f.find(ctx)
	if err == nil {
		err = f.neighbours(ctx, res.Hits)
	}
	return res, err
}

type finder struct {
	db    *store.DB
	s     Search
	tapes []*repo.Tape // the searched tapes
	seen  func(repo.Entry) (repo.Entry, bool)
	query *query.Query
	eval  *evaluator

	has      store.Has
	byNo     map[int64]store.TapeRow // rows by number, if there are forks
	byBranch map[string]*repo.Tape   // the searched tapes and their ancestors

	commits map[string]gitstore.Hash // known commits of tapes, by branch, see store.Target

	readers readers
	phases  map[phaseKey]store.Phase
	files   map[int64]store.File
	lines   map[int64]store.Line
}

type phaseKey struct {
	tape int64
	seq  int
}

func (f *finder) find(ctx context.Context) (*Result, error) {
	x, err := f.db.Words()
	if err != nil {
		return nil, err
	}
	places, err := f.placement(ctx)
	if err != nil {
		return nil, err
	}
	if places.size == 0 {
		return &Result{Exact: true}, nil
	}
	if x.Segments() == 0 {
		return nil, fmt.Errorf("%w: it has entries but no words", store.ErrInconsistent)
	}
	f.eval = &evaluator{placement: places, x: x, terms: map[string]*termSet{}, units: map[string]*termSet{}}
	f.query = relevance.Parse(f.s.Text, f.s.Exact)
	if f.s.Survey {
		return f.surveyed()
	}
	anyWord := f.query.Any()
	if anyWord == nil || f.s.Exact || f.s.AllWords {
		return f.strictly(ctx)
	}
	tries := []*query.Query{anyWord}
	if anyWord.Single() {
		tries = anyWord.Alone() // one word means what it says, unless no entry has it
	}
	if f.s.AsSpelt {
		tries = tries[:1]
	}
	var res *Result
	for i, q := range tries {
		f.query = q
		instead := ""
		if i == len(tries)-1 && !f.s.AsSpelt {
			if instead, err = f.tryNear(); err != nil {
				return nil, err
			}
		}
		if res, err = f.answer(ctx); err != nil {
			return nil, err
		}
		if res.Matches > 0 {
			res.Instead = instead
			res.Some, err = f.lacksAll()
			break
		}
	}
	return res, err
}

// surveyed answers a search that asks for a survey.
func (f *finder) surveyed() (*Result, error) {
	if anyWord := f.query.Any(); anyWord != nil && !f.s.Exact && !f.s.AllWords {
		f.query = anyWord
	}
	found, err := f.survey()
	return &Result{Survey: found, Exact: true}, err
}

// lacksAll reports whether no entry has all words of a query of any words.
func (f *finder) lacksAll() (bool, error) {
	words := make([]struct{ whole, parts set }, len(f.query.Asked()))
	if len(words) == 0 {
		return false, nil
	}
	for _, feature := range f.query.Every() {
		docs, err := f.eval.featured(feature)
		if err != nil {
			return false, err
		}
		switch w := &words[feature.Word]; {
		case feature.Whole && w.whole == nil:
			w.whole = slices.Clone(docs.set)
		case feature.Whole:
			w.whole.or(docs.set)
		case w.parts == nil:
			w.parts = slices.Clone(docs.set)
		default:
			w.parts.and(docs.set)
		}
	}
	all := f.eval.all()
	for _, w := range words {
		if w.whole == nil {
			w.whole = f.eval.none()
		}
		if w.parts != nil {
			w.whole.or(w.parts)
		}
		all.and(w.whole)
	}
	all, err := f.filter(all)
	return err == nil && all.count() == 0, err
}

// strictly answers a query that means what it says. If no entry matches, it tries similar words.
func (f *finder) strictly(ctx context.Context) (*Result, error) {
	res, err := f.answer(ctx)
	if err != nil || res.Matches > 0 || f.s.Exact || f.s.AsSpelt {
		return res, err
	}
	near, err := f.nearQuery()
	if err != nil || near == nil {
		return res, err
	}
	f.query = near
	instead, err := f.answer(ctx)
	if err != nil || instead.Matches == 0 {
		return res, err
	}
	instead.Instead = near.String()
	return instead, nil
}

// placement returns which documents of the index are the selected entries.
func (f *finder) placement(ctx context.Context) (placement, error) {
	// The numbers of tapes are arbitrary, so the order must not depend on them.
	slices.SortFunc(f.tapes, func(a, b *repo.Tape) int { return cmp.Compare(a.Branch(), b.Branch()) })
	tapes, err := f.s.selectIn(ctx, f.tapes)
	if err != nil {
		return placement{}, err
	}
	all, whole, has := make([]parts, len(tapes)), make([]parts, len(tapes)), make([]store.TapeRow, len(tapes))
	for i, t := range tapes {
		has[i] = f.has[t.Branch()]
		if whole[i], err = f.partsOf(has[i]); err != nil {
			return placement{}, err
		}
		all[i] = whole[i].within(t.first, t.last)
	}
	lost := dropOverlaps(tapes, all)
	var out []searchedTape
	var scopes []scope
	for i, k := range has {
		if len(all[i]) == 0 {
			continue
		}
		if lost[i] {
			k.Entries, k.Bytes = k.Own(), k.Bytes-k.BaseBytes
		}
		for _, p := range all[i] {
			scopes = append(scopes, scope{holder: p.holder, no: p.no, lo: store.DocOf(p.no, p.lo), hi: store.DocOf(p.no, p.hi), rank: len(out)})
		}
		out = append(out, searchedTape{tape: tapes[i].Tape, all: whole[i], count: k.Entries, newest: k.Newest.Int64, bytes: k.Bytes})
	}
	return newPlacement(out, scopes), nil
}

// partsOf returns the parts of a tape according to the index.
func (f *finder) partsOf(k store.TapeRow) (parts, error) {
	var out parts
	for hi := k.Entries; k.No != 0; {
		tape := f.byBranch[k.Branch]
		if tape == nil || k.Entries < hi {
			return nil, fmt.Errorf("%w: the row of tape %d (%s) has %d entries, fewer than its fork needs, or the tape is not among the targets", store.ErrInconsistent, k.No, k.Branch, k.Entries)
		}
		out = append(out, part{holder: tape, no: k.No, lo: k.Base + 1, hi: hi})
		if k.Parent == 0 {
			break
		}
		parent, ok := f.byNo[k.Parent]
		if !ok {
			return nil, fmt.Errorf("%w: there is no row of tape %d, the parent of %s", store.ErrInconsistent, k.Parent, k.Branch)
		}
		hi, k = min(hi, k.Base), parent
	}
	return out, nil
}

func (f *finder) answer(ctx context.Context) (*Result, error) {
	expr, sure := f.query.Index()
	if f.query.Empty() {
		expr, sure = query.Expr{Op: query.None}, true
	}
	sure = sure && !f.s.Own // the index also has the texts of artifacts
	found, err := f.eval.eval(expr)
	if err == nil {
		found, err = f.filter(found)
	}
	if err != nil {
		return nil, err
	}
	if f.s.Count || f.s.limit() == 0 {
		n, err := f.count(ctx, found, sure)
		return &Result{Matches: n, Exact: true}, err
	}
	return f.pick(ctx, found, sure)
}
