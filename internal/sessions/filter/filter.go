// Package filter parses filters of entries. Every surface passes on what it was given, as flags, in a URL
// or as JSON, and gets the same query. A new filter is a field of Params, a line in Query, and for each
// surface a flag or a property of a schema.
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

// Params are the filters as they were given. Parameters that are JSON embed them.
type Params struct {
	Kinds   []string `json:"kinds"`
	Roles   []string `json:"roles"`
	Authors []string `json:"authors"`
	Since   string   `json:"since"`
	Until   string   `json:"until"`
}

// FromURL reads the parameters of a URL. An empty field of a form is no filter.
func FromURL(v url.Values) Params {
	list := func(param string) []string {
		return slices.DeleteFunc(slices.Clone(v[InURL(param)]), func(s string) bool { return s == "" })
	}
	return Params{Kinds: list("kinds"), Roles: list("roles"), Authors: list("authors"), Since: v.Get("since"), Until: v.Get("until")}
}

// Named returns the surface's name of a parameter, for errors.
type Named func(param string) string

// AsFlag is the name on the command line.
func AsFlag(param string) string { return "--" + singular(param) }

// InURL is the name in URLs of the web view.
func InURL(param string) string { return singular(param) }

// InJSON is the name in JSON.
func InJSON(param string) string { return param }

func singular(param string) string { return strings.TrimSuffix(param, "s") }

// Any reports whether there is a filter.
func (p Params) Any() bool {
	return len(p.Kinds) > 0 || len(p.Roles) > 0 || len(p.Authors) > 0 || p.Since != "" || p.Until != ""
}

// Query parses the filters. Dates without a zone are in the zone of now.
func (p Params) Query(named Named, now time.Time) (q repo.Query, err error) {
	if q.Kinds, err = names("kind", named("kinds"), p.Kinds, layout.SimilarKind); err != nil {
		return q, err
	}
	if q.Roles, err = names("role", named("roles"), p.Roles, layout.SimilarRole); err != nil {
		return q, err
	}
	if q.Authors, err = names("author", named("authors"), p.Authors, func(string) string { return "" }); err != nil {
		return q, err
	}
	if q.Since, err = Since(named("since"), p.Since, now); err != nil {
		return q, err
	}
	if q.Until, err = date(named("until"), p.Until, now, layout.ParseUntil); err != nil {
		return q, err
	}
	return q, layout.Wrap(q.Check(), "%s and %s", named("since"), named("until"))
}

// names refuses an empty name, and a known name with a typo: finding nothing would mislead. Other names
// may come from a user's own program.
func names(what, param string, list []string, meant func(string) string) ([]string, error) {
	for _, name := range list {
		if name == "" {
			return nil, layout.Invalid("", "%s: a name is empty", param)
		}
		if m := meant(name); m != "" {
			return nil, layout.Invalid(fmt.Sprintf("did you mean %q?", m), "%s: there is no %s %s", param, what, strconv.Quote(name))
		}
	}
	return list, nil
}

// Since parses the beginning of a range of dates. The zero time stands for "".
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

// Count checks a number without an upper bound. Nil stays nil.
func Count(param string, n *int) (*int, error) {
	if n != nil && *n < 0 {
		return nil, layout.Invalid("", "%s must not be negative", param)
	}
	return n, nil
}

// Capped returns n, at most the surface's maximum. 0 and less stand for the usual number, because models
// fill in every parameter.
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
