package rows

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
	Runs    tally             `json:"runs"`   // events of runs with tokens
	Tokens  tally             `json:"tokens"` // the sum of their tokens
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

// Stat shows the numbers of entries, calls and tokens that two revisions do not share.
func Stat(ctx context.Context, s *stdio.Streams, from, to *repo.Revision) error {
	n := diffStat{From: from.Name(), To: to.Name(), Kinds: map[string]*tally{}, Tools: map[string]*tally{}}
	err := query.Compare(ctx, from, to, func(c query.Change) error {
		n.count(c)
		return nil
	})
	if err != nil {
		return err
	}
	if s.JSON {
		return s.Emit(n)
	}
	if n.Entries == (tally{}) {
		s.StderrUnlessQuiet("no entry differs")
		return nil
	}
	s.Page()
	tallies(s, "KIND", n.Kinds, "entries", n.Entries)
	if len(n.Tools) > 0 {
		s.Printf("\n")
		tallies(s, "TOOL", n.Tools, "", tally{})
	}
	if n.Runs != (tally{}) {
		s.Printf("\n")
		tallies(s, "RUNS", map[string]*tally{"runs": &n.Runs, "tokens": &n.Tokens}, "", tally{})
	}
	return nil
}

// tallies shows counts as a table, the highest first, and their sum below them.
func tallies(s *stdio.Streams, head string, m map[string]*tally, name string, sum tally) {
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
	table.Write(s)
}
