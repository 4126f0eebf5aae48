package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/internal/agent/tools"
	"tape/repo"
)

// call is a call of a tool that the model wants.
type call struct {
	ID        string
	Name      string
	Arguments json.RawMessage // as the model wrote them
	cut       bool            // they end where the model's output was cut
}

// callPayload is the payload of an entry of kind tool_call.
type callPayload struct {
	Calls []recordedCall `json:"calls"`
}

type recordedCall struct {
	ID       string           `json:"id"`
	Type     string           `json:"type"`
	Function recordedFunction `json:"function"`
}

type recordedFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// callOf reads a call from an event, and makes sure that its id is unique in the step.
func (r *turn) callOf(e hooks.Event, others []call) call {
	text := func(key string) string {
		s, _ := e.Data[key].(string)
		return s
	}
	c := call{ID: text("id"), Name: text("name"), Arguments: json.RawMessage(text("arguments"))}
	c.cut = e.Data[models.CallCut] == true
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

// callTools records the calls, runs them, and records each result as it comes.
func (r *turn) callTools(ctx context.Context, reply *reply) (more bool, err error) {
	d := r.drafts()
	d.thinking(reply.thinking)
	if reply.text != "" {
		d.message("assistant", reply.text, meta{})
	}
	d.calls(reply.calls, reply.kept)
	if err := d.save(ctx); err != nil {
		return false, err
	}
	for _, c := range reply.calls {
		r.emit(hooks.Event{Kind: hooks.EventToolCall, Data: map[string]any{"id": c.ID, "name": c.Name, "arguments": string(c.Arguments)}})
	}
	if reply.kept != nil {
		r.kept = append(r.kept, *reply.kept)
	}
	var plan handoffPlan
	if err := r.runTools(ctx, reply, &plan); err != nil {
		return false, err
	}
	if ctx.Err() != nil {
		reply.text = "" // it is already on the tape
		return false, r.fail(ctx, kindCancelled, ctx.Err(), reply)
	}
	if r.cuts++; !reply.cut {
		r.cuts = 0
	}
	if r.cuts >= maxCuts {
		reply.text = "" // it is already on the tape
		return false, r.fail(ctx, kindCut, cutAnswer(reply.limit), reply)
	}
	return r.endCallStep(ctx, reply, &plan)
}

// maxCuts is how many answers in a row may be cut within a call: a model may go on to write too much at once.
const maxCuts = 3

// calls adds the calls of a step, and what their server wants back with them.
func (d *drafts) calls(list []call, kept *models.Kept) {
	var p callPayload
	for _, c := range list {
		p.Calls = append(p.Calls, recordedCall{c.ID, "function", recordedFunction{c.Name, string(c.Arguments)}})
	}
	d.add(repo.KindToolCall, p, meta{Kept: kept})
}

// finishedCall is a call with its result.
type finishedCall struct {
	call   hooks.ToolCall
	result hooks.ToolResult
}

// runTools runs the calls of an answer, each when those before it have ended that may touch the same files; others run
// side by side. The hooks around them run one after the other.
func (r *turn) runTools(ctx context.Context, reply *reply, p *handoffPlan) error {
	ctx = p.withPlan(ctx)
	calls := reply.calls
	done, out := make(chan finishedCall, len(calls)), newOutputs()
	begun, ended := make([]bool, len(calls)), make([]bool, len(calls))
	var err error
	for range calls {
		for i := range calls {
			if !begun[i] && r.mayBegin(calls, ended, i) {
				begun[i] = true
				r.begin(ctx, reply, i, done, out)
			}
		}
		// Wait for all calls, so that none outlives the turn.
		f := r.next(done, out)
		ended[slices.IndexFunc(calls, func(c call) bool { return c.ID == f.call.ID })] = true
		f.result = r.agent.Runtime.AfterToolCall(ctx, f.call, f.result, r.state)
		if !p.holdBack(f) {
			err = errors.Join(err, r.recordResult(ctx, f))
		}
	}
	return err
}

// mayBegin reports whether call i need not wait for one before it.
func (r *turn) mayBegin(calls []call, ended []bool, i int) bool {
	for n := range i {
		if !ended[n] && tools.InOrder(calls[n].Name, calls[n].Arguments, calls[i].Name, calls[i].Arguments) {
			return false
		}
	}
	return true
}

// begin asks the hooks about a call, and starts it.
func (r *turn) begin(ctx context.Context, reply *reply, i int, done chan<- finishedCall, out *outputs) {
	c := reply.calls[i]
	hc := hooks.ToolCall{RunID: r.runID, ID: c.ID, Tool: c.Name, Arguments: c.Arguments}
	switch {
	case c.cut:
		done <- finishedCall{hc, hooks.ToolResult{Err: errors.New(textCut(reply.limit))}}
		return
	case ctx.Err() != nil:
		done <- finishedCall{hc, hooks.ToolResult{Err: errors.New("interrupted: it was not begun")}}
		return
	}
	hc, decided := r.beforeCall(ctx, hc)
	hc.ID = c.ID
	if decided != nil {
		done <- finishedCall{hc, *decided}
		return
	}
	tc := r.toolContext(c.ID)
	tc.Output = out.forCall(c.ID, c.Name)
	if c.Name == subagentTool { // its hooks may write to the state
		tc.State = maps.Clone(tc.State)
	}
	go func() { done <- r.runTool(ctx, hc, tc) }()
}

// textCut tells the model why a call was not made.
func textCut(limit int) string {
	of := ""
	if limit > 0 {
		of = fmt.Sprintf(" of %d tokens", limit)
	}
	return "the call was not made: your output was cut at its limit" + of + ", before the arguments were complete. Write less at once: for example, write the first part of a file, and add each further part with a call of its own."
}

// beforeCall runs the hooks before a call and returns the call, which they may have changed. If the call must
// not be made, it also returns the result.
func (r *turn) beforeCall(ctx context.Context, c hooks.ToolCall) (hooks.ToolCall, *hooks.ToolResult) {
	if trimmed := bytes.TrimSpace(c.Arguments); !json.Valid(trimmed) || trimmed[0] != '{' { // plugins could not read it
		return c, &hooks.ToolResult{Err: fmt.Errorf("%s: the arguments are not a JSON object", c.Tool)}
	}
	c, decision := r.agent.Runtime.BeforeToolCall(ctx, c, r.state)
	switch decision.Action {
	case hooks.Replace:
		return c, &hooks.ToolResult{Content: decision.Result}
	case hooks.Deny:
		return c, &hooks.ToolResult{Err: errors.New(decision.Message)}
	}
	return c, nil
}

// commandTool runs the tool of a comma command, with the same hooks as a model's call.
func (r *turn) commandTool(ctx context.Context, tool string, arguments json.RawMessage) (string, error) {
	var plan handoffPlan
	ctx = plan.withPlan(ctx)
	c, decided := r.beforeCall(ctx, hooks.ToolCall{ID: r.id, Tool: tool, Arguments: arguments, Typed: r.agent.Commands})
	if decided == nil {
		done, out := make(chan finishedCall, 1), newOutputs()
		tc := r.toolContext(r.id)
		tc.Typed, tc.Output = c.Typed, out.forCall(r.id, tool)
		go func() { done <- r.runTool(ctx, c, tc) }()
		f := r.next(done, out)
		decided = &f.result
	}
	res := r.agent.Runtime.AfterToolCall(ctx, c, *decided, r.state)
	if plan.anchor != nil && res.Err == nil {
		d := r.drafts()
		res.Err = errors.Join(r.handOff(d, *plan.anchor), d.save(ctx))
	}
	return res.Content, res.Err
}

func (r *turn) runTool(ctx context.Context, c hooks.ToolCall, tc hooks.ToolContext) (out finishedCall) {
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
	out.result.Content, out.result.Err = t.Run(ctx, tc, c.Arguments)
	return out
}

func (r *turn) toolContext(callID string) hooks.ToolContext {
	return hooks.ToolContext{Session: r.session, CallID: callID, State: r.state}
}

// recordResult records the result of a call, and then shows it.
func (r *turn) recordResult(ctx context.Context, f finishedCall) error {
	d := r.drafts()
	show := r.addResult(ctx, d, f)
	if err := d.save(ctx); err != nil {
		return err
	}
	show()
	return nil
}

// addResult adds the result of a call to the drafts. Call show after the drafts were saved.
func (r *turn) addResult(ctx context.Context, d *drafts, f finishedCall) (show func()) {
	text := f.result.Content
	data := map[string]any{"id": f.call.ID, "name": f.call.Tool, "duration_ms": f.result.Duration.Milliseconds()}
	if err := f.result.Err; err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = errors.New("interrupted: it may have been done in part")
		}
		data["error"] = true
		if text != "" {
			text += "\n"
		}
		text += err.Error()
	}
	text, artifact := r.addOutcome(ctx, d, f.call.ID, f.call.Tool, text, f.result.Err != nil)
	if artifact != nil {
		data["artifact"] = artifact.ID
	}
	data["content"] = text
	return func() { r.emit(hooks.Event{Kind: hooks.EventToolResult, Data: data}) }
}

// addOutcome adds the text of a call's result to the drafts, and returns what was added: a text that is too
// long becomes an artifact, and a preview stands for it.
func (r *turn) addOutcome(ctx context.Context, d *drafts, id, tool, text string, failed bool) (string, *repo.Artifact) {
	m := meta{CallIDs: []string{id}, Search: tool == "tape.search"}
	if failed {
		m.IsError = m.CallIDs
	}
	text, artifact := r.agent.Tools.Keep(context.WithoutCancel(ctx), r.toolContext(id), tool, text)
	payload := map[string]any{"results": []any{text}}
	if artifact != nil {
		payload["artifact"] = artifact
	}
	d.add(repo.KindToolResult, payload, m)
	return text, artifact
}
