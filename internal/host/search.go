package host

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"tape/index"
	"tape/internal/host/api"
	"tape/internal/host/transcript"
	"tape/repo"
)

// lookedAt is how many hits are looked at for those of one thread.
const lookedAt = 1_000

// filters of a search, as JSON.
type filters struct {
	Kinds []string `json:"kinds"`
	Roles []string `json:"roles"`
	Since string   `json:"since"`
	Until string   `json:"until"`
}

func searchHistory(c *call) (any, error) {
	t, err := c.tape(c.query("conversation_id"))
	if err != nil {
		return nil, err
	}
	top, err := c.number("top_k", 10, 50)
	if err != nil {
		return nil, err
	}
	text := c.query("q")
	if strings.TrimSpace(text) == "" {
		return nil, api.Invalid("q is missing: give words that stand in what you look for")
	}
	q, err := filtered(c.query("filters"), c.s.Now())
	if err != nil {
		return nil, err
	}
	limit := int(top)
	if t.thread != "" {
		limit = lookedAt
	}
	q.Limit = repo.N(limit)
	x := index.New(c.s.Store, nil) // it is for one goroutine, and opening it is cheap
	defer x.Close()
	res, err := x.Search(c.ctx(), index.Search{Text: text, Tapes: []*repo.Tape{t.Tape}, Query: q, Width: 300, NoFold: true})
	if err != nil {
		return nil, err
	}
	hits := slices.DeleteFunc(res.Hits, func(h index.Hit) bool { return !t.visible(h.Entry) || !transcript.Has(h.Entry) })
	out := api.Hits{Items: []api.Found{}, Matches: len(hits), Exact: len(res.Hits) < limit}
	for _, h := range hits[:min(len(hits), int(top))] {
		found := api.Found{Item: c.s.item(t, h.Entry, false), Score: h.Score, Snippet: h.Snippet}
		if string(c.s.masked(t, h.Payload)) != string(h.Payload) || found.ContentRedacted || !t.full && string(c.s.mask.Content(h.Attached)) != string(h.Attached) {
			found.Snippet = transcript.Cut(found.Content, 300) // a snippet may have a part of what is masked
		}
		out.Items = append(out.Items, found)
	}
	return out, nil
}

func filtered(text string, now time.Time) (q repo.Query, err error) {
	q.Kinds = []string{repo.KindMessage, repo.KindSystem, repo.KindToolCall, repo.KindToolResult, repo.KindAnchor}
	if text == "" {
		return q, nil
	}
	var f filters
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return q, api.Invalid("filters is no JSON object of kinds, roles, since and until: %v", err)
	}
	if len(f.Kinds) > 0 {
		q.Kinds = f.Kinds
	}
	q.Roles = f.Roles
	if f.Since != "" {
		q.Since, err = repo.ParseSince(f.Since, now)
	}
	if err == nil && f.Until != "" {
		q.Until, err = repo.ParseUntil(f.Until, now)
	}
	return q, err
}
