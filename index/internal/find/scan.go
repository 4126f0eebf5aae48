package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"

	"tape/index/internal/store"
	"tape/internal/text"
	"tape/repo"
)

// fileMatch is a match in a file, without its text, because there may be very many.
type fileMatch struct {
	rank    int        // of its tape: index into the searched tapes
	holder  *repo.Tape // the tape whose files contain it
	id      int64
	created int64
	at      layout.Position
	anchor  string
	seq     int
	sign    uint64 // see tapeScan.sign
	kind    string
}

// signature is what folded entries have in common.
type signature struct {
	sign int64
	kind string
	tape int // rank of the tape
}

// InFiles searches the files of tapes. Hits are not ranked; the newest comes first.
func InFiles(ctx context.Context, all []*repo.Tape, s Search) (*Result, error) {
	find, err := s.scanner()
	if err != nil {
		return nil, err
	}
	tapes, err := s.selectIn(ctx, all)
	if err != nil {
		return nil, err
	}
	where, err := partsToScan(ctx, tapes)
	if err != nil {
		return nil, err
	}
	var matches []fileMatch
	complete := true
	for i, t := range tapes {
		sc := &tapeScan{Search: s, rank: i, find: find}
		found, err := sc.run(ctx, t.Tape, where[i])
		if err != nil {
			return nil, fmt.Errorf("search tape %q: %w", t.Name(), err)
		}
		complete = complete && sc.complete
		matches = append(matches, found...)
	}
	slices.SortFunc(matches, func(a, b fileMatch) int {
		if len(tapes) == 1 { // dates may be out of order, ids are not
			return cmp.Compare(b.id, a.id)
		}
		return cmp.Or(cmp.Compare(b.created, a.created), cmp.Compare(a.rank, b.rank), cmp.Compare(b.id, a.id))
	})
	out := &Result{Matches: len(matches), Exact: complete}
	if s.Count {
		return out, nil
	}
	if out.Hits, err = scanHits(ctx, s, tapes, find, matches); err != nil || s.Context == 0 {
		return out, err
	}
	return out, addNeighbours(ctx, s.Context, tapes, out.Hits)
}

func (s Search) scanner() (*Scanner, error) {
	if s.How == Substring {
		return NewSubstring(s.Text, s.IgnoreCase), nil
	}
	find, err := NewRegexp(s.Text, s.IgnoreCase)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", repo.ErrInvalid, err)
	}
	return find, nil
}

// partsToScan returns which parts of each tape to search. Nil means what the query selects in the tape's own files.
func partsToScan(ctx context.Context, tapes []selection) ([]parts, error) {
	out := make([]parts, len(tapes))
	if !slices.ContainsFunc(tapes, func(t selection) bool { return t.IsFork() }) {
		return out, nil
	}
	for i, t := range tapes {
		all, err := partsOf(ctx, t.Tape)
		if err != nil {
			return nil, err
		}
		out[i] = append(parts{}, all.within(t.first, t.last)...)
	}
	dropOverlaps(tapes, out)
	return out, nil
}

// scanHits makes hits of the first matches, and folds the matches that say nearly the same.
func scanHits(ctx context.Context, s Search, tapes []selection, find *Scanner, all []fileMatch) ([]Hit, error) {
	open := readers{}
	defer open.close()
	hits, bySign := []Hit{}, map[signature]int{}
	for _, m := range all {
		key := signature{int64(m.sign), m.kind, m.rank}
		if i, ok := bySign[key]; ok && m.sign != 0 {
			hits[i].Similar++
			continue
		}
		if len(hits) == s.limit() {
			continue
		}
		r, err := open.get(ctx, m.holder, gitstore.ZeroHash)
		if err != nil {
			return nil, err
		}
		e, err := r.Entry(m.at, m.anchor, m.seq)
		if err != nil {
			return nil, err
		}
		e.Tape = tapes[m.rank].Name()
		body := store.AppendAttached(text.AppendEntry(nil, e.Kind, e.Payload), r.Attach(e))
		spans, _ := find.Match(body)
		bySign[key] = len(hits)
		hits = append(hits, newHit(e, body, spans, s.Width))
	}
	return hits, nil
}

func addNeighbours(ctx context.Context, n int, tapes []selection, hits []Hit) error {
	where := map[string]parts{}
	return surround(hits, n, func(tape string, id int64) (e repo.Entry, ok bool, err error) {
		if where[tape] == nil {
			i := slices.IndexFunc(tapes, func(t selection) bool { return t.Name() == tape })
			if where[tape], err = partsOf(ctx, tapes[i].Tape); err != nil {
				return e, false, err
			}
		}
		e, err = snapshot.Entry(ctx, (*workspace.Tape)(where[tape].part(id).holder), id)
		if errors.Is(err, repo.ErrNotFound) {
			return e, false, nil
		}
		return e, true, err
	})
}
