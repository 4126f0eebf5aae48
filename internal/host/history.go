package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"tape/internal/host/api"
	"tape/internal/host/lanes"
	"tape/internal/host/transcript"
	"tape/internal/jsonl"
	"tape/repo"
)

const (
	maxText = 4_000   // characters of a text in a transcript
	maxPage = 4 << 20 // bytes of a page's entries, if it has more than one
)

// visible reports whether an entry is in the thread that is seen.
func (t sees) visible(e repo.Entry) bool {
	return t.thread == "" || jsonl.GetString(e.Meta, lanes.MetaThread) == t.thread
}

// paging is what was asked for of a page.
type paging struct {
	query   string // to which cursors are bound
	at      spot
	forward bool
	limit   int
}

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
		if p.at, err = c.s.spotAt(query, cursor); err != nil {
			return p, err
		}
	}
	n, err := c.number("limit", 50, 100)
	p.limit = int(n)
	return p, err
}

// scan reads the entries of a page, in its order.
func (c *call) scan(t sees, p paging, keep func(repo.Entry) bool) (out []repo.Entry, more bool, err error) {
	rev, err := c.s.Store.Revision(c.ctx(), t.Tape, "")
	if err != nil {
		return nil, false, err
	}
	if p.forward {
		return c.scanForward(rev, t, p, keep)
	}
	size, stands := 0, p.at.line == ""
	end := p.at.id
	if end == 0 {
		end = rev.Last() + 1
	}
	for width := int64(p.limit) + 1; end > 1 && len(out) <= p.limit; width *= 4 {
		from := max(1, end-width)
		var part []repo.Entry
		for e, err := range rev.Entries(c.ctx(), from) {
			if err != nil {
				return nil, false, err
			}
			if e.ID >= end {
				stands = stands || c.s.spotOf(e) == p.at
				break
			}
			if t.visible(e) && keep(e) {
				part = append(part, e)
			}
		}
		if !stands {
			return nil, false, moved(p.at)
		}
		slices.Reverse(part)
		out = append(out, part...)
		end = from
	}
	n := 0
	for ; n < min(len(out), p.limit) && (n == 0 || size+len(out[n].Raw) <= maxPage); n++ {
		size += len(out[n].Raw)
	}
	return out[:n], len(out) > n, nil
}

func (c *call) scanForward(rev *repo.Revision, t sees, p paging, keep func(repo.Entry) bool) (out []repo.Entry, more bool, err error) {
	size, stands := 0, p.at.line == ""
	for e, err := range rev.Entries(c.ctx(), max(1, p.at.id)) {
		if err != nil {
			return nil, false, err
		}
		if stands = stands || c.s.spotOf(e) == p.at; !stands {
			break
		}
		if e.ID <= p.at.id || !keep(e) || !t.visible(e) {
			continue
		}
		if size += len(e.Raw); len(out) == p.limit || len(out) > 0 && size > maxPage {
			return out, true, nil
		}
		out = append(out, e)
	}
	if !stands {
		return nil, false, moved(p.at)
	}
	return out, false, nil
}

// cursors are those before and behind a page.
func (c *call) cursors(p paging, got []repo.Entry, more bool) (next, prev string) {
	if len(got) > 0 {
		prev = c.s.beside(p.query, c.s.spotOf(got[0]))
		if more || p.forward {
			next = c.s.beside(p.query, c.s.spotOf(got[len(got)-1]))
		}
	} else if p.forward {
		next = c.s.beside(p.query, p.at)
	}
	return next, prev
}

func history(c *call) (any, error) {
	t, err := c.tape(c.query("conversation_id"))
	if err != nil {
		return nil, err
	}
	p, err := c.paging(bound("history", t.Branch(), t.thread))
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
func (s *Server) item(t sees, e repo.Entry, binary bool) api.Item {
	id := fmt.Sprintf("%s@%d", t.Name(), e.ID)
	out := api.Item{TranscriptID: id, EventID: id, ConversationID: t.Name(), ThreadID: jsonl.GetString(e.Meta, lanes.MetaThread), Role: transcript.RoleOf(e), ItemType: e.Kind,
		Seq: e.ID, Cursor: s.beside(bound("history", t.Branch(), t.thread), s.spotOf(e)), CreatedAt: e.Date,
		Metadata: s.masked(t, e.Meta), AttachmentRefs: []json.RawMessage{}}
	for _, a := range repo.References(e) {
		out.AttachmentRefs = append(out.AttachmentRefs, s.masked(t, a.Reference()))
	}
	payload := s.masked(t, e.Payload)
	if !binary {
		payload, out.ContentRedacted = transcript.WithoutBinary(payload)
	}
	text := transcript.TextOf(e.Kind, payload)
	if cut := transcript.Cut(text, maxText); cut != text {
		text, out.Truncated = cut, true
	}
	out.Content, out.ContentJSON = text, payload
	if len(payload) > 8*maxText {
		out.ContentJSON, out.Truncated = json.RawMessage("null"), true
	}
	if out.Truncated {
		out.FullRef = "/v1/events/" + strconv.FormatInt(e.ID, 10)
		if len(out.AttachmentRefs) > 0 {
			out.FullRef = "/v1/artifacts/" + jsonl.GetString(out.AttachmentRefs[0], "id")
		}
	}
	return out
}

// masked is JSON without its secrets, where they are to be masked.
func (s *Server) masked(t sees, value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		return json.RawMessage("{}")
	}
	if t.full {
		return value
	}
	return s.mask.JSON(value)
}
