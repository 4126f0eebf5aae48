package find

import (
	"cmp"
	"context"
	"math"
	"slices"

	"tape/index/internal/store"
	"tape/repo"
)

// part is a range of a tape's entries that are in the files of one tape: a fork's entries up to its base are
// in its parent's files.
type part struct {
	holder *repo.Tape // the tape whose files contain them
	no     int64      // number of holder in the index; 0 if unused
	lo, hi int64      // ids, both included
}

// parts are all entries of a tape, the newest part first.
type parts []part

// partsOf finds the parts of a tape from its history.
func partsOf(ctx context.Context, t *repo.Tape) (parts, error) {
	var out parts
	for hi := int64(math.MaxInt64); ; {
		parent, m, ok, err := store.Begins(ctx, t)
		if err != nil {
			return nil, err
		}
		out = append(out, part{holder: t, lo: m.LastID + 1, hi: hi})
		if !ok {
			return out, nil
		}
		t, hi = parent, min(hi, m.LastID)
	}
}

// within returns the parts, cut to the ids from first to last.
func (ps parts) within(first, last int64) parts {
	var out parts
	for _, p := range ps {
		if p.lo, p.hi = max(p.lo, first), min(p.hi, last); p.lo <= p.hi {
			out = append(out, p)
		}
	}
	return out
}

func (ps parts) part(id int64) part {
	i := slices.IndexFunc(ps, func(p part) bool { return p.lo <= id && id <= p.hi })
	return ps[i]
}

// dropOverlaps removes overlaps between the parts of several tapes, so that no entry comes twice. An entry
// stays with the tape that it was written to, if that is searched, otherwise with the tape with the shortest
// name, because a fork's name is longer than its parent's. It reports which tapes lost entries.
func dropOverlaps(tapes []selection, all []parts) []bool {
	lost := make([]bool, len(all))
	if !slices.ContainsFunc(tapes, func(t selection) bool { return t.IsFork() }) {
		return lost
	}
	searched := map[string]bool{} // by branch
	order := make([]int, len(all))
	for i, t := range tapes {
		searched[t.Branch()], order[i] = true, i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(len(tapes[a].Name()), len(tapes[b].Name())), cmp.Compare(tapes[a].Name(), tapes[b].Name()))
	})
	assigned := map[string]parts{} // by the holder's branch
	for _, i := range order {
		left := parts{} // not nil, because nil would mean all files to a scan
		for _, p := range all[i] {
			branch := p.holder.Branch()
			if branch != tapes[i].Branch() && searched[branch] {
				lost[i] = true
				continue
			}
			rest := parts{p}
			for _, t := range assigned[branch] {
				rest = rest.without(t.lo, t.hi)
			}
			lost[i] = lost[i] || len(rest) != 1 || rest[0] != p
			assigned[branch] = append(assigned[branch], rest...)
			left = append(left, rest...)
		}
		all[i] = left
	}
	return lost
}

func (ps parts) without(lo, hi int64) parts {
	var out parts
	for _, p := range ps {
		if hi < p.lo || p.hi < lo {
			out = append(out, p)
			continue
		}
		if p.hi > hi {
			out = append(out, part{p.holder, p.no, hi + 1, p.hi})
		}
		if p.lo < lo {
			out = append(out, part{p.holder, p.no, p.lo, lo - 1})
		}
	}
	return out
}
