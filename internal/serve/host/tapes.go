package host

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"

	"tape/internal/sessions/catalog"
	"tape/repo"
	"tape/repo/view"
)

func tapes(c *request) (any, error) {
	limit, err := numberOf(c.param, "limit", 100, 100)
	if err != nil {
		return nil, err
	}
	owner := "admin"
	if c.run != nil {
		owner = c.run.ID
	}
	query, after := front.CursorQuery("tapes", owner), ""
	if cursor := c.param("after_cursor"); cursor != "" {
		if after, err = c.s.cursors.Read(query, cursor); err != nil {
			return nil, err
		}
	}
	all, err := catalog.All(c.ctx(), c.s.Store)
	if err != nil {
		return nil, err
	}
	out := api.TapeList{Items: []api.TapeItem{}}
	for _, t := range all { // sorted by branch
		if t.Branch() <= after {
			continue
		}
		if _, err := c.tape(t.Name()); err != nil {
			continue
		}
		if len(out.Items) == int(limit) {
			out.HasMore = true
			break
		}
		sum, err := t.Summary(c.ctx())
		if errors.Is(err, repo.ErrNotFound) {
			continue // it was deleted meanwhile
		}
		damaged := errors.Is(err, repo.ErrCorrupt) || errors.Is(err, repo.ErrConflict) // a damaged tape must not hide the others
		if err != nil && !damaged {
			return nil, err
		}
		out.Items = append(out.Items, api.TapeItem{Tape: t.Name(), Fork: t.IsFork(), Entries: sum.Entries, Damaged: damaged})
		out.NextCursor = c.s.cursors.Cursor(query, t.Branch())
	}
	c.resource = "tapes"
	return out, nil
}

const maxAnchors = 1_000

func anchors(c *request) (any, error) {
	t, err := c.tape(c.r.PathValue("tape"))
	if err != nil {
		return nil, err
	}
	out := api.AnchorList{Items: []api.AnchorItem{}}
	if t.thread != "" {
		size := 0
		for a, err := range c.threadAnchors(t) {
			if err != nil {
				return nil, err
			}
			if size += len(a.State); len(out.Items) == maxAnchors || size > maxPageBytes && len(out.Items) > 0 {
				out.HasMore = true
				break
			}
			out.Items = append(out.Items, a)
		}
		slices.Reverse(out.Items)
		return out, nil
	}
	phases, err := t.Phases(c.ctx())
	if err != nil {
		return nil, err
	}
	from, size := len(phases), 0
	for from > 0 && len(phases)-from < maxAnchors && (from == len(phases) || size+len(phases[from-1].State) <= maxPageBytes) {
		from--
		size += len(phases[from].State)
	}
	phases, out.HasMore = phases[from:], from > 0
	view, err := c.anchorView(t)
	if err != nil {
		return nil, err
	}
	for _, p := range phases {
		name, state, err := view(p)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, api.AnchorItem{Name: name, Seq: p.FirstID, Phase: p.Seq, Entries: p.Entries, State: state})
	}
	return out, nil
}

// anchorView returns a function that gives an anchor's name and state as the caller may see them.
func (c *request) anchorView(t access) (func(repo.Phase) (string, json.RawMessage, error), error) {
	rev, err := c.s.Store.Revision(c.ctx(), t.Tape, "")
	return func(p repo.Phase) (string, json.RawMessage, error) {
		if t.unmasked {
			return p.Name, c.s.masked(t, p.State), nil
		}
		e, err := entryAt(c.ctx(), rev, p.FirstID)
		if err != nil {
			return "", nil, err
		}
		own := c.s.mask.By(writerOf(e))
		return own.Text(p.Name), own.JSON(api.OrEmpty(p.State)), nil
	}, err
}

const maxTokens = 200_000

func tapeContext(c *request) (any, error) {
	t, err := c.tape(c.r.PathValue("tape"))
	if err != nil {
		return nil, err
	}
	tokens, err := numberOf(c.param, "max_tokens", 8_000, maxTokens)
	if err != nil {
		return nil, err
	}
	o := view.Options{MaxTokens: int(tokens), MaxBytes: maxBody}
	entries, err := c.contextEntries(t)
	if err != nil {
		return nil, err
	}
	built, err := view.Messages(entries, o)
	if err != nil {
		return nil, err
	}
	return api.ContextAnswer{Messages: append([]json.RawMessage{}, built.Messages...), Tokens: built.Tokens}, nil
}

// maxContext limits the entries from which a context is made, in bytes. When they have twice as many, the
// oldest are dropped.
const maxContext = 8 << 20

// contextEntries returns the last handoff and the entries since then, as the caller sees them. A thread has
// handoffs of its own; those of others do not count.
func (c *request) contextEntries(t access) (out []repo.Entry, err error) {
	seq, last := t.Context(c.ctx()), int64(0)
	if t.thread != "" {
		ids, err := c.handoffs(t)
		if err != nil {
			return nil, err
		}
		if len(ids) > 0 {
			last = ids[len(ids)-1]
		}
		rev, err := c.s.Store.Revision(c.ctx(), t.Tape, "")
		if err != nil {
			return nil, err
		}
		seq = rev.Entries(c.ctx(), max(1, last))
	}
	size, first := 0, 0
	for e, err := range seq {
		if err != nil {
			return nil, err
		}
		if !t.inThread(e) {
			continue
		}
		if err := c.checkMemory(e); err != nil {
			return nil, err
		}
		e = c.view(t, e).Entry
		if e.ID == last {
			if e, err = asAnchor(e); err != nil {
				return nil, err
			}
		}
		if len(out) == 0 && e.Kind == repo.KindAnchor {
			first = 1 // the anchor with which the context begins stays
		}
		out = append(out, e)
		if size += len(e.Raw); size <= 2*maxContext {
			continue
		}
		n := first
		for ; size > maxContext && n < len(out)-1; n++ {
			size -= len(out[n].Raw)
		}
		out = slices.Delete(out, first, n)
	}
	return out, nil
}

func diff(c *request) (any, error) {
	a, err := c.tape(c.param("a"))
	if err != nil {
		return nil, err
	}
	b, err := c.tape(c.param("b"))
	if err != nil {
		return nil, err
	}
	c.resource = strings.Join([]string{a.Name(), b.Name()}, " ")
	from, err := c.s.Store.Revision(c.ctx(), a.Tape, "")
	if err != nil {
		return nil, err
	}
	to, err := c.s.Store.Revision(c.ctx(), b.Tape, "")
	if err != nil {
		return nil, err
	}
	out := api.DiffAnswer{A: []api.EventItem{}, B: []api.EventItem{}}
	if out.Common, err = from.CommonWith(to); err != nil {
		return nil, err
	}
	for _, side := range []struct {
		t    access
		into *[]api.EventItem
		more *bool
	}{{a, &out.A, &out.AHasMore}, {b, &out.B, &out.BHasMore}} {
		got, more, err := c.scan(side.t, page{At: front.Position{ID: out.Common}, Forward: true, Limit: 100}, all)
		if err != nil {
			return nil, err
		}
		*side.more = more
		for _, e := range got {
			*side.into = append(*side.into, c.s.event(side.t, e, front.CursorQuery("events", side.t.Branch(), side.t.thread, "")))
		}
	}
	return out, nil
}
