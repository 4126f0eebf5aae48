package catalog

import (
	"maps"
	"slices"
	"strings"
	"time"

	"tape/internal/store/about"
	"tape/repo"
)

// TellApart sets Apart of the tapes that share a title with others: the git branch, the day and the time at
// which they began, as far as they differ, or else the short name. It clears Apart of all others.
func TellApart(tapes []*about.Tape) {
	same := map[string][]*about.Tape{}
	for _, t := range tapes {
		if t.Apart = ""; t.Title != "" {
			same[t.Title] = append(same[t.Title], t)
		}
	}
	for _, group := range same {
		tellApart(group, differences)
	}
}

// differences may tell tapes with the same title apart. They are used in this order, until a tape differs from all others.
var differences = []func(*about.Tape) string{
	func(t *about.Tape) string { return t.Branch },
	func(t *about.Tape) string { return began(t, time.DateOnly) },
	func(t *about.Tape) string { return began(t, "15:04") },
}

func began(t *about.Tape, format string) string {
	if t.Started.IsZero() {
		return ""
	}
	return t.Started.Local().Format(format)
}

func tellApart(group []*about.Tape, by []func(*about.Tape) string) {
	if len(group) == 1 {
		return
	}
	if len(by) == 0 {
		names := make([]string, len(group))
		for i, t := range group {
			names[i] = t.Name
		}
		for name, short := range ShortNames(names) {
			note(group[slices.Index(names, name)], short)
		}
		return
	}
	values := map[string][]*about.Tape{}
	for _, t := range group {
		values[by[0](t)] = append(values[by[0](t)], t)
	}
	for value, some := range values {
		for _, t := range some {
			if len(values) > 1 {
				note(t, value)
			}
		}
		tellApart(some, by[1:])
	}
}

// note adds a value to what tells a tape apart.
func note(t *about.Tape, value string) { t.Apart = strings.TrimSpace(t.Apart + " " + value) }

// apart is TellApart for a map of tapes by branch.
func apart(facts map[string]about.Tape) {
	titles := make(map[string]int, len(facts))
	for _, t := range facts {
		titles[t.Title]++
	}
	twins := map[string]*about.Tape{}
	for branch, t := range facts {
		if titles[t.Title] > 1 {
			twins[branch] = &t
		}
	}
	TellApart(slices.Collect(maps.Values(twins)))
	for branch, t := range twins {
		facts[branch] = *t
	}
}

// Listed reports whether lists show a tape. They leave out the tape that comes with a workspace while nothing is on it,
// and the tapes that tape serve keeps for itself.
func Listed(t about.Tape) bool {
	return !t.IsHostTape && (t.Name != repo.DefaultTape || t.Entries != 1)
}
