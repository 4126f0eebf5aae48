package snapshot

import (
	"slices"
	"strings"

	"tape/internal/store/layout"
)

// Property is a property of entries that a Query can filter by, and that the index keeps.
type Property struct {
	Mark  string                      // the letter for it in the index
	Asked func(*Query) []string       // the values that a query asks for; if none, it keeps all entries
	Of    func(layout.Entry) []string // an entry's values; "" stands for no value
	Part  bool                        // a value fits if it contains an asked one, ignoring case; otherwise it must be equal
	Owned bool                        // the value of an entry without one is the tape's owner
}

// Properties are all properties. To add one, add a field to Query, and a line here.
var Properties = [...]Property{
	{Mark: "k", Asked: func(q *Query) []string { return q.Kinds }, Of: func(e layout.Entry) []string { return []string{e.Kind} }},
	{Mark: "r", Asked: func(q *Query) []string { return q.Roles }, Of: func(e layout.Entry) []string { return []string{e.Role()} }},
	{Mark: "a", Asked: func(q *Query) []string { return q.Authors }, Of: func(e layout.Entry) []string { return []string{e.Author()} }, Part: true, Owned: true},
}

// Fits reports whether a value fits one of the asked ones.
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
