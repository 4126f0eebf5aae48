package api

import (
	"net/http"
	"reflect"
	"strings"

	"tape/internal/serve/front"
	"tape/internal/sessions/filter"
)

type route = front.Endpoint[*request]

// routes returns the endpoints below /v1, in the order of the document.
func routes() []route {
	limit := front.Param{"limit", "integer", "how many at most"}
	cursor := front.Param{"cursor", "string", "continues where a page ended; the other parameters must be the same"}
	remote := front.Param{"remote", "string", "only this remote"}
	return []route{
		{Method: http.MethodGet, Path: "/me", Summary: "Who the token's user is", Answer: reflect.TypeFor[Me](), Do: (*request).me},
		{Method: http.MethodGet, Path: "/search", Summary: "Entries that have any of the words, session by session, the most relevant first", Answer: reflect.TypeFor[HitPage](),
			Query: append([]front.Param{{"q", "string", "words, \"a phrase\", -not, OR, prefix*"}, limit, cursor, remote, {"tape", "string", "only this session"}, {"project", "string", "only sessions with this part of the project"},
				{"sort", "string", "relevance or newest"}, {"exact", "boolean", "all words, exactly as spelt"}, {"all_words", "boolean", "only entries that have all words"}, {"flat", "boolean", "the best entries first, of whichever session"}, {"per_session", "integer", "how many hits of a session at most; 0: all"}, {"no_fold", "boolean", "nearly identical entries one by one"},
				{"searches", "boolean", "also what search tools wrote"}, {"entries", "boolean", "with the entries themselves"}}, filters()...), Do: (*request).search},
		{Method: http.MethodGet, Path: "/sessions", Summary: "Sessions, those with the newest entries first", Answer: reflect.TypeFor[SessionPage](),
			Query: []front.Param{limit, cursor, remote, {"tape", "string", "only the session with this name"}, {"grep", "string", "a part of title, name or project"}, {"agent", "string", "a part of the agent's name"},
				{"project", "string", "a part of the project"}, {"since", "string", "with entries of this date or later"}, {"until", "string", "begun on this date or earlier"}, {"forks", "boolean", "also forks"}},
			Do: (*request).sessions},
		{Method: http.MethodGet, Path: "/sessions/{remote}/{tape}/entries", Summary: "Entries of a session; a fork is PARENT/FORK", Answer: reflect.TypeFor[EntryPage](),
			Query: append([]front.Param{limit, cursor, {"from", "integer", "the first id"}, {"to", "integer", "the last id"}, {"order", "string", "asc or desc"}}, filters()...), Do: (*request).entries},
	}
}

// filters returns the parameters of all filters for entries.
func filters() (out []front.Param) {
	for _, f := range filter.Fields() {
		help := f.Values
		if help == "" {
			help = "a date, as since"
		}
		out = append(out, front.Param{filter.InURL(f.Name), "string", help})
	}
	return out
}

// others returns the endpoints outside of /v1, which are not in the document.
func others() []route {
	return []route{{Path: "/metrics", Do: (*request).metrics}, {Path: "/mcp", Do: (*request).mcp}}
}

// routeOf finds the endpoint of a path.
func routeOf(path string) (route, bool) {
	for _, rt := range routes() {
		if "/v1"+rt.Path == path || strings.Contains(rt.Path, "{") && strings.HasPrefix(path, sessionPrefix) && strings.HasSuffix(path, entriesSuffix) {
			return rt, true
		}
	}
	for _, rt := range others() {
		if rt.Path == path {
			return rt, true
		}
	}
	return route{}, false
}
