package mcpserver

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tape/internal/sessions/catalog"
	"tape/repo"
)

// asking finds out which session it is that asks: what it says itself is no answer to it.
//
// A request says so in _meta. Codex names its session (sessionId, and for a subagent threadId),
// which is the name of its tape. Claude Code names the call (claudecode/toolUseId), which is on
// its tape once that has caught up: until then, and for agents that name nothing, it is the
// tape of that agent that has grown since the server was started. Two sessions of an agent at
// once are told apart by their calls.
type asking struct {
	mu    sync.Mutex
	calls [][]byte // ids of the last calls
}

const (
	callsKept = 16
	tailRead  = 300 // entries in which a call is looked for
)

// saw keeps the id of a call.
func (a *asking) saw(meta mcp.Meta) {
	id, _ := meta["claudecode/toolUseId"].(string)
	if id == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, []byte(`"`+id+`"`))
	a.calls = a.calls[max(0, len(a.calls)-callsKept):]
}

// isOf reports whether a tape is that of a session, or a fork of it.
func isOf(t *repo.Tape, session string) bool {
	return t.Name() == session || strings.HasPrefix(t.Name(), session+"/")
}

// tapes are the names of the tapes of the session that asks.
func (a *asking) tapes(ctx context.Context, f *finding, all []*repo.Tape) (names []string, err error) {
	named := false
	for _, key := range []string{"sessionId", "threadId"} {
		id, _ := f.c.Params.Meta[key].(string)
		if id == "" {
			continue
		}
		named = true
		if !slices.Contains(names, id) && slices.ContainsFunc(all, func(t *repo.Tape) bool { return isOf(t, id) }) {
			names = append(names, id)
		}
	}
	if named {
		return names, nil
	}
	growing, err := a.growing(ctx, f, all)
	if err != nil {
		return nil, err
	}
	for _, t := range growing {
		called, err := a.called(ctx, t)
		if err != nil {
			return nil, err
		}
		if called {
			return []string{t.Name()}, nil
		}
		names = append(names, t.Name())
	}
	return names, nil
}

// growing are the tapes of the agent that have got entries since the server was started.
func (a *asking) growing(ctx context.Context, f *finding, all []*repo.Tape) (out []*repo.Tape, err error) {
	init := f.c.Session.InitializeParams()
	if init == nil || init.ClientInfo == nil {
		return nil, nil
	}
	client := strings.ToLower(init.ClientInfo.Name)
	facts, _, err := catalog.About(ctx, f.x, f.store, nil)
	for _, t := range all {
		known := facts[t.Branch()]
		agent, _, _ := strings.Cut(known.Agent, "-")
		if agent != "" && strings.Contains(client, agent) && !t.IsFork() && known.Updated.After(f.s.started) {
			out = append(out, t)
		}
	}
	return out, err
}

// called reports whether a tape has one of the calls among its last entries.
func (a *asking) called(ctx context.Context, t *repo.Tape) (bool, error) {
	a.mu.Lock()
	calls := slices.Clone(a.calls)
	a.mu.Unlock()
	if len(calls) == 0 {
		return false, nil
	}
	for e, err := range t.Entries(ctx, repo.Query{Kinds: []string{repo.KindToolCall, repo.KindMessage}, Tail: repo.N(tailRead)}) {
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(calls, func(id []byte) bool { return bytes.Contains(e.Payload, id) }) {
			return true, nil
		}
	}
	return false, nil
}
