package snapshot

import (
	"slices"
	"strings"

	"tape/internal/store/layout"
)

// Property is something of entries that a Query filters by, and that the index keeps.
type Property struct {
	Mark  string                      // names it in the index: a letter of its own
	Asked func(*Query) []string       // the query's values; with none, all entries are kept
	Of    func(layout.Entry) []string // an entry's values; "" is none
	Part  bool                        // values contain what is asked, ignoring case; others are equal to it
	Owned bool                        // an entry without a value has the tape's owner
}

// Properties are all of them. To add one, add a field to Query, and a line here.
var Properties = [...]Property{
	{Mark: "k", Asked: func(q *Query) []string { return q.Kinds }, Of: func(e layout.Entry) []string { return []string{e.Kind} }},
	{Mark: "r", Asked: func(q *Query) []string { return q.Roles }, Of: func(e layout.Entry) []string { return []string{e.Role()} }},
	{Mark: "a", Asked: func(q *Query) []string { return q.Authors }, Of: func(e layout.Entry) []string { return []string{e.Author()} }, Part: true, Owned: true},
}

// Fits reports whether a value is one of those that are asked.
func (p *Property) Fits(asked []string, value string) bool {
	return slices.ContainsFunc(asked, func(a string) bool {
		return value == a || p.Part && strings.Contains(strings.ToLower(value), strings.ToLower(a))
	})
}

func (p *Property) keeps(q *Query, e layout.Entry) bool {
	asked := p.Asked(q)
	return len(asked) == 0 || slices.ContainsFunc(p.Of(e), func(value string) bool {
		return p.Fits(asked, value) || p.Owned && value == "" && p.Fits(asked, q.owner)
	})
}
