package host

import (
	"encoding/json"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"

	"tape/internal/text/jsonl"
	"tape/repo"
)

// inThread reports whether an entry is in the thread to which the access is limited.
func (t access) inThread(e repo.Entry) bool {
	return t.thread == "" || jsonl.GetString(e.Meta, metaThread) == t.thread
}

// view returns an entry as the caller sees it.
func (c *request) view(t access, e repo.Entry) pageEntry {
	out := pageEntry{Entry: e, At: c.s.cursors.PositionOf(e)}
	if !t.unmasked {
		out.Entry = c.s.mask.Entry(e, artifactsOf(c.ctx(), t.Tape))
	}
	return out
}

// all keeps every entry.
func all(repo.Entry) bool { return true }

// scan reads a page of the entries that keep accepts, and reports whether there are more. keep gets entries as
// they are stored, not masked.
func (c *request) scan(t access, p page, keep func(repo.Entry) bool) ([]pageEntry, bool, error) {
	rev, err := c.s.Store.Revision(c.ctx(), t.Tape, "")
	if err != nil {
		return nil, false, err
	}
	r := pageReader{Signer: c.s.cursors, Check: c.checkMemory, View: func(e repo.Entry) pageEntry { return c.view(t, e) }}
	return r.Read(c.ctx(), rev, p, func(e repo.Entry) bool { return keep(e) && t.inThread(e) })
}

func history(c *request) (any, error) {
	t, err := c.tape(c.param("conversation_id"))
	if err != nil {
		return nil, err
	}
	p, err := parsePage(c.param, c.s.cursors, front.CursorQuery("history", t.Branch(), t.thread))
	if err != nil {
		return nil, err
	}
	binary, err := flagOf(c.param, "include_attachments")
	if err != nil {
		return nil, err
	}
	got, more, err := c.scan(t, p, isShown)
	if err != nil {
		return nil, err
	}
	out := api.Page{Items: []api.Item{}, HasMore: more}
	out.NextCursor, out.PrevCursor = p.Cursors(c.s.cursors, got, more)
	for _, e := range got {
		out.Items = append(out.Items, c.s.item(t, e, binary))
	}
	return out, nil
}

// item returns an entry as an item of the transcript.
func (s *Server) item(t access, e pageEntry, binary bool) api.Item {
	return itemOf(t.Name(), e.Entry, s.cursors.At(front.CursorQuery("history", t.Branch(), t.thread), e.At), binary)
}

// masked masks JSON, unless the caller sees secrets.
func (s *Server) masked(t access, value json.RawMessage) json.RawMessage {
	if t.unmasked || len(value) == 0 {
		return api.OrEmpty(value)
	}
	return s.mask.JSON(value)
}
