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

	"tape/internal/serve/host/api"
	"tape/internal/serve/host/cursors"
	"tape/internal/serve/host/lanes"
	"tape/internal/serve/host/results"
	"tape/repo"
)

const (
	maxState    = results.MaxState
	maxStateKey = results.MaxStateKey
)

// stateAt is the tape that a scope is in, and whose the state is. What is changed has to be in a
// conversation that the run may change.
func (c *call) stateAt(changes bool) (tape string, k lanes.StateKey, err error) {
	k = lanes.StateKey{Scope: c.r.PathValue("scope"), Key: c.r.PathValue("key")}
	if len(k.Key) > maxStateKey || !utf8.ValidString(k.Key) {
		return "", k, api.Invalid("the key has more than %d bytes, or is not UTF-8", maxStateKey)
	}
	if k.Scope == lanes.ScopeConversation {
		t, err := c.tape(c.query("conversation_id"))
		if err != nil {
			return "", k, err
		}
		if changes && !c.mayChange(t) {
			return "", k, api.NotFound("conversation")
		}
		k.Thread = t.thread
		return t.Name(), k, nil
	}
	if !slices.Contains([]string{"actor", "subject", "runner"}, k.Scope) {
		return "", k, api.NotFound("scope; there are conversation, actor, subject and runner")
	}
	k.Owner = c.query("owner")
	if c.run != nil {
		own := c.run.Owner(k.Scope)
		if own == "" || k.Owner != "" && k.Owner != own {
			return "", k, api.NotFound(k.Scope)
		}
		k.Owner = own
	}
	if k.Owner == "" {
		return "", k, api.Invalid("owner is missing: the admin has to say whose state it is")
	}
	c.resource = k.Scope + "/" + k.Owner + "/" + k.Key
	return hostTape, k, nil
}

// stateOf is the state that a tape has now, as the caller sees it: with keys and values masked.
func (s *Server) stateOf(ctx context.Context, see sees, tape string) (map[lanes.StateKey]lanes.StateValue, error) {
	find := s.Store.Tape
	if tape == hostTape {
		find = s.own.Find
	}
	t, err := find(ctx, tape)
	if tape == hostTape && errors.Is(err, repo.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := s.lanes.Of(t).StateNow(ctx, t)
	if err != nil || see.full {
		return all, err
	}
	out := make(map[lanes.StateKey]lanes.StateValue, len(all))
	for k, v := range all {
		own := s.mask.By(v.Run)
		v.Value = own.Named(k.Key, v.Value)
		if k.Key = own.Text(k.Key); out[k].Seq < v.Seq { // two may look alike
			out[k] = v
		}
	}
	return out, nil
}

// mine is what the caller sees of no tape.
func (c *call) mine() sees { return sees{full: c.run == nil || c.run.Policy.Unmasked} }

func (c *call) stateAnswer(k lanes.StateKey, v lanes.StateValue) api.StateAnswer {
	return api.StateAnswer{Scope: k.Scope, Key: k.Key, Value: v.Value, Version: fmt.Sprintf("%q", fmt.Sprint(v.Seq))}
}

func getState(c *call) (any, error) {
	tape, k, err := c.stateAt(false)
	if err != nil {
		return nil, err
	}
	all, err := c.s.stateOf(c.ctx(), c.mine(), tape)
	if err != nil {
		return nil, err
	}
	v, ok := all[k]
	if !ok {
		return nil, api.NotFound("key")
	}
	out := c.stateAnswer(k, v)
	c.w.Header().Set("ETag", out.Version)
	return out, nil
}

func listState(c *call) (any, error) {
	tape, of, err := c.stateAt(false)
	if err != nil {
		return nil, err
	}
	limit, err := c.number("limit", 100, 100)
	if err != nil {
		return nil, err
	}
	all, err := c.s.stateOf(c.ctx(), c.mine(), tape)
	if err != nil {
		return nil, err
	}
	query, after := cursors.Query("state", tape, of.Scope, of.Owner, of.Thread), ""
	if cursor := c.query("after_cursor"); cursor != "" {
		if after, err = c.s.cursors.Read(query, cursor); err != nil {
			return nil, err
		}
	}
	var keys []string
	for k := range all {
		if k.Scope == of.Scope && k.Owner == of.Owner && k.Thread == of.Thread && k.Key > after {
			keys = append(keys, k.Key)
		}
	}
	slices.Sort(keys)
	out := api.StateList{Items: []api.StateAnswer{}, HasMore: len(keys) > int(limit)}
	for _, key := range keys[:min(len(keys), int(limit))] {
		of.Key = key
		out.Items = append(out.Items, c.stateAnswer(of, all[of]))
		out.NextCursor = c.s.cursors.Cursor(query, key)
	}
	return out, nil
}

func putState(c *call) (any, error) {
	data, err := c.read(io.LimitReader(c.r.Body, maxState+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxState {
		return nil, api.TooLarge("the value", maxState)
	}
	if !json.Valid(data) || !utf8.Valid(data) {
		return nil, api.Invalid("the body is not JSON")
	}
	k, w, err := c.writeState(lanes.StatePayload{Value: data})
	if err != nil {
		return nil, err
	}
	out := c.stateAnswer(k, lanes.StateValue{Value: data, Seq: w.Last})
	c.w.Header().Set("ETag", out.Version)
	return out, nil
}

func deleteState(c *call) (any, error) {
	if _, _, err := c.writeState(lanes.StatePayload{Deleted: true, Value: json.RawMessage("null")}); err != nil {
		return nil, err
	}
	return api.Deleted{Deleted: true}, nil
}

// plainKey refuses a key that is not seen as it is: whether it is there would tell who guesses it.
func (c *call) plainKey(key string) error {
	if !c.mine().full && c.s.mask.Text(key) != key {
		return api.Invalid("the key looks like a secret: a run whose policy is not unmasked sets none of such a name")
	}
	return nil
}

// writeState writes a value if the one that is there is the one that If-Match says.
func (c *call) writeState(p lanes.StatePayload) (lanes.StateKey, lanes.Written, error) {
	tape, k, err := c.stateAt(true)
	if err != nil {
		return k, lanes.Written{}, err
	}
	if err := c.plainKey(k.Key); err != nil {
		return k, lanes.Written{}, err
	}
	find := c.s.Store.Tape // a run's conversation is there
	if tape == hostTape {
		find = c.s.ensureTape
	}
	t, err := find(c.ctx(), tape)
	if err != nil {
		return k, lanes.Written{}, err
	}
	see := c.mine()
	see.Tape, see.thread = t, k.Thread
	if p.Value, err = c.stored(see, p.Value); err != nil {
		return k, lanes.Written{}, err
	}
	p.Scope, p.Owner, p.Key = k.Scope, k.Owner, k.Key
	payload, err := json.Marshal(p)
	if err != nil {
		return k, lanes.Written{}, err
	}
	meta, err := lanes.Stamp(nil, c.runID(), k.Thread, "", "", nil)
	if err != nil {
		return k, lanes.Written{}, err
	}
	match, absent, l := c.r.Header.Get("If-Match"), c.r.Header.Get("If-None-Match"), c.s.lanes.Of(t)
	if absent != "" && absent != "*" {
		return k, lanes.Written{}, api.Invalid("If-None-Match is * here: there is no value yet")
	}
	j := &lanes.Job{Drafts: []repo.Draft{{Kind: lanes.KindState, Payload: payload, Meta: meta}}}
	j.Ready = func() error { // the lane is at the tape's end, and held; other writes of this group come behind
		v, ok := l.Value(k)
		switch {
		case p.Deleted && !ok:
			return api.NotFound("key")
		case absent != "" && ok:
			return api.Conflict("there is a value: If-None-Match says that there is none")
		case match != "" && (!ok || match != "*" && match != fmt.Sprintf("%q", fmt.Sprint(v.Seq))):
			return api.Conflict("the value is not the one that If-Match says")
		}
		return nil
	}
	j.Alone = cmp.Or(match != "", absent != "", p.Deleted)
	err = c.s.lanes.Append(c.ctx(), t, j)
	return k, j.Out, err
}
