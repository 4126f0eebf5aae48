package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"tape/index/internal/fts5"
	"tape/internal/text"
	"tape/repo"
)

// How says how the text of a Search is to be understood.
type How int

// The ways to understand it.
const (
	Words     How = iota // the query language
	Substring            // exactly these characters
	Regexp               // an RE2 regular expression
)

// Search says what to look for.
type Search struct {
	Text string
	How  How
	// IgnoreCase is for Substring and Regexp; words have no case.
	IgnoreCase bool
	// Exact takes words as they are spelt, punctuation included. Like AsSpelt it looks for
	// no near ones where there is no hit.
	Exact, AsSpelt bool

	// Tapes are searched, each by Query's anchors, dates and kinds. The limit counts
	// hits. A fork has its parent's entries up to its base. With several tapes, those are
	// left to the tape that they were written to, if that is one of them, and otherwise to
	// one of the forks: no entry comes twice.
	Tapes []*repo.Tape
	Query repo.Query
	// Roles keeps messages of these roles; empty keeps all entries.
	Roles []string

	// Newest orders by age instead of relevance.
	Newest bool
	// NoFold shows entries one by one that say nearly the same.
	NoFold bool
	// Searches includes what search tools wrote (meta.search).
	Searches bool
	// Context is how many entries before and after each hit come with it.
	Context int
	// Count asks for the exact number of matches, whatever it costs.
	Count bool
}

// Hit is an entry that matches.
type Hit struct {
	repo.Entry
	Score   float64
	Snippet string   // the match and what is around it, on one line
	Spans   [][2]int // where in the snippet what was looked for is: bytes, from and to
	Similar int      // how many more entries say nearly the same

	Before, After []repo.Entry // see Search.Context
}

// Result is what a search found.
type Result struct {
	Hits []Hit
	// Matches is how many entries match. It is a lower bound unless Exact.
	Matches int
	Exact   bool
	// Instead is the query that was answered instead of one that nothing matched.
	Instead string
}

// Search finds entries. It first brings the index up to date with the tapes.
func (x *Index) Search(ctx context.Context, s Search) (*Result, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.How != Words {
		return scan(ctx, s)
	}
	const tries = 3
	for try := 1; ; try++ {
		res, err := x.searchWords(ctx, s)
		if !isDamage(err) || try == tries || ctx.Err() != nil {
			return res, classify(err)
		}
		if err := x.mend(ctx, s.Tapes, err, try > 1); err != nil {
			return nil, err
		}
	}
}

func (s Search) check() error {
	if l := s.Query.Limit; l != nil && *l < 0 {
		return fmt.Errorf("%w: a limit must not be negative", repo.ErrInvalid)
	}
	if s.Context < 0 {
		return fmt.Errorf("%w: a number of neighbours must not be negative", repo.ErrInvalid)
	}
	return nil
}

// looksAtDigits reports whether entries that differ in digits only are different answers
// to a query.
func (s Search) looksAtDigits() bool { return strings.ContainsFunc(s.Text, isDigitOrAny) }

func isDigitOrAny(r rune) bool { return unicode.IsDigit(r) || r == '*' }

// limit is how many hits are wanted.
func (s Search) limit() int {
	if s.Query.Limit == nil {
		return math.MaxInt
	}
	return *s.Query.Limit
}

// mend is for an index that contradicts the tape. It may be that the tape was reset just
// now, so the first time it is only looked at again; then it is built anew.
func (x *Index) mend(ctx context.Context, tapes []*repo.Tape, why error, again bool) error {
	if !again && errors.Is(why, errStrange) {
		return nil
	}
	x.store.Warn(fmt.Sprintf("the index was damaged, and is built anew: %v", why))
	if x.memory {
		return x.Close()
	}
	targets, err := x.withParents(ctx, tapes)
	if err != nil {
		return err
	}
	unlock, err := x.store.LockIndex(ctx)
	if err == nil {
		_, err = x.build(ctx, targets)
		err = errors.Join(err, unlock())
	}
	if isUnwritable(err) {
		_, err = x.inMemory(ctx, targets, err)
	}
	return err
}

func (x *Index) searchWords(ctx context.Context, s Search) (*Result, error) {
	targets, err := x.withParents(ctx, s.Tapes)
	if err != nil {
		return nil, err
	}
	if _, err := x.ready(ctx, targets); err != nil {
		return nil, err
	}
	f := &finder{ctx: ctx, db: x.db, s: s, byBranch: map[string]*repo.Tape{}}
	for _, t := range targets {
		f.byBranch[t.tape.Branch()] = t.tape
	}
	defer f.close()
	var res *Result
	err = x.db.within("BEGIN", func() (err error) {
		if res, err = f.find(); err == nil {
			err = f.neighbours(res.Hits)
		}
		return err
	})
	return res, err
}

// finder answers one search.
type finder struct {
	ctx   context.Context
	db    *db
	s     Search
	query *text.Query
	eval  *evaluator

	byBranch map[string]*repo.Tape // that are searched, and what they are forks of

	readers map[int64]*repo.Reader
	folders map[phaseKey]phaseRow
	names   map[int64]string
	body    []byte // scratch
}

type phaseKey struct {
	tape int64
	seq  int
}

type phaseRow struct {
	name, folder string
	first        int64 // the anchor's id
}

func (f *finder) close() {
	for _, r := range f.readers {
		_ = r.Close()
	}
}

func (f *finder) find() (*Result, error) {
	x, err := fts5.Open(pages{f.db})
	if err != nil {
		return nil, err
	}
	f.readers, f.folders, f.names = map[int64]*repo.Reader{}, map[phaseKey]phaseRow{}, map[int64]string{}
	places, err := f.layout()
	if err != nil {
		return nil, err
	}
	if places.size == 0 {
		return &Result{Exact: true}, nil
	}
	if x.Segments() == 0 {
		return nil, fmt.Errorf("%w: there are entries, and no words", errStrange)
	}
	f.eval = &evaluator{layout: places, x: x, terms: map[string]*termSet{}}
	f.query = text.Parse(f.s.Text, text.Options{Exact: f.s.Exact})
	res, err := f.answer()
	if err != nil || res.Matches > 0 || f.s.Exact || f.s.AsSpelt {
		return res, err
	}
	near, err := f.nearQuery()
	if err != nil || near == nil {
		return res, err
	}
	f.query = near
	instead, err := f.answer()
	if err != nil || instead.Matches == 0 {
		return res, err
	}
	instead.Instead = near.String()
	return instead, nil
}

// layout resolves the query's anchors for every tape, and finds where the entries are
// stored. With several tapes, one that does not have the anchor is left out, unless none
// has it.
func (f *finder) layout() (layout, error) {
	// Numbers of tapes mean nothing: they must not show in an answer.
	var tapes []*repo.Tape
	var all, whole []parts
	var has []known
	var missing error
	for _, t := range slices.SortedFunc(slices.Values(f.s.Tapes), func(a, b *repo.Tape) int { return cmp.Compare(a.Branch(), b.Branch()) }) {
		first, last, err := t.Range(f.ctx, f.s.Query)
		if errors.Is(err, repo.ErrNotFound) {
			missing = err
			continue
		}
		if err != nil {
			return layout{}, err
		}
		k, err := f.db.known(t)
		if err != nil {
			return layout{}, err
		}
		ps, err := f.partsOf(k)
		if err != nil {
			return layout{}, err
		}
		tapes, has, whole = append(tapes, t), append(has, k), append(whole, ps)
		all = append(all, ps.within(first, last))
	}
	if len(tapes) == 0 && missing != nil {
		return layout{}, missing
	}
	lost := share(tapes, all)
	var out []searched
	var scopes []scope
	for i, k := range has {
		if len(all[i]) == 0 {
			continue
		}
		if lost[i] {
			k.entries, k.bytes = k.own(), k.bytes-k.baseBytes
		}
		for _, p := range all[i] {
			scopes = append(scopes, scope{of: p.of, no: p.no, lo: docOf(p.no, p.lo), hi: docOf(p.no, p.hi), rank: len(out)})
		}
		out = append(out, searched{tape: tapes[i], all: whole[i], count: k.entries, newest: k.newest.Int64, bytes: k.bytes})
	}
	return newLayout(out, scopes), nil
}

// partsOf finds the parts of a tape in the index.
func (f *finder) partsOf(k known) (parts, error) {
	var out parts
	for no, hi := k.no, k.entries; no != 0; {
		l, err := f.db.chained(no)
		if err != nil {
			return nil, err
		}
		of := f.byBranch[l.branch]
		if of == nil || l.entries < hi {
			return nil, fmt.Errorf("%w: tape %d, of which there are forks, is %s, and has %d entries", errStrange, no, l.branch, l.entries)
		}
		out = append(out, part{of: of, no: no, lo: l.base + 1, hi: hi})
		no, hi = l.parent, min(hi, l.base)
	}
	return out, nil
}

// answer finds the hits of the query in hand.
func (f *finder) answer() (*Result, error) {
	expr, sure := f.query.Index()
	if f.query.Empty() {
		expr, sure = text.Expr{Op: text.None}, true
	}
	found, err := f.eval.eval(expr)
	if err == nil {
		found, err = f.filter(found)
	}
	if err != nil {
		return nil, err
	}
	if f.s.Count || f.s.limit() == 0 {
		n, err := f.count(found, sure)
		return &Result{Matches: n, Exact: true}, err
	}
	p, err := newPicker(f, found, sure)
	if err == nil {
		err = p.run()
	}
	if err != nil {
		return nil, err
	}
	return p.result(), nil
}
