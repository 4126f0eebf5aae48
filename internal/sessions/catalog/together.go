package catalog

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"tape/index"
)

// Mark sets the Workspace of all entries of a result to a workspace's name.
func Mark(res *index.Result, name string) {
	for i := range res.Hits {
		h := &res.Hits[i]
		h.Workspace = name
		for j := range h.Before {
			h.Before[j].Workspace = name
		}
		for j := range h.After {
			h.After[j].Workspace = name
		}
	}
}

// SearchAll makes one result of a search in several workspaces. in searches the workspaces whose names only accepts, and
// gives their results these names with [Mark]. Words are weighed as in one search of all entries. Similar words are
// searched for only if no workspace has a match for the words as they are spelt.
func SearchAll(s index.Search, in func(s index.Search, only func(name string) bool) ([]*index.Result, error)) (*index.Result, error) {
	asSpelt := s
	if s.How == index.Words {
		survey := s
		survey.Survey = true
		surveys, err := in(survey, everyName)
		if err != nil {
			return nil, err
		}
		asSpelt.Among = &index.Survey{}
		for _, res := range surveys {
			if res.Survey != nil {
				asSpelt.Among.Add(res.Survey)
			}
		}
	}
	asSpelt.AsSpelt = asSpelt.AsSpelt || !s.AnyWords()
	results, err := inTwoSteps(asSpelt, in)
	if err != nil {
		return nil, err
	}
	found := func(res *index.Result) bool { return res.Matches > 0 }
	if !s.AsSpelt && !s.Exact && s.How == index.Words && !slices.ContainsFunc(results, found) {
		if results, err = in(s, everyName); err != nil {
			return nil, err
		}
		// The workspaces may have found different similar words: those with the most matches count.
		instead, most := "", -1
		for _, res := range results {
			if res.Matches > most {
				instead, most = res.Instead, res.Matches
			}
		}
		results = slices.DeleteFunc(results, func(res *index.Result) bool { return res.Instead != instead })
	}
	out := &index.Result{Exact: true, Some: slices.ContainsFunc(results, found)}
	for _, res := range results {
		out.Some = out.Some && (res.Some || !found(res))
		out.Matches += res.Matches
		out.Exact = out.Exact && res.Exact
		out.Instead = cmp.Or(out.Instead, res.Instead)
	}
	out.Hits = merge(results, s)
	return out, nil
}

func everyName(string) bool { return true }

// inTwoSteps first asks each workspace for a few hits. Then it asks for all hits, but only the workspaces whose few hits
// are all among the best: more hits of the others would not be shown.
func inTwoSteps(s index.Search, in func(index.Search, func(string) bool) ([]*index.Result, error)) ([]*index.Result, error) {
	const least, part = 4, 4
	limit := s.Query.Limit
	if limit == nil || *limit <= least || s.Count || s.How != index.Words {
		return in(s, everyName)
	}
	few, brief := max(least, *limit/part), s
	brief.Query.Limit, brief.Brief = &few, true
	results, err := in(brief, everyName)
	if err != nil {
		return nil, err
	}
	among := map[string]int{}
	for _, h := range merge(results, s) {
		among[h.Workspace]++
	}
	again := func(name string) bool { return among[name] >= few }
	results = slices.DeleteFunc(results, func(res *index.Result) bool { return len(res.Hits) > 0 && again(res.Hits[0].Workspace) })
	if !slices.ContainsFunc(slices.Collect(maps.Keys(among)), again) {
		return results, nil
	}
	more, err := in(s, again)
	return append(results, more...), err
}

// merge returns the hits of all results up to the search's limit: session by session, the best first, or the newest
// entries. The order in each result is kept.
func merge(results []*index.Result, s index.Search) []index.Hit {
	var left [][]index.Hit // what stays together: the hits of a session, or single hits
	for _, res := range results {
		left = append(left, res.Hits)
	}
	sessions := s.How == index.Words && !s.Newest && !s.Flat
	if sessions {
		left = bySession(left, s.PerSession)
	}
	var hits []index.Hit
	for s.Query.Limit == nil || len(hits) < *s.Query.Limit {
		best := -1
		for i, list := range left {
			if len(list) > 0 && (best < 0 || before(list[0], left[best][0], s.Newest, sessions)) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		n := 1
		if sessions {
			n = len(left[best])
		}
		if s.Query.Limit != nil {
			n = min(n, *s.Query.Limit-len(hits))
		}
		hits = append(hits, left[best][:n]...)
		if left[best] = left[best][n:]; sessions {
			hits[len(hits)-1].More += len(left[best])
			left[best] = nil
		}
	}
	return hits
}

// bySession cuts results at the borders of sessions. If there are several sessions, it cuts each to most hits.
func bySession(results [][]index.Hit, most int) (sessions [][]index.Hit) {
	for _, list := range results {
		for len(list) > 0 {
			n := slices.IndexFunc(list, func(h index.Hit) bool { return h.Session != list[0].Session })
			if n < 0 {
				n = len(list)
			}
			sessions, list = append(sessions, list[:n]), list[n:]
		}
	}
	for i, list := range sessions {
		if most > 0 && len(list) > most && len(sessions) > 1 {
			sessions[i] = slices.Clip(list[:most])
			sessions[i][most-1].More += len(list) - most
		}
	}
	return sessions
}

func before(a, b index.Hit, newest, sessions bool) bool {
	if sessions && a.Rank != b.Rank {
		return a.Rank > b.Rank
	}
	at := func(h index.Hit) time.Time { t, _ := h.Time(); return t }
	if newest || a.Score == b.Score {
		return at(a).After(at(b))
	}
	return a.Score > b.Score
}
