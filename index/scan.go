package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"tape/internal/text"
	"tape/repo"
)

// scanned is a match in a file, without its text: there may be very many.
type scanned struct {
	tape    int        // index into Search.Tapes
	of      *repo.Tape // whose files it is in
	id      int64
	created int64
	at      repo.Position
	anchor  string
	seq     int
	sign    uint64 // 0: nothing is folded
	kind    string
}

// scan looks through the files themselves. Nothing is ranked: the newest comes first.
func scan(ctx context.Context, s Search) (*Result, error) {
	find, err := s.scanner()
	if err != nil {
		return nil, err
	}
	if s.Tapes, err = s.reached(ctx); err != nil {
		return nil, err
	}
	where, err := s.parts(ctx)
	if err != nil {
		return nil, err
	}
	var all []scanned
	whole := true
	for i, t := range s.Tapes {
		sc := &tapeScan{Search: s, tape: i, find: find}
		found, err := sc.run(ctx, where[i])
		if err != nil {
			return nil, fmt.Errorf("search tape %q: %w", t.Name(), err)
		}
		whole = whole && sc.whole
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b scanned) int {
		if len(s.Tapes) == 1 { // dates may jump, ids do not
			return cmp.Compare(b.id, a.id)
		}
		return cmp.Or(cmp.Compare(b.created, a.created), cmp.Compare(a.tape, b.tape), cmp.Compare(b.id, a.id))
	})
	out := &Result{Matches: len(all), Exact: whole}
	if s.Count {
		return out, nil
	}
	if out.Hits, err = scanHits(s, find, all); err != nil {
		return nil, err
	}
	return out, addNeighbours(ctx, s, out.Hits)
}

func (s Search) scanner() (*text.Scan, error) {
	if s.How == Substring {
		return text.NewSubstring(s.Text, s.IgnoreCase), nil
	}
	find, err := text.NewRegexp(s.Text, s.IgnoreCase)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", repo.ErrInvalid, err)
	}
	return find, nil
}

// reached returns the tapes that have the query's anchors; an error if none has.
func (s Search) reached(ctx context.Context) ([]*repo.Tape, error) {
	var out []*repo.Tape
	var missing error
	for _, t := range s.Tapes {
		_, _, err := t.Range(ctx, s.Query)
		switch {
		case isNotFound(err):
			missing = err
		case err != nil:
			return nil, fmt.Errorf("search tape %q: %w", t.Name(), err)
		default:
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, missing
	}
	return out, nil
}

// parts finds where the entries of each tape are to be looked for; nil: in its own files,
// all of them.
func (s Search) parts(ctx context.Context) ([]parts, error) {
	out := make([]parts, len(s.Tapes))
	if !slices.ContainsFunc(s.Tapes, (*repo.Tape).IsFork) {
		return out, nil
	}
	for i, t := range s.Tapes {
		all, err := partsOf(ctx, t)
		if err != nil {
			return nil, err
		}
		first, last, err := t.Range(ctx, s.Query)
		if err != nil {
			return nil, err
		}
		out[i] = append(parts{}, all.within(first, last)...)
	}
	share(s.Tapes, out)
	return out, nil
}

// scanHits makes hits of the first matches, and folds those that say the same.
func scanHits(s Search, find *text.Scan, all []scanned) ([]Hit, error) {
	readers := map[string]*repo.Reader{}
	defer func() {
		for _, r := range readers {
			_ = r.Close()
		}
	}()
	type same struct {
		tape int
		sign uint64
		kind string
	}
	hits, bySign := []Hit{}, map[same]int{}
	for _, m := range all {
		key := same{m.tape, m.sign, m.kind}
		if i, ok := bySign[key]; ok && m.sign != 0 {
			hits[i].Similar++
			continue
		}
		if len(hits) == s.limit() {
			continue
		}
		r := readers[m.of.Branch()]
		if r == nil {
			var err error
			if r, err = m.of.Reader(); err != nil {
				return nil, err
			}
			readers[m.of.Branch()] = r
		}
		e, err := r.Entry(m.at, m.anchor, m.seq)
		if err != nil {
			return nil, err
		}
		e.Tape = s.Tapes[m.tape].Name()
		body := text.AppendEntry(nil, e.Kind, e.Payload)
		match, _ := find.Match(body)
		bySign[key] = len(hits)
		hits = append(hits, newHit(&candidate{entry: e, text: body, match: match}))
	}
	return hits, nil
}

// addNeighbours adds what is before and after each hit.
func addNeighbours(ctx context.Context, s Search, hits []Hit) error {
	n := int64(s.Context)
	if n == 0 {
		return nil
	}
	where := map[string]parts{}
	for i := range hits {
		h := &hits[i]
		if where[h.Tape] == nil {
			var err error
			if where[h.Tape], err = partsOf(ctx, s.tape(h.Tape)); err != nil {
				return err
			}
		}
		for id := max(1, h.ID-n); id <= h.ID+n; id++ {
			if id == h.ID {
				continue
			}
			e, err := where[h.Tape].part(id).of.Entry(ctx, id)
			e.Tape = h.Tape
			switch {
			case isNotFound(err): // behind the last one
			case err != nil:
				return err
			case id < h.ID:
				h.Before = append(h.Before, e)
			default:
				h.After = append(h.After, e)
			}
		}
	}
	return nil
}

func (s Search) tape(name string) *repo.Tape {
	i := slices.IndexFunc(s.Tapes, func(t *repo.Tape) bool { return t.Name() == name })
	return s.Tapes[i]
}

func isNotFound(err error) bool { return errors.Is(err, repo.ErrNotFound) }
