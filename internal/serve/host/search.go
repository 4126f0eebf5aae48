package host

import (
	"cmp"
	"encoding/json"
	"fmt"

	"tape/index"
	"tape/internal/serve/host/api"

	"tape/repo"
)

func searchHistory(c *request) (any, error) {
	f, err := searchFiltersOf(c.r.URL.Query())
	if err != nil {
		return nil, err
	}
	t, err := c.tape(f.Conversation)
	if err != nil {
		return nil, err
	}
	top, err := numberOf(c.param, "top_k", 10, 50)
	if err != nil {
		return nil, err
	}
	s, err := f.Search(c.param("q"), c.s.Now())
	if err != nil {
		return nil, err
	}
	if len(f.EventTypes) > 0 { // the types may be of entries that are not in the transcript
		if err := c.require("events.read"); err != nil {
			return nil, err
		}
	}
	limit := int(top)
	if t.thread != "" { // relevance depends on other threads, and would reveal something about them
		s.Newest, s.AsSpelt = true, true
	}
	var heavy error
	o := c.indexOptions(t)
	o.Seen = func(e repo.Entry) (repo.Entry, bool) {
		if heavy = cmp.Or(heavy, c.checkMemory(e)); heavy != nil {
			return repo.Entry{}, false
		}
		if len(e.Attached) > 0 && !c.seesArtifactsOf(t, e) {
			e.Attached = nil
		}
		return e, t.inThread(e) && f.Match(e)
	}
	s.Tapes, s.Query.Limit, s.Stored = []string{t.Name()}, repo.N(limit), true
	x := index.New(c.s.Store, o) // an index is for one goroutine, and cheap to open
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
		e := h.Entry // as it is stored, for the cursor
		if e.Raw == nil {
			e, err = entryAt(c.ctx(), rev, h.ID)
		}
		if err == nil {
			err = c.checkMemory(e)
		}
		if err != nil {
			return nil, err
		}
		shown := c.view(t, e)
		if size += len(shown.Raw); size > maxPageBytes && len(out.Items) > 0 {
			break
		}
		found := api.Found{Item: c.s.item(t, shown, false), Score: h.Score, Snippet: h.Snippet}
		if t.thread != "" {
			found.Score = 0
		}
		if found.ContentRedacted {
			found.Snippet = cutText(found.Content, 300)
		}
		if !f.Artifacts() {
			found.AttachmentRefs = []json.RawMessage{}
		}
		out.Items = append(out.Items, found)
	}
	return out, nil
}

// seesArtifactsOf reports whether the caller sees all artifacts that an entry refers to. Otherwise
// their texts must not be found either.
func (c *request) seesArtifactsOf(t access, e repo.Entry) bool {
	for _, a := range repo.References(e) {
		hash := a.SHA256
		if !t.unmasked {
			if stored, ok := c.s.mask.Real(hash); ok {
				hash = stored
			}
		}
		if _, err := c.artifactFact(t, hash); err != nil {
			return false
		}
	}
	return true
}

// indexOptions selects the index of what the caller sees. If a masked run searched the stored texts, it
// could guess a secret prefix by prefix.
func (c *request) indexOptions(t access) *index.Options {
	if t.unmasked {
		return &index.Options{}
	}
	return &index.Options{Shown: &index.Shown{Version: fmt.Sprintf("%s 3 %x", c.s.Version, c.s.cursors.Sign("index")[:4]),
		Entry: func(t *repo.Tape, e repo.Entry) repo.Entry { return c.s.mask.Entry(e, artifactsOf(c.ctx(), t)) }}}
}
