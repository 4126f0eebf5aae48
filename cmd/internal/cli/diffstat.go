package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"tape/cmd/internal/stdio"
	"tape/internal/show/conversation"
	"tape/internal/store/about"
	"tape/internal/store/query"
	"tape/repo"
)

type tally struct {
	Added   int64 `json:"added"`
	Removed int64 `json:"removed"`
	Edited  int64 `json:"edited"`
}

func (t *tally) add(kind string, n int64) {
	switch kind {
	case query.ChangeAdded:
		t.Added += n
	case query.ChangeRemoved:
		t.Removed += n
	case query.ChangeEdited:
		t.Edited += n
	}
}

type diffStat struct {
	From    string            `json:"from"`
	To      string            `json:"to"`
	Entries tally             `json:"entries"`
	Kinds   map[string]*tally `json:"kinds"`
	Runs    tally             `json:"runs"`   // run events that tell of tokens
	Tokens  tally             `json:"tokens"` // what they tell
	Tools   map[string]*tally `json:"tools"`  // calls
}

func (s *diffStat) count(c query.Change) {
	s.Entries.add(c.Kind, 1)
	bump(s.Kinds, c.Entry.Kind).add(c.Kind, 1)
	if u, ok := about.UsageOf(c.Entry); ok && u.TotalTokens != nil {
		s.Runs.add(c.Kind, 1)
		s.Tokens.add(c.Kind, *u.TotalTokens)
	}
	for _, call := range conversation.Of(c.Entry).Calls {
		bump(s.Tools, call.Name).add(c.Kind, 1)
	}
}

func bump(m map[string]*tally, key string) *tally {
	if m[key] == nil {
		m[key] = &tally{}
	}
	return m[key]
}

func (a *App) showDiffStat(ctx context.Context, from, to *repo.Revision) error {
	s := diffStat{From: from.Name(), To: to.Name(), Kinds: map[string]*tally{}, Tools: map[string]*tally{}}
	err := query.Compare(ctx, from, to, func(c query.Change) error {
		s.count(c)
		return nil
	})
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Emit(s)
	}
	if s.Entries == (tally{}) {
		a.Tell("no entry differs")
		return nil
	}
	a.Page()
	a.tallies("KIND", s.Kinds, "entries", s.Entries)
	if len(s.Tools) > 0 {
		a.Printf("\n")
		a.tallies("TOOL", s.Tools, "", tally{})
	}
	if s.Runs != (tally{}) {
		a.Printf("\n")
		a.tallies("RUNS", map[string]*tally{"runs": &s.Runs, "tokens": &s.Tokens}, "", tally{})
	}
	return nil
}

// tallies shows counts as a table, the highest first, and their sum below them.
func (a *App) tallies(head string, m map[string]*tally, name string, sum tally) {
	table := stdio.NewTable(head, ">ADDED", ">REMOVED", ">EDITED")
	number := func(n int64) string {
		if n == 0 {
			return "-"
		}
		return strconv.FormatInt(n, 10)
	}
	add := func(name string, t tally) { table.Add(name, number(t.Added), number(t.Removed), number(t.Edited)) }
	total := func(t *tally) int64 { return t.Added + t.Removed + t.Edited }
	for _, key := range slices.SortedFunc(maps.Keys(m), func(x, y string) int {
		return cmp.Or(cmp.Compare(total(m[y]), total(m[x])), cmp.Compare(x, y))
	}) {
		add(key, *m[key])
	}
	if name != "" {
		add(name, sum)
	}
	table.Write(&a.Streams)
}
