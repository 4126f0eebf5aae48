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

// caller finds the session that calls the server, so that its own searches leave it out.
//
// The _meta of a request helps. Codex names its session (sessionId, and for a subagent threadId),
// which is the name of its tape. Claude Code names the call (claudecode/toolUseId), which is on
// its tape as soon as that has been recorded. Until then, and for other agents, the session is any
// tape of that agent that has grown since the server started. The ids of calls tell two sessions
// of the same agent apart.
type caller struct {
	mu    sync.Mutex
	calls [][]byte // ids of the last calls, in quotes, as JSON has them
}

const (
	callsKept = 16
	tailRead  = 300 // entries at the end of a tape that are searched for a call
)

// noteCall keeps the id of a call.
func (a *caller) noteCall(meta mcp.Meta) {
	id, _ := meta["claudecode/toolUseId"].(string)
	if id == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, []byte(`"`+id+`"`))
	a.calls = a.calls[max(0, len(a.calls)-callsKept):]
}

// isOf reports whether a tape is a session's, or one of its forks.
func isOf(t *repo.Tape, session string) bool {
	return t.Name() == session || strings.HasPrefix(t.Name(), session+"/")
}

// tapes returns the names of the tapes that are, or may be, those of the calling session.
func (a *caller) tapes(ctx context.Context, f *searchRun, all []*repo.Tape) (names []string, err error) {
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

// growing returns the agent's tapes with entries that are newer than the start of the server.
func (a *caller) growing(ctx context.Context, f *searchRun, all []*repo.Tape) (out []*repo.Tape, err error) {
	init := f.c.Session.InitializeParams()
	if init == nil || init.ClientInfo == nil {
		return nil, nil
	}
	client := strings.ToLower(init.ClientInfo.Name)
	facts, _, err := catalog.About(ctx, f.x, f.store, nil)
	for _, t := range all {
		about := facts[t.Branch()]
		agent, _, _ := strings.Cut(about.Agent, "-")
		if agent != "" && strings.Contains(client, agent) && !t.IsFork() && about.Updated.After(f.s.started) {
			out = append(out, t)
		}
	}
	return out, err
}

// called reports whether the last entries of a tape contain one of the calls.
func (a *caller) called(ctx context.Context, t *repo.Tape) (bool, error) {
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
