package host

import (
	"encoding/json"
	"errors"
	"strings"

	"tape/internal/catalog"
	"tape/repo"
	"tape/repo/view"
)

// TapeItem is a tape or an open fork.
type TapeItem struct {
	Tape    string `json:"tape"`
	Fork    bool   `json:"fork"`
	Entries int64  `json:"entries"`
}

// TapeList are the tapes that the caller may see.
type TapeList struct {
	Items      []TapeItem `json:"items"`
	NextCursor string     `json:"next_cursor"`
	HasMore    bool       `json:"has_more"`
}

func tapes(c *call) (any, error) {
	limit, err := c.number("limit", 100, 100)
	if err != nil {
		return nil, err
	}
	owner := "admin"
	if c.run != nil {
		owner = c.run.ID
	}
	query, after := bound("tapes", owner), ""
	if cursor := c.query("after_cursor"); cursor != "" {
		if after, err = c.s.place(query, cursor); err != nil {
			return nil, err
		}
	}
	all, err := catalog.All(c.ctx(), c.s.Store)
	if err != nil {
		return nil, err
	}
	out := TapeList{Items: []TapeItem{}}
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
			continue // gone meanwhile
		}
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, TapeItem{t.Name(), t.IsFork(), sum.Entries})
		out.NextCursor = c.s.cursor(query, t.Branch())
	}
	c.resource = "tapes"
	return out, nil
}

// AnchorItem is a phase.
type AnchorItem struct {
	Name    string          `json:"name"`
	Seq     int64           `json:"seq" jsonschema:"the number of the anchor's entry"`
	Phase   int             `json:"phase"`
	Entries int64           `json:"entries"`
	State   json.RawMessage `json:"state"`
}

// AnchorList are the last 1,000 phases of a tape.
type AnchorList struct {
	Items   []AnchorItem `json:"items"`
	HasMore bool         `json:"has_more"`
}

const maxAnchors = 1_000

func anchors(c *call) (any, error) {
	t, err := c.tape(c.r.PathValue("tape"))
	if err != nil {
		return nil, err
	}
	out := AnchorList{Items: []AnchorItem{}}
	if t.thread != "" {
		return out, nil // anchors are of all threads
	}
	phases, err := t.Phases(c.ctx())
	if err != nil {
		return nil, err
	}
	if n := len(phases) - maxAnchors; n > 0 {
		phases, out.HasMore = phases[n:], true
	}
	for _, p := range phases {
		out.Items = append(out.Items, AnchorItem{p.Name, p.FirstID, p.Seq, p.Entries, c.s.masked(t, p.State)})
	}
	return out, nil
}

// ContextAnswer are the messages that the next call of a model gets.
type ContextAnswer struct {
	Messages []json.RawMessage `json:"messages"`
	Tokens   int               `json:"tokens"`
}

const mostTokens = 200_000

func tapeContext(c *call) (any, error) {
	t, err := c.tape(c.r.PathValue("tape"))
	if err != nil {
		return nil, err
	}
	tokens, err := c.number("max_tokens", 8_000, mostTokens)
	if err != nil {
		return nil, err
	}
	o := view.Options{MaxTokens: int(tokens), MaxBytes: maxBody}
	var entries []repo.Entry
	for e, err := range t.Context(c.ctx()) {
		if err != nil {
			return nil, err
		}
		if t.visible(e) {
			entries = append(entries, e)
		}
	}
	built, err := view.Messages(entries, o)
	if err != nil {
		return nil, err
	}
	out := ContextAnswer{Messages: []json.RawMessage{}, Tokens: built.Tokens}
	for _, m := range built.Messages {
		out.Messages = append(out.Messages, c.s.masked(t, m))
	}
	return out, nil
}

// DiffAnswer is what two conversations do not share: the entries behind their common beginning.
type DiffAnswer struct {
	Common int64       `json:"common" jsonschema:"how many entries both begin with"`
	A      []EventItem `json:"a"`
	B      []EventItem `json:"b"`
}

func diff(c *call) (any, error) {
	a, err := c.tape(c.query("a"))
	if err != nil {
		return nil, err
	}
	b, err := c.tape(c.query("b"))
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
	out := DiffAnswer{A: []EventItem{}, B: []EventItem{}}
	if out.Common, err = from.CommonWith(to); err != nil {
		return nil, err
	}
	for _, side := range []struct {
		t    sees
		into *[]EventItem
	}{{a, &out.A}, {b, &out.B}} {
		got, _, err := c.scan(side.t, paging{at: out.Common, forward: true, limit: 100}, func(repo.Entry) bool { return true })
		if err != nil {
			return nil, err
		}
		for _, e := range got {
			*side.into = append(*side.into, c.s.event(side.t, e, bound("events", side.t.Branch(), side.t.thread, "")))
		}
	}
	return out, nil
}
