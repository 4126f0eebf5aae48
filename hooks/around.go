package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// BeforeModelCall shows plugins a call, one after the other, and gives the call that is to be
// made, or the text that is the answer instead. Who fails is skipped, unless ctx has ended:
// what calls the model will notice.
func (r *Runtime) BeforeModelCall(ctx context.Context, c ModelCall, s State) (ModelCall, *string) {
	for _, p := range r.implementing("before_llm_call") {
		shown := c
		shown.Messages, shown.Tools = slices.Clone(c.Messages), slices.Clone(c.Tools)
		d, err := call(ctx, r, p, "before_llm_call", func(p *Plugin) (*ModelDecision, error) { return p.BeforeModelCall(ctx, shown, s) })
		switch {
		case err != nil:
			r.skipped(err)
		case d == nil:
		case d.Finish != nil:
			return c, d.Finish
		case d.Call != nil:
			c.Model, c.Messages, c.MaxTokens = d.Call.Model, d.Call.Messages, d.Call.MaxTokens
		}
	}
	return c, nil
}

// AfterModelCall tells plugins how a call ended.
func (r *Runtime) AfterModelCall(ctx context.Context, c ModelCall, res ModelResult, s State) {
	for _, p := range r.implementing("after_llm_call") {
		_, err := call(ctx, r, p, "after_llm_call", func(p *Plugin) (any, error) { return nil, p.AfterModelCall(ctx, c, res, s) })
		r.skipped(err)
	}
}

// BeforeToolCall shows plugins a call, one after the other, until one replaces or denies it. The
// call that it gives has the arguments that are to be used. Who fails is skipped.
func (r *Runtime) BeforeToolCall(ctx context.Context, c ToolCall, s State) (ToolCall, ToolDecision) {
	for _, p := range r.implementing("before_tool_call") {
		d, err := call(ctx, r, p, "before_tool_call", func(p *Plugin) (*ToolDecision, error) {
			shown := c
			shown.Arguments = slices.Clone(c.Arguments)
			d, err := p.BeforeToolCall(ctx, shown, s)
			if err == nil && d != nil {
				err = d.check()
			}
			return d, err
		})
		switch {
		case err != nil:
			r.skipped(err)
		case d == nil:
		case d.Action == Replace || d.Action == Deny:
			return c, *d
		case d.Arguments != nil:
			c.Arguments = d.Arguments
		}
	}
	return c, ToolDecision{Action: Proceed}
}

func (d *ToolDecision) check() error {
	switch d.Action {
	case Replace, Deny:
		return nil
	case Proceed:
		var object map[string]json.RawMessage
		if d.Arguments != nil && (json.Unmarshal(d.Arguments, &object) != nil || object == nil) {
			return errors.New("the arguments are not a JSON object")
		}
		return nil
	}
	return fmt.Errorf("unknown action %q: it is %s, %s or %s", d.Action, Proceed, Replace, Deny)
}

// AfterToolCall shows plugins a result, one after the other; they may change its content, if it
// is no error. What a plugin that fails has changed does not count.
func (r *Runtime) AfterToolCall(ctx context.Context, c ToolCall, res ToolResult, s State) ToolResult {
	for _, p := range r.implementing("after_tool_call") {
		shown := res
		_, err := call(ctx, r, p, "after_tool_call", func(p *Plugin) (any, error) { return nil, p.AfterToolCall(ctx, c, &shown, s) })
		r.skipped(err)
		if err == nil && res.Err == nil {
			res.Content = shown.Content
		}
	}
	return res
}

// NotifyError tells observers of an error in a stage ([StageTurn], [StageModel], or the caller's
// own), also if ctx has ended. m may be nil.
func (r *Runtime) NotifyError(ctx context.Context, stage string, err error, m Envelope) {
	ctx = context.WithoutCancel(ctx)
	for _, p := range r.implementing("on_error") {
		_, failed := call(ctx, r, p, "on_error", func(p *Plugin) (any, error) { p.OnError(ctx, stage, err, m); return nil, nil })
		r.skipped(failed)
	}
}

func (r *Runtime) skipped(err error) {
	if err != nil {
		r.log.Warn("a hook failed and is skipped", "error", err)
	}
}

// ErrorMessages is the observer that sends a message of [KindError] to where a turn came from.
// A turn that was cancelled sends none: who cancelled it knows.
func ErrorMessages(r *Runtime) *Plugin {
	return &Plugin{Name: "error-messages", OnError: func(ctx context.Context, stage string, err error, m Envelope) {
		if m == nil || errors.Is(err, context.Canceled) {
			return
		}
		for hook := (*hookError)(nil); errors.Is(err, ErrNoModel) && errors.As(err, &hook); {
			err, stage = hook.err, StageTurn // where it came from is of no use: nothing has failed
		}
		text := err.Error()
		if stage != StageTurn {
			text = stage + ": " + text
		}
		if _, err := r.Dispatch(ctx, reply(m, "Error: "+text, KindError)); err != nil {
			r.log.Error("the message about an error was not sent", "error", err)
		}
	}}
}
