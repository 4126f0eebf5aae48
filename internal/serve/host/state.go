package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"

	"tape/repo"
)

// stateKey returns the tape that holds the state of a scope, and the key with its owner. If changes, the caller
// must be allowed to change the conversation.
func (c *request) stateKey(changes bool) (tape string, k stateKey, err error) {
	k = stateKey{Scope: c.r.PathValue("scope"), Key: c.r.PathValue("key")}
	if len(k.Key) > maxStateKey || !utf8.ValidString(k.Key) {
		return "", k, api.Invalid("the key has more than %d bytes, or is not UTF-8", maxStateKey)
	}
	if k.Scope == scopeConversation {
		t, err := c.tape(c.param("conversation_id"))
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
	k.Owner = c.param("owner")
	if c.run != nil {
		own := c.run.Owner(k.Scope)
		if own == "" || k.Owner != "" && k.Owner != own {
			return "", k, api.NotFound(k.Scope)
		}
		k.Owner = own
	}
	if k.Owner == "" {
		return "", k, api.Invalid("owner is missing: the admin must say whose state it is")
	}
	c.resource = k.Scope + "/" + k.Owner + "/" + k.Key
	return hostTape, k, nil
}

// stateOf returns the state of an owner on a tape, as the caller sees it. It is empty if the server's own tape
// does not exist yet.
func (s *Server) stateOf(ctx context.Context, a access, tape string, owner stateKey) (*stateView, error) {
	find := s.Store.Tape
	if tape == hostTape {
		find = s.own.Find
	}
	t, err := find(ctx, tape)
	if tape == hostTape && errors.Is(err, repo.ErrNotFound) {
		return &stateView{}, nil
	}
	if err != nil {
		return nil, err
	}
	marks := s.mask
	if a.unmasked {
		marks = nil
	}
	return stateViewOf(ctx, &s.queues, t, owner, marks)
}

// anyTape returns the part of the caller's access that is the same for all tapes.
func (c *request) anyTape() access { return access{unmasked: c.run == nil || c.run.Policy.Unmasked} }

func stateAnswer(k stateKey, value json.RawMessage, seq int64) api.StateAnswer {
	return api.StateAnswer{Scope: k.Scope, Key: k.Key, Value: value, Version: fmt.Sprintf("%q", fmt.Sprint(seq))}
}

func getState(c *request) (any, error) {
	tape, k, err := c.stateKey(false)
	if err != nil {
		return nil, err
	}
	all, err := c.s.stateOf(c.ctx(), c.anyTape(), tape, k)
	if err != nil {
		return nil, err
	}
	got, err := all.Values(c.ctx(), k.Key)
	value, ok := got[k.Key]
	if err == nil && !ok {
		err = api.NotFound("key")
	}
	if err != nil {
		return nil, err
	}
	out := stateAnswer(k, value.JSON, value.Seq)
	c.w.Header().Set("ETag", out.Version)
	return out, nil
}

func listState(c *request) (any, error) {
	tape, prefix, err := c.stateKey(false)
	if err != nil {
		return nil, err
	}
	limit, err := numberOf(c.param, "limit", 100, 100)
	if err != nil {
		return nil, err
	}
	all, err := c.s.stateOf(c.ctx(), c.anyTape(), tape, prefix)
	if err != nil {
		return nil, err
	}
	query, after := front.CursorQuery("state", tape, prefix.Scope, prefix.Owner, prefix.Thread), ""
	if cursor := c.param("after_cursor"); cursor != "" {
		if after, err = c.s.cursors.Read(query, cursor); err != nil {
			return nil, err
		}
	}
	keys := slices.DeleteFunc(all.Keys(), func(key string) bool { return key <= after })
	n, size := 0, 0
	for n < len(keys) && n < int(limit) && size <= maxPageBytes {
		size += all.Size(keys[n])
		n++
	}
	values, err := all.Values(c.ctx(), keys[:n]...)
	out := api.StateList{Items: []api.StateAnswer{}, HasMore: n < len(keys)}
	for _, key := range keys[:n] {
		prefix.Key = key
		out.Items = append(out.Items, stateAnswer(prefix, values[key].JSON, values[key].Seq))
		out.NextCursor = c.s.cursors.Cursor(query, key)
	}
	return out, err
}

func putState(c *request) (any, error) {
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
	k, w, err := c.writeState(statePayload{Value: data})
	if err != nil {
		return nil, err
	}
	out := stateAnswer(k, data, w.Last)
	c.w.Header().Set("ETag", out.Version)
	return out, nil
}

func deleteState(c *request) (any, error) {
	if _, _, err := c.writeState(statePayload{Deleted: true, Value: json.RawMessage("null")}); err != nil {
		return nil, err
	}
	return api.Deleted{Deleted: true}, nil
}

// checkKey refuses a key that the run would see masked: whether it exists would confirm a guess.
func (c *request) checkKey(key string) error {
	if !c.anyTape().unmasked && c.s.mask.Text(key) != key {
		return api.Invalid("the key looks like a secret: a run can set it only if its policy is unmasked")
	}
	return nil
}

// writeState writes or deletes a value, if If-Match and If-None-Match allow it.
func (c *request) writeState(p statePayload) (stateKey, writtenJob, error) {
	tape, k, err := c.stateKey(true)
	if err != nil {
		return k, writtenJob{}, err
	}
	if err := c.checkKey(k.Key); err != nil {
		return k, writtenJob{}, err
	}
	find := c.s.Store.Tape
	if tape == hostTape {
		find = c.s.own.Make
	}
	t, err := find(c.ctx(), tape)
	if err != nil {
		return k, writtenJob{}, err
	}
	a := c.anyTape()
	a.Tape, a.thread = t, k.Thread
	if p.Value, err = c.resolveArtifacts(a, p.Value); err != nil {
		return k, writtenJob{}, err
	}
	p.Scope, p.Owner, p.Key = k.Scope, k.Owner, k.Key
	payload, err := json.Marshal(p)
	if err != nil {
		return k, writtenJob{}, err
	}
	meta, err := stampMeta(nil, c.runID(), k.Thread, "", "", nil)
	if err != nil {
		return k, writtenJob{}, err
	}
	match, absent := c.r.Header.Get("If-Match"), c.r.Header.Get("If-None-Match")
	if absent != "" && absent != "*" {
		return k, writtenJob{}, api.Invalid("If-None-Match can only be *: there is no value yet")
	}
	j := &writeJob{Drafts: []repo.Draft{{Kind: kindState, Payload: payload, Meta: meta}}}
	j.Ready = func(l *tapeQueue) error { // the queue is up to date and held; other jobs are written after this one
		v, ok := l.Value(k)
		switch {
		case p.Deleted && !ok:
			return api.NotFound("key")
		case absent != "" && ok:
			return api.Conflict("there is a value, although If-None-Match says that there is none")
		case match != "" && (!ok || match != "*" && match != fmt.Sprintf("%q", fmt.Sprint(v.Seq))):
			return api.Conflict("the value has another version than If-Match says")
		}
		return nil
	}
	j.Alone = match != "" || absent != "" || p.Deleted
	err = c.s.queues.Append(c.ctx(), t, j)
	return k, j.Out, err
}
