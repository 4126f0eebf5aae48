// Package filter parses filters of entries. Every surface passes on what it was given, as flags, in a URL
// or as JSON, and gets the same query. The command line makes its flags from [Fields], MCP and the agent
// their schemas, and the web view its form. To add a filter, add it to [Params] and to [Fields]; what it
// means for an entry is a property of package snapshot.
package filter

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/internal/store/layout"
	"tape/repo"
)

// Params are the filters as they were given. Structs of JSON parameters embed Params.
type Params struct {
	Kinds   []string `json:"kinds"`
	Roles   []string `json:"roles"`
	Authors []string `json:"authors"`
	Since   string   `json:"since"`
	Until   string   `json:"until"`
}

// Field is a filter: a list of names, or a date.
type Field struct {
	Name   string // in JSON; flags and URLs have it in the singular
	Help   string // what a flag's help says after the verb
	Values string // what a schema or a form says of its values

	List    func(*Params) *[]string // nil for a date
	names   func(*repo.Query) *[]string
	similar func(string) string // the known name for a name with a typo, or ""; nil: no names are known

	Date  func(*Params) *string
	at    func(*repo.Query) *time.Time
	parse func(text string, now time.Time) (time.Time, error)
}

// Fields returns all filters.
func Fields() []Field {
	return []Field{
		{Name: "kinds", Help: "entries of this `KIND` only", Values: "message, tool_call, tool_result, anchor, event, error",
			List: func(p *Params) *[]string { return &p.Kinds }, names: func(q *repo.Query) *[]string { return &q.Kinds }, similar: layout.SimilarKind},
		{Name: "roles", Help: "messages of this `ROLE` only", Values: "user, assistant, system",
			List: func(p *Params) *[]string { return &p.Roles }, names: func(q *repo.Query) *[]string { return &q.Roles }, similar: layout.SimilarRole},
		{Name: "authors", Help: "only entries of authors whose `NAME` or mail contains this", Values: "parts of names or mails",
			List: func(p *Params) *[]string { return &p.Authors }, names: func(q *repo.Query) *[]string { return &q.Authors }},
		{Name: "since", Help: "entries of `DATE` or later, such as 3d or yesterday", Values: "2026-11-20, 3d, yesterday",
			Date: func(p *Params) *string { return &p.Since }, at: func(q *repo.Query) *time.Time { return &q.Since }, parse: layout.ParseSince},
		{Name: "until", Help: "entries of `DATE` or earlier",
			Date: func(p *Params) *string { return &p.Until }, at: func(q *repo.Query) *time.Time { return &q.Until }, parse: layout.ParseUntil},
	}
}

// Names returns the names of all filters in JSON.
func Names() (names []string) {
	for _, f := range Fields() {
		names = append(names, f.Name)
	}
	return names
}

// Schema returns the members of a JSON schema's properties for the filters with these names; for all if there are no
// names.
func Schema(named NameFunc, names ...string) string {
	var out []string
	for _, f := range Fields() {
		if len(names) > 0 && !slices.Contains(names, f.Name) {
			continue
		}
		is := `"type":"string"`
		if f.List != nil {
			is = `"type":"array","items":{"type":"string"}`
		}
		if f.Values != "" {
			is += `,"description":` + strconv.Quote(f.Values)
		}
		out = append(out, strconv.Quote(named(f.Name))+":{"+is+"}")
	}
	return strings.Join(out, ",")
}

// FromURL reads the parameters of a URL. An empty field of a form is no filter.
func FromURL(v url.Values) (p Params) {
	for _, f := range Fields() {
		if f.List == nil {
			*f.Date(&p) = v.Get(InURL(f.Name))
			continue
		}
		*f.List(&p) = slices.DeleteFunc(slices.Clone(v[InURL(f.Name)]), func(s string) bool { return s == "" })
	}
	return p
}

// ToURL returns the filters of a query as FromURL reads them, with dates in UTC.
func ToURL(q repo.Query) url.Values {
	v := url.Values{}
	for _, f := range Fields() {
		if f.List != nil {
			for _, name := range *f.names(&q) {
				v.Add(InURL(f.Name), name)
			}
			continue
		}
		if at := f.at(&q); !at.IsZero() {
			v.Set(InURL(f.Name), at.UTC().Format(time.RFC3339Nano))
		}
	}
	return v
}

// NameFunc returns the surface's name of a parameter, for errors and schemas.
type NameFunc func(param string) string

// AsFlag is the name on the command line.
func AsFlag(param string) string { return "--" + singular(param) }

// InURL is the name in URLs of the web view.
func InURL(param string) string { return singular(param) }

// InJSON is the name in JSON.
func InJSON(param string) string { return param }

func singular(param string) string { return strings.TrimSuffix(param, "s") }

// Given returns the values that were given for a filter, none if there are none.
func (f Field) Given(p *Params) []string {
	if f.List != nil {
		return *f.List(p)
	}
	return slices.DeleteFunc([]string{*f.Date(p)}, func(s string) bool { return s == "" })
}

// Any reports whether any filter was given.
func (p Params) Any() bool {
	return slices.ContainsFunc(Fields(), func(f Field) bool { return len(f.Given(&p)) > 0 })
}

// Query parses the filters. Dates without a zone are in the zone of now.
func (p Params) Query(named NameFunc, now time.Time) (q repo.Query, err error) {
	for _, f := range Fields() {
		if f.List != nil {
			*f.names(&q), err = f.check(named(f.Name), *f.List(&p))
		} else {
			*f.at(&q), err = date(named(f.Name), *f.Date(&p), now, f.parse)
		}
		if err != nil {
			return q, err
		}
	}
	return q, layout.Wrap(q.Check(), "%s and %s", named("since"), named("until"))
}

// check refuses an empty name, and a known name with a typo: finding nothing would mislead. Other names
// may come from a user's own program.
func (f Field) check(param string, list []string) ([]string, error) {
	for _, name := range list {
		if name == "" {
			return nil, layout.Invalid("", "%s: a name is empty", param)
		}
		if f.similar == nil {
			continue
		}
		if m := f.similar(name); m != "" {
			return nil, layout.Invalid(fmt.Sprintf("did you mean %q?", m), "%s: there is no %s %s", param, singular(f.Name), strconv.Quote(name))
		}
	}
	return list, nil
}

// Since parses the beginning of a range of dates. For "" it returns the zero time.
func Since(param, text string, now time.Time) (time.Time, error) {
	return date(param, text, now, layout.ParseSince)
}

func date(param, text string, now time.Time, parse func(string, time.Time) (time.Time, error)) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := parse(text, now)
	return at, layout.Wrap(err, "%s", param)
}

// Count refuses a negative number. Nil stays nil.
func Count(param string, n *int) (*int, error) {
	if n != nil && *n < 0 {
		return nil, layout.Invalid("", "%s must not be negative", param)
	}
	return n, nil
}

// Capped returns n, but at most the surface's maximum. For 0 and less it returns the usual number, because models fill in
// every parameter.
func Capped[N int | int64](n, usual, most N) N {
	if n <= 0 {
		return usual
	}
	return min(n, most)
}

// The orders of a search.
const (
	Relevance = "relevance"
	Newest    = "newest"
)

// Order parses the order of a search, and reports whether it is Newest.
func Order(param, word string) (newest bool, err error) {
	if word != Relevance && word != Newest {
		return false, layout.Invalid("", "%s is %s or %s, not %.60q", param, Relevance, Newest, word)
	}
	return word == Newest, nil
}
