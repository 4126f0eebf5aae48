package procplugin

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tape/hooks"
	"tape/index"
	"tape/internal/sessions/filter"
	"tape/repo"
)

// serve serves a request of the plugin. c is the call within which it asks, or nil.
func (p *Process) serve(ctx context.Context, c *call, method string, params json.RawMessage) (any, error) {
	switch method {
	case "tape/append":
		return onTape(ctx, p, c, params, tapeAppend)
	case "tape/query":
		return onTape(ctx, p, c, params, tapeQuery)
	case "tape/search":
		return onTape(ctx, p, c, params, tapeSearch)
	case "tape/handoff":
		return onTape(ctx, p, c, params, tapeHandoff)
	case "tool/call":
		return p.toolCall(ctx, c, params)
	case "channel/receive":
		return p.receive(ctx, params)
	case "state/set":
		return nil, &rpcError{Code: codeParams, Message: "state/set wants the call_id of a hook that has a state"}
	}
	return nil, &rpcError{Code: codeUnknown, Message: fmt.Sprintf("there is no method %q", method)}
}

// read reads named parameters, and refuses unknown ones.
func read[T any](params json.RawMessage) (v T, err error) {
	if len(params) == 0 {
		return v, nil
	}
	d := json.NewDecoder(bytes.NewReader(params))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return v, &rpcError{Code: codeParams, Message: err.Error()}
	}
	return v, nil
}

// scope has the parameters that name the call or the session of a request.
type scope struct {
	CallID  *int   `json:"call_id"`
	Session string `json:"session_id"`
}

// session returns the session that the request names, or else the call's; "" if there is none.
func (w scope) session(c *call) string {
	if w.Session == "" && c != nil {
		return c.session
	}
	return w.Session
}

// onTape calls do on the tape of the session that the parameters name, or else of the call's session.
func onTape[T interface{ session(*call) string }](ctx context.Context, p *Process, c *call, params json.RawMessage,
	do func(ctx context.Context, t *repo.Tape, v T) (any, error)) (any, error) {
	v, err := read[T](params)
	if err != nil {
		return nil, err
	}
	session := v.session(c)
	if session == "" {
		return nil, &rpcError{Code: codeParams, Message: "which tape? Give session_id, or the call_id of a hook that has one"}
	}
	t, err := p.o.Tape(ctx, session)
	if err != nil {
		return nil, err
	}
	return do(ctx, t, v)
}

type appendParams struct {
	scope
	Entries []json.RawMessage `json:"entries"`
}

func tapeAppend(ctx context.Context, t *repo.Tape, v appendParams) (any, error) {
	var drafts []repo.Draft
	for _, line := range v.Entries {
		d, err := repo.ParseDraft(line)
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, d)
	}
	entries, err := t.Append(ctx, nil, drafts...)
	if err != nil {
		return nil, err
	}
	ids := []int64{}
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return args{"ids": ids}, nil
}

type queryParams struct {
	scope
	filter.Params
	After, From, To, Phase string
	Inclusive, Reverse     bool
	Limit, Tail            *int
}

// defaultLimit is how many entries or hits an answer has at most if the plugin does not say.
const defaultLimit = 100

func (v queryParams) query() (q repo.Query, err error) {
	if q, err = v.Params.Query(filter.InJSON, time.Now()); err != nil {
		return q, err
	}
	q.After, q.From, q.To, q.Phase, q.Inclusive, q.Reverse = v.After, v.From, v.To, v.Phase, v.Inclusive, v.Reverse
	if q.Limit, err = filter.Count("limit", v.Limit); err != nil {
		return q, err
	}
	if q.Tail, err = filter.Count("tail", v.Tail); q.Limit == nil && q.Tail == nil {
		q.Limit = repo.N(defaultLimit)
	}
	return q, err
}

func tapeQuery(ctx context.Context, t *repo.Tape, v queryParams) (any, error) {
	q, err := v.query()
	if err != nil {
		return nil, err
	}
	entries := []json.RawMessage{}
	for e, err := range t.Entries(ctx, q) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, slices.Clone(e.Raw))
	}
	return args{"entries": entries}, nil
}

type searchParams struct {
	queryParams
	Query string `json:"query"`
}

func tapeSearch(ctx context.Context, t *repo.Tape, v searchParams) (any, error) {
	q, err := v.query()
	if err != nil {
		return nil, err
	}
	x := index.New(t.Store(), nil)
	res, err := x.Search(ctx, index.Search{Text: v.Query, Tapes: []string{t.Name()}, Query: q})
	if err = errors.Join(err, x.Close()); err != nil {
		return nil, err
	}
	hits := []any{}
	for _, h := range res.Hits {
		hits = append(hits, args{"id": h.ID, "tape": h.Tape, "score": h.Score, "snippet": h.Snippet, "entry": json.RawMessage(h.Raw)})
	}
	return args{"hits": hits, "matches": res.Matches}, nil
}

type handoffParams struct {
	scope
	Name, Summary string
	State         json.RawMessage
}

func tapeHandoff(ctx context.Context, t *repo.Tape, v handoffParams) (any, error) {
	h, err := t.Handoff(ctx, repo.Anchor{Name: v.Name, Summary: v.Summary, State: v.State})
	if err != nil {
		return nil, err
	}
	return args{"anchor": h.Anchor, "seq": h.Seq, "id": h.Entry, "commit": h.Commit, "tag": h.Tag}, nil
}

// toolCall runs a tool. Hooks around calls are called, and consent is needed, as when a model calls the tool.
func (p *Process) toolCall(ctx context.Context, c *call, params json.RawMessage) (any, error) {
	v, err := read[struct {
		scope
		Name      string
		Arguments json.RawMessage
	}](params)
	if err != nil {
		return nil, err
	}
	if p.o.Runtime == nil {
		return nil, errors.New("there are no tools here")
	}
	tools := p.o.Runtime.Tools(ctx)
	i := slices.IndexFunc(tools, func(t hooks.Tool) bool { return t.Name == v.Name })
	if i < 0 {
		return nil, fmt.Errorf("there is no tool %q", v.Name)
	}
	if v.Arguments == nil {
		v.Arguments = json.RawMessage(`{}`)
	}
	if v.Arguments[0] != '{' {
		return nil, &rpcError{Code: codeParams, Message: "the arguments are an object"}
	}
	// A turn's state belongs to its hooks; a tool that a plugin calls gets a new one.
	session, state := v.session(c), p.o.Runtime.NewState()
	state[hooks.KeySession] = session
	id := "plugin-" + strings.ToLower(rand.Text()[:16])
	asked, decision := p.o.Runtime.BeforeToolCall(ctx, hooks.ToolCall{ID: id, Tool: v.Name, Arguments: v.Arguments}, state)
	switch decision.Action {
	case hooks.Deny:
		return nil, errors.New(decision.Message)
	case hooks.Replace:
		return args{"content": decision.Result}, nil
	}
	from := time.Now()
	content, err := tools[i].Run(ctx, hooks.ToolContext{Session: session, CallID: id, State: state}, asked.Arguments)
	done := p.o.Runtime.AfterToolCall(ctx, asked, hooks.ToolResult{Content: content, Err: err, Duration: time.Since(from)}, state)
	return args{"content": done.Content}, done.Err
}

// receive passes on a message that came in through a channel of the plugin.
func (p *Process) receive(ctx context.Context, params json.RawMessage) (any, error) {
	v, err := read[struct {
		CallID  *int `json:"call_id"`
		Channel string
		Message hooks.Envelope
	}](params)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	handler, open := p.handler, p.open[v.Channel]
	p.mu.Unlock()
	if handler == nil || !open {
		return nil, fmt.Errorf("the channel %q is not started", v.Channel)
	}
	if v.Message == nil {
		return nil, &rpcError{Code: codeParams, Message: "channel/receive wants channel and message"}
	}
	v.Message[hooks.KeyChannel] = v.Channel
	return struct{}{}, handler(ctx, v.Message)
}
