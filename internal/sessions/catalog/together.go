package catalog

import (
	"slices"
	"time"

	"tape/index"
)

// Mark says of all entries of a result that they are of a workspace.
func Mark(res *index.Result, dir string) {
	for i := range res.Hits {
		h := &res.Hits[i]
		h.Workspace = dir
		for j := range h.Before {
			h.Before[j].Workspace = dir
		}
		for j := range h.After {
			h.After[j].Workspace = dir
		}
	}
}

// SearchAll makes one result of a search in several workspaces. Similar words count only if none of them has a
// match.
func SearchAll(s index.Search, in func(index.Search) ([]*index.Result, error)) (*index.Result, error) {
	asSpelt := s
	asSpelt.AsSpelt = true
	results, err := in(asSpelt)
	if err != nil {
		return nil, err
	}
	found := func(res *index.Result) bool { return res.Matches > 0 }
	if !s.AsSpelt && !s.Exact && s.How == index.Words && !slices.ContainsFunc(results, found) {
		if results, err = in(s); err != nil {
			return nil, err
		}
		// They may be similar to different words: those with the most matches count.
		instead, most := "", -1
		for _, res := range results {
			if res.Matches > most {
				instead, most = res.Instead, res.Matches
			}
		}
		results = slices.DeleteFunc(results, func(res *index.Result) bool { return res.Instead != instead })
	}
	out := &index.Result{Exact: true}
	for _, res := range results {
		out.Matches += res.Matches
		out.Exact = out.Exact && res.Exact
		out.Instead = res.Instead
	}
	out.Hits = merge(results, s)
	return out, nil
}

// merge returns the hits of all results, the best first, or the newest. The order in each result is kept.
func merge(results []*index.Result, s index.Search) (hits []index.Hit) {
	var left [][]index.Hit
	for _, res := range results {
		left = append(left, res.Hits)
	}
	for s.Query.Limit == nil || len(hits) < *s.Query.Limit {
		best := -1
		for i, list := range left {
			if len(list) > 0 && (best < 0 || before(list[0], left[best][0], s.Newest)) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		hits = append(hits, left[best][0])
		left[best] = left[best][1:]
	}
	return hits
}

func before(a, b index.Hit, newest bool) bool {
	at := func(h index.Hit) time.Time { t, _ := h.Time(); return t }
	if newest || a.Score == b.Score {
		return at(a).After(at(b))
	}
	return a.Score > b.Score
}
