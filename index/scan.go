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
	tape    int // index into Search.Tapes
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
	var all []scanned
	var missing error
	reached, whole := false, true
	for i, t := range s.Tapes {
		sc := &tapeScan{Search: s, tape: i, find: find}
		found, err := sc.run(ctx)
		if isNotFound(err) {
			missing = err
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("search tape %q: %w", t.Name(), err)
		}
		reached, whole = true, whole && sc.whole
		all = append(all, found...)
	}
	if missing != nil && !reached {
		return nil, missing
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

// scanHits makes hits of the first matches, and folds those that say the same.
func scanHits(s Search, find *text.Scan, all []scanned) ([]Hit, error) {
	readers := make([]*repo.Reader, len(s.Tapes))
	defer func() {
		for _, r := range readers {
			if r != nil {
				_ = r.Close()
			}
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
		r := readers[m.tape]
		if r == nil {
			var err error
			if r, err = s.Tapes[m.tape].Reader(); err != nil {
				return nil, err
			}
			readers[m.tape] = r
		}
		e, err := r.Entry(m.at, m.anchor, m.seq)
		if err != nil {
			return nil, err
		}
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
	for i := range hits {
		h := &hits[i]
		t := s.tape(h.Tape)
		for id := max(1, h.ID-n); id <= h.ID+n && n > 0; id++ {
			if id == h.ID {
				continue
			}
			e, err := t.Entry(ctx, id)
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
