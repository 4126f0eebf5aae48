package host

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/index"
	"tape/internal/serve/host/api"
	"tape/internal/sessions/filter"
	"tape/repo"
)

// The parameters of a search in the transcript.

// searchFilters are the filters of a search, in JSON.
type searchFilters struct {
	filter.Params
	EventTypes       []string `json:"event_types"`
	Conversation     string   `json:"conversation_id"`
	IncludeArtifacts *bool    `json:"include_artifacts"`
}

// searchShape says in words what the JSON of Filters is.
func searchShape() string {
	return "a JSON object of " + strings.Join(append(filter.Names(), "event_types", "conversation_id", "include_artifacts"), ", ")
}

// searchFiltersOf reads the filters from a query, and from its parameter filters.
func searchFiltersOf(q url.Values) (f searchFilters, err error) {
	if text := q.Get("filters"); text != "" {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&f); err != nil {
			return f, api.Invalid("filters is not %s: %v", searchShape(), err)
		}
	}
	own := q.Get("conversation_id")
	if own != "" && f.Conversation != "" && own != f.Conversation {
		return f, api.Invalid("conversation_id is given twice, with different values")
	}
	f.Conversation = cmp.Or(own, f.Conversation)
	if types := q.Get("event_types"); types != "" {
		f.EventTypes = append(f.EventTypes, strings.Split(types, ",")...)
	}
	if text := q.Get("include_artifacts"); text != "" {
		with, err := strconv.ParseBool(text)
		if err != nil {
			return f, api.Invalid("include_artifacts has to be true or false")
		}
		f.IncludeArtifacts = &with
	}
	return f, nil
}

// Artifacts reports whether texts of artifacts are searched, and references to them shown: by default, yes.
func (f searchFilters) Artifacts() bool { return f.IncludeArtifacts == nil || *f.IncludeArtifacts }

// Match reports whether the filters on kinds and types admit an entry that has one of the types of Search.
func (f searchFilters) Match(e repo.Entry) bool {
	kind := kindOf(e)
	if len(f.EventTypes) > 0 && len(f.Kinds) > 0 {
		return slices.Contains(f.Kinds, kind)
	}
	return len(f.EventTypes) > 0 || isShown(e)
}

const maxQuery = 2_000 // bytes: a query of thousands of words takes long

// Search returns the search that the index has to do. Its tapes and limit are not set.
func (f searchFilters) Search(text string, now time.Time) (s index.Search, err error) {
	if strings.TrimSpace(text) == "" {
		return s, api.Invalid("q is missing: give words to search for")
	}
	if len(text) > maxQuery {
		return s, api.Invalid("q has more than %d bytes", maxQuery)
	}
	params := f.Params
	params.Kinds = nil // they are kinds in the transcript, not of entries
	q, err := params.Query(filter.InJSON, now)
	if err != nil {
		return s, err
	}
	s = index.Search{Text: text, Query: q, Width: 300, NoFold: true, Own: !f.Artifacts(), Types: f.EventTypes}
	if len(s.Types) == 0 {
		for kind, types := range itemTypes() {
			if len(f.Kinds) == 0 || slices.Contains(f.Kinds, kind) {
				s.Types = append(s.Types, types...)
			}
		}
		s.Types = append(s.Types, f.Kinds...) // an unknown kind finds nothing
	}
	return s, nil
}
