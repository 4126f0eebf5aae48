package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"tape/repo"
)

const (
	kindState         = "state"
	maxState          = 256 << 10
	maxStateKey       = 200
	scopeConversation = "conversation"
)

type stateKey struct{ Scope, Owner, Key string }

type stateValue struct {
	Value json.RawMessage
	Seq   int64
}

// statePayload is that of an entry of kind state: the newest of a key counts.
type statePayload struct {
	Scope   string          `json:"scope"`
	Owner   string          `json:"owner,omitempty"` // whose it is, of scopes other than conversation
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Deleted bool            `json:"deleted,omitempty"`
}

func (l *lane) takeState(e repo.Entry) {
	var p statePayload
	if json.Unmarshal(e.Payload, &p) != nil || p.Key == "" {
		return
	}
	k := stateKey{p.Scope, p.Owner, p.Key}
	if p.Deleted {
		delete(l.state, k)
		return
	}
	l.state[k] = stateValue{p.Value, e.ID}
}

// StateAnswer is a value.
type StateAnswer struct {
	Scope   string          `json:"scope"`
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Version string          `json:"version" jsonschema:"for If-Match; the header ETag has it, too"`
}

// StateList is a part of a scope's keys.
type StateList struct {
	Items      []StateAnswer `json:"items"`
	NextCursor string        `json:"next_cursor"`
	HasMore    bool          `json:"has_more"`
}

// Deleted says that something is gone.
type Deleted struct {
	Deleted bool `json:"deleted"`
}

// stateAt is the tape that a scope is in, and whose the state is.
func (c *call) stateAt() (tape string, k stateKey, err error) {
	k = stateKey{Scope: c.r.PathValue("scope"), Key: c.r.PathValue("key")}
	if len(k.Key) > maxStateKey || !utf8.ValidString(k.Key) {
		return "", k, invalid("the key has more than %d bytes, or is not UTF-8", maxStateKey)
	}
	if k.Scope == scopeConversation {
		t, err := c.tape(c.query("conversation_id"))
		if err != nil {
			return "", k, err
		}
		return t.Name(), k, nil
	}
	if !slices.Contains([]string{"actor", "subject", "runner"}, k.Scope) {
		return "", k, notFound("scope; there are conversation, actor, subject and runner")
	}
	k.Owner = c.query("owner")
	if c.run != nil {
		own := map[string]string{"actor": c.run.Actor, "subject": c.run.Subject, "runner": c.run.Runner}[k.Scope]
		if own == "" || k.Owner != "" && k.Owner != own {
			return "", k, notFound(k.Scope)
		}
		k.Owner = own
	}
	if k.Owner == "" {
		return "", k, invalid("owner is missing: the admin has to say whose state it is")
	}
	c.resource = k.Scope + "/" + k.Owner + "/" + k.Key
	return hostTape, k, nil
}

// stateOf is the state that a tape has now.
func (s *Server) stateOf(ctx context.Context, tape string) (map[stateKey]stateValue, error) {
	t, err := s.Store.Tape(ctx, tape)
	if tape == hostTape && errors.Is(err, repo.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.lanes.of(t).stateNow(ctx, t)
}

func (c *call) stateAnswer(k stateKey, v stateValue) StateAnswer {
	seen := sees{full: c.run == nil || c.run.Policy.Unmasked}
	return StateAnswer{Scope: k.Scope, Key: k.Key, Value: c.s.masked(seen, v.Value), Version: fmt.Sprintf("%q", fmt.Sprint(v.Seq))}
}

func getState(c *call) (any, error) {
	tape, k, err := c.stateAt()
	if err != nil {
		return nil, err
	}
	all, err := c.s.stateOf(c.ctx(), tape)
	if err != nil {
		return nil, err
	}
	v, ok := all[k]
	if !ok {
		return nil, notFound("key")
	}
	out := c.stateAnswer(k, v)
	c.w.Header().Set("ETag", out.Version)
	return out, nil
}

func listState(c *call) (any, error) {
	tape, of, err := c.stateAt()
	if err != nil {
		return nil, err
	}
	limit, err := c.number("limit", 100, 100)
	if err != nil {
		return nil, err
	}
	all, err := c.s.stateOf(c.ctx(), tape)
	if err != nil {
		return nil, err
	}
	query, after := bound("state", tape, of.Scope, of.Owner), ""
	if cursor := c.query("after_cursor"); cursor != "" {
		if after, err = c.s.place(query, cursor); err != nil {
			return nil, err
		}
	}
	var keys []string
	for k := range all {
		if k.Scope == of.Scope && k.Owner == of.Owner && k.Key > after {
			keys = append(keys, k.Key)
		}
	}
	slices.Sort(keys)
	out := StateList{Items: []StateAnswer{}, HasMore: len(keys) > int(limit)}
	for _, key := range keys[:min(len(keys), int(limit))] {
		of.Key = key
		out.Items = append(out.Items, c.stateAnswer(of, all[of]))
		out.NextCursor = c.s.cursor(query, key)
	}
	return out, nil
}

func putState(c *call) (any, error) {
	data, err := io.ReadAll(io.LimitReader(c.r.Body, maxState+1))
	if err != nil {
		return nil, invalid("the body could not be read: %v", err)
	}
	if len(data) > maxState {
		return nil, tooLarge("the value", maxState)
	}
	if !json.Valid(data) || !utf8.Valid(data) {
		return nil, invalid("the body is not JSON")
	}
	k, w, err := c.writeState(statePayload{Value: data})
	if err != nil {
		return nil, err
	}
	out := c.stateAnswer(k, stateValue{data, w.Last})
	c.w.Header().Set("ETag", out.Version)
	return out, nil
}

func deleteState(c *call) (any, error) {
	if _, _, err := c.writeState(statePayload{Deleted: true, Value: json.RawMessage("null")}); err != nil {
		return nil, err
	}
	return Deleted{true}, nil
}

// writeState writes a value if the one that is there is the one that If-Match says.
func (c *call) writeState(p statePayload) (stateKey, written, error) {
	tape, k, err := c.stateAt()
	if err != nil {
		return k, written{}, err
	}
	p.Scope, p.Owner, p.Key = k.Scope, k.Owner, k.Key
	payload, err := json.Marshal(p)
	if err != nil {
		return k, written{}, err
	}
	meta, err := stamp(nil, c.runID(), "", "", "", nil)
	if err != nil {
		return k, written{}, err
	}
	find := c.s.Store.Tape // a run's conversation is there
	if tape == hostTape {
		find = c.s.ensureTape
	}
	t, err := find(c.ctx(), tape)
	if err != nil {
		return k, written{}, err
	}
	match, l := c.r.Header.Get("If-Match"), c.s.lanes.of(t)
	j := &job{drafts: []repo.Draft{{Kind: kindState, Payload: payload, Meta: meta}}}
	j.ready = func() error { // the lane is at the tape's end, and held; other writes of this group come behind
		v, ok := l.value(k)
		switch {
		case p.Deleted && !ok:
			return notFound("key")
		case match != "" && (!ok || match != "*" && match != fmt.Sprintf("%q", fmt.Sprint(v.Seq))):
			return conflict("the value is not the one that If-Match says")
		}
		return nil
	}
	j.alone = cmp.Or(match != "", p.Deleted)
	err = c.s.lanes.append(c.ctx(), t, j)
	return k, j.out, err
}
