package host

import (
	"cmp"
	"encoding/json"
	"fmt"

	"tape/index"
	"tape/internal/serve/host/api"
	"tape/internal/serve/host/mask"
	"tape/internal/serve/host/search"
	"tape/internal/serve/host/transcript"
	"tape/repo"
)

func searchHistory(c *call) (any, error) {
	f, err := search.FiltersOf(c.r.URL.Query())
	if err != nil {
		return nil, err
	}
	t, err := c.tape(f.Conversation)
	if err != nil {
		return nil, err
	}
	top, err := c.number("top_k", 10, 50)
	if err != nil {
		return nil, err
	}
	s, err := f.Search(c.query("q"), c.s.Now())
	if err != nil {
		return nil, err
	}
	if len(f.EventTypes) > 0 { // they may be of entries that no transcript has
		if err := c.needs("events.read"); err != nil {
			return nil, err
		}
	}
	limit := int(top)
	if t.thread != "" { // what others say counts for relevance, and would show in the order
		s.Newest, s.AsSpelt = true, true
	}
	var heavy error
	o := c.seenIndex(t)
	o.Seen = func(e repo.Entry) (repo.Entry, bool) {
		if heavy = cmp.Or(heavy, c.weigh(e)); heavy != nil {
			return repo.Entry{}, false
		}
		if len(e.Attached) > 0 && !c.seesFilesOf(t, e) {
			e.Attached = nil
		}
		return e, t.visible(e) && f.Match(e)
	}
	s.Tapes, s.Query.Limit, s.Stored = []string{t.Name()}, repo.N(limit), true
	x := index.New(c.s.Store, o) // it is for one goroutine, and opening it is cheap
	defer x.Close()
	res, err := x.Search(c.ctx(), s)
	if err = cmp.Or(heavy, err); err != nil {
		return nil, err
	}
	out := api.Hits{Items: []api.Found{}, Matches: len(res.Hits), Exact: len(res.Hits) < limit}
	rev, err := c.s.Store.Revision(c.ctx(), t.Tape, "")
	if err != nil {
		return nil, err
	}
	size := 0
	for _, h := range res.Hits {
		e := h.Entry // as it is stored, of which the cursor is made
		if e.Raw == nil {
			e, err = entryAt(c.ctx(), rev, h.ID)
		}
		if err == nil {
			err = c.weigh(e)
		}
		if err != nil {
			return nil, err
		}
		shown := c.show(t, e)
		if size += len(shown.Raw); size > maxPage && len(out.Items) > 0 {
			break
		}
		found := api.Found{Item: c.s.item(t, shown, false), Score: h.Score, Snippet: h.Snippet}
		if t.thread != "" {
			found.Score = 0
		}
		if found.ContentRedacted {
			found.Snippet = transcript.Cut(found.Content, 300)
		}
		if !f.Artifacts() {
			found.AttachmentRefs = []json.RawMessage{}
		}
		out.Items = append(out.Items, found)
	}
	return out, nil
}

// seesFilesOf reports whether the caller sees all the artifacts that an entry refers to: another's, or
// one that has expired, is not found by its words either.
func (c *call) seesFilesOf(t sees, e repo.Entry) bool {
	for _, a := range repo.References(e) {
		hash := a.SHA256
		if !t.full {
			if stored, ok := c.s.mask.Real(hash); ok {
				hash = stored
			}
		}
		if _, err := c.keptFor(t, hash); err != nil {
			return false
		}
	}
	return true
}

// seenIndex is for the index of what the caller sees. A masked run
// could else find out by its words, one beginning after the other, what is masked.
func (c *call) seenIndex(t sees) *index.Options {
	if t.full {
		return &index.Options{}
	}
	return &index.Options{Shown: &index.Shown{Version: fmt.Sprintf("%s 2 %x", c.s.Version, c.s.cursors.Sign("index")[:4]),
		Entry: func(t *repo.Tape, e repo.Entry) repo.Entry { return c.s.mask.Entry(e, mask.Of(c.ctx(), t)) }}}
}
