package api

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strconv"

	"tape/index"
	"tape/internal/serve/front"
	"tape/internal/serve/host/api"
	"tape/internal/serve/team/db"
	"tape/internal/serve/team/find"
	"tape/internal/sessions/filter"
	"tape/internal/store/layout"
)

// Item is a hit.
type Item struct {
	Remote  string `json:"remote"`
	Tape    string `json:"tape"`
	ID      int64  `json:"id"`
	Title   string `json:"title"`
	Date    string `json:"date"`
	Kind    string `json:"kind"`
	Role    string `json:"role"`
	Author  string `json:"author"`
	Snippet string `json:"snippet"`

	// Only with entries=true.
	Entry   json.RawMessage `json:"entry,omitempty"` // the stored line
	Anchor  string          `json:"anchor,omitempty"`
	Seq     int             `json:"anchor_seq,omitempty"`
	Score   float64         `json:"score,omitempty"`
	Matches [][2]int        `json:"matches,omitempty"`
	Similar int             `json:"similar,omitempty"`
	Matched []string        `json:"matched,omitempty"` // the words that it has, of a search for any words
	Missing []string        `json:"missing,omitempty"`
	Session string          `json:"session,omitempty"` // that it belongs to, if that is another tape
	Instead string          `json:"instead,omitempty"` // the query that was answered, because no entry has some of the words
	More    int             `json:"more,omitempty"`    // how many hits of its session are left out, at the last one shown
}

// HitPage is a page of hits.
type HitPage struct {
	Items []Item  `json:"items"`
	Next  *string `json:"next_cursor"`
}

// Limits of pages.
const (
	usualHits, mostHits       = 20, 100
	usualEntries, mostEntries = 50, 1000
	// mostSkipped is above the number of hits that there are at most before a page of them. A cursor has that number, and
	// the limit of the first page times mostSkipped.
	mostSkipped = 10_000
)

// search answers a search.
func (c *request) search() (any, error) {
	v := c.r.URL.Query()
	limit, err := limitOf(v, usualHits, mostHits)
	if err != nil {
		return nil, err
	}
	s, err := c.searchOf(v)
	if err != nil {
		return nil, err
	}
	tapes, err := c.named(v.Get("tape"), v.Get("project"))
	if err != nil {
		return nil, err
	}
	if tapes != nil && len(tapes) == 0 {
		return HitPage{Items: []Item{}}, nil
	}
	query, at, err := c.place(v, "search")
	if err != nil {
		return nil, err
	}
	skip, first := at%mostSkipped, cmp.Or(at/mostSkipped, limit)
	if err := c.Server.search(c.r.Context(), c.user.Name, s.Text, false); err != nil {
		return nil, err
	}
	all := skip + limit
	res, err := find.Pages(c.r.Context(), c.source, s, tapes, first, all)
	if err != nil {
		return nil, err
	}
	page := HitPage{Items: []Item{}}
	for _, h := range res.Hits[min(skip, len(res.Hits)):] {
		page.Items = append(page.Items, itemOf(h, res.Instead, v.Get("entries") == "true"))
	}
	if res.More && len(page.Items) == limit && all < mostSkipped {
		next := c.cursors.Cursor(query, strconv.Itoa(first*mostSkipped+all))
		page.Next = &next
	}
	return page, nil
}

// itemOf describes a hit; with whole, also its entry and how it was found: instead is the query that was answered.
func itemOf(h find.Hit, instead string, whole bool) Item {
	out := Item{Remote: h.Workspace, Tape: h.Tape, ID: h.ID, Title: h.Title, Date: h.Date, Kind: h.Kind, Role: h.Role(), Author: h.Author, Snippet: h.Snippet}
	if whole {
		out.Entry, out.Anchor, out.Seq, out.Score, out.Matches, out.Similar = h.Raw, h.Anchor, h.AnchorSeq, h.Score, h.Spans, h.Similar
		out.Matched, out.Missing, out.Instead, out.More = h.Has, h.Lacks, instead, h.More
		if h.Hit.Session != h.Tape {
			out.Session = h.Hit.Session
		}
	}
	return out
}

// searchOf reads the parameters of a search.
func (c *request) searchOf(v url.Values) (s index.Search, err error) {
	s = index.Search{Text: v.Get("q"), Exact: v.Get("exact") == "true", AllWords: v.Get("all_words") == "true", Flat: v.Get("flat") == "true", NoFold: v.Get("no_fold") == "true", Searches: v.Get("searches") == "true"}
	if s.Text == "" {
		return s, api.Invalid("q is missing: give words to search for")
	}
	if text := v.Get("per_session"); text != "" {
		if s.PerSession, err = strconv.Atoi(text); err != nil || s.PerSession < 0 {
			return s, api.Invalid("per_session has to be a number")
		}
	}
	if s.Newest, err = filter.Order("sort", cmp.Or(v.Get("sort"), filter.Relevance)); err != nil {
		return s, err
	}
	s.Query, err = filter.FromURL(v).Query(filter.InURL, c.Now())
	return s, err
}

// named returns the ids of the sessions with a name, and with a part of their project. For "" and "", it returns nil, which
// means all sessions.
func (c *request) named(tape, project string) ([]int64, error) {
	if tape == "" && project == "" {
		return nil, nil
	}
	const most = 100_000 // a project may have many sessions
	list, err := c.source.Sessions(c.r.Context(), db.Choice{Name: tape, Project: project, Forks: true, Most: most})
	if err == nil && len(list) == 0 && tape != "" {
		err = layout.NotFound(listSessions, "there is no session %q", tape)
	}
	ids := []int64{}
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids, err
}

// place reads the place in a list from its cursor, 0 without one. query is what the cursors of the list are
// bound to.
func (c *request) place(v url.Values, of string) (query string, at int, err error) {
	query = c.bound(v, of)
	if v.Get("cursor") == "" {
		return query, 0, nil
	}
	text, err := c.cursors.Read(query, v.Get("cursor"))
	if err == nil {
		at, err = strconv.Atoi(text)
	}
	return query, at, err
}

// bound returns what the cursors of a list are bound to: the user, and all parameters but cursor and limit.
func (c *request) bound(v url.Values, of string) string {
	rest := url.Values{}
	for name, values := range v {
		if name != "cursor" && name != "limit" {
			rest[name] = values
		}
	}
	return front.CursorQuery(of, c.user.Name, rest.Encode())
}

// limitOf reads a limit, and lowers it to most. If it is missing, it is usual.
func limitOf(v url.Values, usual, most int) (int, error) {
	text := v.Get("limit")
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, api.Invalid("limit is %.20q: give a number from 1 to %d", text, most)
	}
	return min(n, most), nil
}
