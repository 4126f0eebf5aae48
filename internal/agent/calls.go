package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tape/hooks"
	"tape/internal/agent/tools"
	"tape/repo"
)

// call is a call of a tool.
type call struct {
	ID        string
	Name      string
	Arguments json.RawMessage // as the model wrote them
}

// callOf reads a call. Each call of a step has an id of its own.
func (r *turn) callOf(e hooks.Event, others []call) call {
	text := func(key string) string {
		s, _ := e.Data[key].(string)
		return s
	}
	c := call{ID: text("id"), Name: text("name"), Arguments: json.RawMessage(text("arguments"))}
	if t, ok := tools.Find(r.tools, c.Name); ok {
		c.Name = t.Name
	}
	if c.ID == "" || slices.ContainsFunc(others, func(o call) bool { return o.ID == c.ID }) {
		c.ID = r.runID + "-" + strconv.Itoa(len(others)+1)
	}
	if len(bytes.TrimSpace(c.Arguments)) == 0 {
		c.Arguments = json.RawMessage("{}")
	}
	return c
}

// callTools records the calls, runs them side by side and records each result as it comes.
func (r *turn) callTools(ctx context.Context, reply *reply) (more bool, err error) {
	d := r.drafts()
	if reply.text != "" {
		d.message("assistant", reply.text, meta{})
	}
	var list []map[string]any
	for _, c := range reply.calls {
		list = append(list, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": string(c.Arguments)}})
	}
	d.add(repo.KindToolCall, map[string]any{"calls": list}, meta{})
	if err := d.save(ctx); err != nil {
		return false, err
	}
	for _, c := range reply.calls {
		r.emit(hooks.Event{Kind: hooks.EventToolCall, Data: map[string]any{"id": c.ID, "name": c.Name, "arguments": string(c.Arguments)}})
	}
	if err := r.runTools(ctx, reply.calls); err != nil {
		return false, err
	}
	if ctx.Err() != nil {
		reply.text = "" // it is on the tape
		return false, r.fail(ctx, kindCancelled, ctx.Err(), reply)
	}
	return true, r.endStep(ctx, r.drafts(), true, reply)
}

// ended is a call that has a result.
type ended struct {
	call   hooks.ToolCall
	result hooks.ToolResult
}

// runTools runs calls side by side. The hooks around them are called one after the other.
func (r *turn) runTools(ctx context.Context, calls []call) error {
	done := make(chan ended, len(calls))
	for _, c := range calls {
		hc := hooks.ToolCall{RunID: r.runID, ID: c.ID, Tool: c.Name, Arguments: c.Arguments}
		hc, decision := r.agent.Runtime.BeforeToolCall(ctx, hc, r.state)
		switch decision.Action {
		case hooks.Replace:
			done <- ended{hc, hooks.ToolResult{Content: decision.Result}}
			continue
		case hooks.Deny:
			done <- ended{hc, hooks.ToolResult{Err: errors.New(decision.Message)}}
			continue
		}
		go func() { done <- r.runTool(ctx, hc) }()
	}
	var err error
	for range calls {
		// All are waited for, so that none runs on behind the turn.
		err = errors.Join(err, r.result(ctx, <-done))
	}
	return err
}

func (r *turn) runTool(ctx context.Context, c hooks.ToolCall) (out ended) {
	began := time.Now()
	out.call = c
	defer func() {
		if p := recover(); p != nil {
			out.result = hooks.ToolResult{Err: fmt.Errorf("%s failed, and this is a bug: %v", c.Tool, p)}
		}
		out.result.Duration = time.Since(began)
	}()
	t, ok := tools.Find(r.tools, c.Tool)
	if !ok {
		out.result.Err = fmt.Errorf("there is no tool %q", c.Tool)
		return out
	}
	if trimmed := bytes.TrimSpace(c.Arguments); !json.Valid(trimmed) || trimmed[0] != '{' {
		out.result.Err = fmt.Errorf("%s: the arguments are not a JSON object", c.Tool)
		return out
	}
	out.result.Content, out.result.Err = t.Run(ctx, r.toolContext(c.ID), c.Arguments)
	return out
}

func (r *turn) toolContext(callID string) hooks.ToolContext {
	return hooks.ToolContext{Session: r.session, CallID: callID, State: r.state}
}

// result records the result of a call, and then shows it.
func (r *turn) result(ctx context.Context, e ended) error {
	e.result = r.agent.Runtime.AfterToolCall(ctx, e.call, e.result, r.state)
	text, m := e.result.Content, meta{CallIDs: []string{e.call.ID}}
	data := map[string]any{"id": e.call.ID, "name": e.call.Tool, "duration_ms": e.result.Duration.Milliseconds()}
	if err := e.result.Err; err != nil {
		text, m.IsError, data["error"] = err.Error(), m.CallIDs, true
		if e.result.Content != "" {
			text = e.result.Content + "\n" + text
		}
	}
	text, artifact := r.agent.Tools.Keep(context.WithoutCancel(ctx), r.toolContext(e.call.ID), e.call.Tool, text)
	payload := map[string]any{"results": []any{text}}
	if artifact != nil {
		payload["artifact"] = artifact
	}
	d := r.drafts()
	d.add(repo.KindToolResult, payload, m)
	if err := d.save(ctx); err != nil {
		return err
	}
	data["content"] = text
	r.emit(hooks.Event{Kind: hooks.EventToolResult, Data: data})
	return nil
}
