package host

import (
	"encoding/json"
	"slices"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"

	"tape/repo"
)

// contextOf returns the context with which a run's agent starts.
func (c *request) contextOf(t access, r *run, q *api.RunRequest) (api.RunContext, error) {
	t.thread, t.unmasked = r.Thread, r.Policy.Unmasked
	policy := policyOf(q.Manifest)
	given, err := givenAs(q, func(v json.RawMessage) json.RawMessage { return c.s.masked(t, v) })
	if err != nil {
		return api.RunContext{}, err
	}
	out := api.RunContext{RunID: r.ID, Trigger: "event", Event: api.OrNull(given.Event), Conversation: r.Tape, Actor: given.Actor, Subject: given.Subject, Input: given.Input,
		Delivery: api.OrNull(given.Delivery), Resources: map[string]json.RawMessage{}, State: map[string]json.RawMessage{}, Config: given.Config, Bootstrap: []api.Item{},
		Runtime: api.Runtime{Runner: r.Runner, Binding: r.Binding, Scopes: r.Scopes, Deadline: r.Deadline,
			SessionKey: sessionKey(q.Workspace, q.Bot, r.Binding, r.Runner, r.Tape, r.Thread)}}
	if q.Event == nil {
		out.Trigger = "input"
	}
	for _, st := range r.Contents() {
		out.Resources[st.Name] = st.Value
		if q.Manifest.WantsStaticContextRef {
			out.Resources[st.Name] = refOf(st)
		}
	}
	if r.May("state.read") {
		all, err := c.s.stateOf(c.ctx(), t, r.Tape, stateKey{Scope: scopeConversation, Thread: r.Thread})
		if err != nil {
			return out, err
		}
		values, err := all.Values(c.ctx(), all.Keys()...)
		if err != nil {
			return out, err
		}
		for key, value := range values {
			out.State[key] = value.JSON
		}
	}
	last, more, err := c.scan(t, page{Limit: policy.MaxInlineEvents + 1}, isShown)
	if err != nil {
		return out, err
	}
	end, _, err := c.scan(access{Tape: t.Tape, unmasked: true}, page{Limit: 1}, all)
	if err != nil || len(end) == 0 {
		return out, err
	}
	out.Context = api.ContextAccess{ConversationID: r.Tape, ThreadID: r.Thread, EventSeq: end[0].ID, InlinePolicy: policy, AvailableAPIs: apis(r)}
	out.Context.LatestCursor = c.s.cursors.At(front.CursorQuery("history", t.Branch(), t.thread), end[0].At)
	if len(last) > 0 {
		out.Context.TranscriptSeq = last[0].ID
	}
	out.Context.HasHistoryBefore = slices.ContainsFunc(last, func(e pageEntry) bool { return e.ID < r.StartSeq && e.ID > 1 })
	if more && !out.Context.HasHistoryBefore { // the start is repeated, and the run itself has written all of last
		before, _, err := c.scan(t, page{At: front.Position{ID: r.StartSeq}, Limit: 1}, func(e repo.Entry) bool { return e.ID > 1 && isShown(e) })
		if err != nil {
			return out, err
		}
		out.Context.HasHistoryBefore = len(before) > 0
	}
	out.Bootstrap, err = c.bootstrap(t, policy, last, r)
	return out, err
}

// bootstrap returns the part of the history that a manifest asks for, the oldest first.
func (c *request) bootstrap(t access, p api.InlinePolicy, last []pageEntry, r *run) ([]api.Item, error) {
	var summary *api.Item
	if wantsSummary(p) {
		var err error
		if summary, err = c.summary(t); err != nil {
			return nil, err
		}
	}
	items := make([]api.Item, len(last))
	for i, e := range last {
		items[i] = c.s.item(t, e, false)
	}
	return inlinedItems(p, summary, items, r.StartSeq), nil
}

// summary returns the newest handoff that the caller sees and that has a summary; nil if none of the last 50 has.
func (c *request) summary(t access) (*api.Item, error) {
	const limit = 50 // handoffs to search
	var ids []int64
	if t.thread != "" {
		var err error
		if ids, err = c.handoffs(t); err != nil {
			return nil, err
		}
	} else {
		phases, err := t.Phases(c.ctx())
		if err != nil {
			return nil, err
		}
		for _, p := range phases {
			ids = append(ids, p.FirstID)
		}
	}
	rev, err := c.s.Store.Revision(c.ctx(), t.Tape, "")
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Backward(ids[max(0, len(ids)-limit):]) {
		e, err := entryAt(c.ctx(), rev, id)
		if err != nil {
			return nil, err
		}
		shown := c.view(t, e)
		if t.thread != "" {
			if shown.Entry, err = asAnchor(shown.Entry); err != nil {
				return nil, err
			}
		}
		if textOf(shown.Kind, shown.Payload) != "" {
			item := c.s.item(t, shown, false)
			return &item, nil
		}
	}
	return nil, nil
}

// apis lists the endpoints that a run may use.
func apis(r *run) []string {
	out := []string{}
	for _, rt := range routes() {
		if !rt.Admin && !rt.Open && (rt.Scope == "" || r.May(rt.Scope)) {
			out = append(out, rt.Method+" /v1"+rt.Path)
		}
	}
	return out
}

func getStatic(c *request) (any, error) {
	hash := c.r.PathValue("sha256")
	list := []*run{c.run}
	if c.run == nil {
		list = c.s.runs.All()
	}
	for _, r := range list {
		for _, st := range r.Contents() {
			if st.SHA256 == hash {
				return st, nil
			}
		}
	}
	return nil, api.NotFound("static content")
}
