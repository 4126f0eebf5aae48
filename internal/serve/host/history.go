package host

import (
	"cmp"
	"encoding/json"
	"slices"

	"tape/internal/serve/host/api"
	"tape/internal/serve/host/cursors"
	"tape/internal/serve/host/lanes"
	"tape/internal/serve/host/mask"
	"tape/internal/serve/host/transcript"
	"tape/internal/text/jsonl"
	"tape/repo"
)

const (
	maxPage = 4 << 20 // bytes of a page's entries, if it has more than one
)

// visible reports whether an entry is in the thread that is seen.
func (t sees) visible(e repo.Entry) bool {
	return t.thread == "" || jsonl.GetString(e.Meta, lanes.MetaThread) == t.thread
}

// paging is what was asked for of a page.
type paging struct {
	query   string // to which cursors are bound
	at      cursors.Position
	forward bool
	limit   int
	bytes   int // of its entries; 0 is maxPage
}

func (p paging) most() int { return cmp.Or(p.bytes, maxPage) }

func (c *call) paging(query string) (p paging, err error) {
	p.query = query
	before, after := c.query("before_cursor"), c.query("after_cursor")
	direction := c.query("direction")
	p.forward = after != "" || direction == "forward"
	switch {
	case before != "" && after != "":
		return p, api.Invalid("before_cursor and after_cursor exclude each other")
	case direction != "" && direction != "forward" && direction != "backward":
		return p, api.Invalid("direction is forward or backward")
	case before != "" && direction == "forward", after != "" && direction == "backward":
		return p, api.Invalid("the cursor and the direction contradict each other")
	}
	if cursor := before + after; cursor != "" {
		if p.at, err = c.s.cursors.ReadPosition(query, cursor); err != nil {
			return p, err
		}
	}
	n, err := c.number("limit", 50, 100)
	p.limit = int(n)
	return p, err
}

// entry is one as the caller sees it, with the place of the one that is stored.
type entry struct {
	repo.Entry
	at cursors.Position
}

// show is an entry as the caller sees it.
func (c *call) show(t sees, e repo.Entry) entry {
	out := entry{e, c.s.cursors.PositionOf(e)}
	if !t.full {
		out.Entry = c.s.mask.Entry(e, mask.Of(c.ctx(), t.Tape))
	}
	return out
}

// scan reads the entries of a page, in its order. keep is asked of entries as they are.
func (c *call) scan(t sees, p paging, keep func(repo.Entry) bool) (out []entry, more bool, err error) {
	rev, err := c.s.Store.Revision(c.ctx(), t.Tape, "")
	if err != nil {
		return nil, false, err
	}
	if p.forward {
		return c.scanForward(rev, t, p, keep)
	}
	var found []repo.Entry
	size, stands := 0, p.at.Hash == ""
	end := p.at.ID
	if end == 0 {
		end = rev.Last() + 1
	}
	for width := int64(p.limit) + 1; end > 1 && len(found) <= p.limit && !more; width *= 4 {
		from := max(1, end-width)
		var part []repo.Entry
		held := 0
		for e, err := range rev.Entries(c.ctx(), from) {
			if err != nil {
				return nil, false, err
			}
			if e.ID >= end {
				stands = stands || c.s.cursors.PositionOf(e) == p.at
				break
			}
			if !t.visible(e) || !keep(e) {
				continue
			}
			if err := c.weigh(e); err != nil {
				return nil, false, err
			}
			part, held = append(part, e), held+len(e.Raw)
			for ; held > p.most() && len(part) > 1; more = true { // the page ends before these
				held -= len(part[0].Raw)
				part[0], part = repo.Entry{}, part[1:]
			}
		}
		if !stands {
			return nil, false, cursors.Moved(p.at)
		}
		slices.Reverse(part)
		found = append(found, part...)
		end = from
	}
	for _, e := range found[:min(len(found), p.limit)] {
		shown := c.show(t, e)
		if size += len(shown.Raw); len(out) > 0 && size > p.most() {
			break
		}
		out = append(out, shown)
	}
	return out, more || len(found) > len(out), nil
}

func (c *call) scanForward(rev *repo.Revision, t sees, p paging, keep func(repo.Entry) bool) (out []entry, more bool, err error) {
	size, stands := 0, p.at.Hash == ""
	for e, err := range rev.Entries(c.ctx(), max(1, p.at.ID)) {
		if err != nil {
			return nil, false, err
		}
		if stands = stands || c.s.cursors.PositionOf(e) == p.at; !stands {
			break
		}
		if e.ID <= p.at.ID || !keep(e) || !t.visible(e) {
			continue
		}
		if len(out) == p.limit {
			return out, true, nil
		}
		if err := c.weigh(e); err != nil {
			return nil, false, err
		}
		shown := c.show(t, e)
		if size += len(shown.Raw); len(out) > 0 && size > p.most() {
			return out, true, nil
		}
		out = append(out, shown)
	}
	if !stands {
		return nil, false, cursors.Moved(p.at)
	}
	return out, false, nil
}

// cursors are those before and behind a page.
func (c *call) cursors(p paging, got []entry, more bool) (next, prev string) {
	if len(got) > 0 {
		prev = c.s.cursors.At(p.query, got[0].at)
		if more || p.forward {
			next = c.s.cursors.At(p.query, got[len(got)-1].at)
		}
	} else if p.forward {
		next = c.s.cursors.At(p.query, p.at)
	}
	return next, prev
}

func history(c *call) (any, error) {
	t, err := c.tape(c.query("conversation_id"))
	if err != nil {
		return nil, err
	}
	p, err := c.paging(cursors.Query("history", t.Branch(), t.thread))
	if err != nil {
		return nil, err
	}
	binary, err := c.flag("include_attachments")
	if err != nil {
		return nil, err
	}
	got, more, err := c.scan(t, p, transcript.Has)
	if err != nil {
		return nil, err
	}
	out := api.Page{Items: []api.Item{}, HasMore: more}
	out.NextCursor, out.PrevCursor = c.cursors(p, got, more)
	for _, e := range got {
		out.Items = append(out.Items, c.s.item(t, e, binary))
	}
	return out, nil
}

func (c *call) flag(name string) (bool, error) {
	switch c.query(name) {
	case "", "false", "0":
		return false, nil
	case "true", "1":
		return true, nil
	}
	return false, api.Invalid("%s is true or false", name)
}

// item is an entry as the transcript shows it.
func (s *Server) item(t sees, e entry, binary bool) api.Item {
	return transcript.Item(t.Name(), e.Entry, s.cursors.At(cursors.Query("history", t.Branch(), t.thread), e.at), binary)
}

// masked is JSON without its secrets, where they are to be masked.
func (s *Server) masked(t sees, value json.RawMessage) json.RawMessage {
	switch {
	case t.full, len(value) == 0:
		return orEmpty(value)
	}
	return s.mask.JSON(value)
}
