package hooks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// The hooks around calls.
const (
	beforeModel = "before_llm_call"
	afterModel  = "after_llm_call"
	beforeTool  = "before_tool_call"
	afterTool   = "after_tool_call"
)

// AroundCalls reports whether a hook is one of those around calls of models and tools.
func AroundCalls(hook string) bool {
	return hook == beforeModel || hook == afterModel || hook == beforeTool || hook == afterTool
}

// BeforeModelCall shows plugins a call, one after the other, and gives the call that is to be
// made, or the text that is the answer instead. A plugin that fails is skipped; where it is
// required, the error says why the call is denied.
func (r *Runtime) BeforeModelCall(ctx context.Context, c ModelCall, s State) (ModelCall, *string, error) {
	var approved *Plugin // the last required plugin that has seen c as it is
	for _, p := range r.implementing(beforeModel) {
		shown := c
		shown.Messages, shown.Tools = slices.Clone(c.Messages), slices.Clone(c.Tools)
		d, err := call(ctx, r, p, beforeModel, func(p *Plugin) (*ModelDecision, error) { return p.BeforeModelCall(ctx, shown, s) })
		before := c
		switch {
		case err != nil:
			if err = r.failed(ctx, p, beforeModel, err); err != nil {
				return c, nil, fmt.Errorf("the call of the model is denied: %w", err)
			}
		case d == nil:
		case d.Finish != nil:
			return c, d.Finish, nil
		case d.Call != nil:
			c.Model, c.Messages, c.MaxTokens = d.Call.Model, d.Call.Messages, d.Call.MaxTokens
		}
		if approved != nil && !sameCall(before, c) {
			return c, nil, fmt.Errorf("the call of the model is denied: %w", errChanged(p, approved))
		}
		if p.Required {
			approved = p
		}
	}
	return c, nil, ctx.Err()
}

// AfterModelCall tells plugins how a call ended. The error is that of a required plugin.
func (r *Runtime) AfterModelCall(ctx context.Context, c ModelCall, res ModelResult, s State) error {
	for _, p := range r.implementing(afterModel) {
		_, err := call(ctx, r, p, afterModel, func(p *Plugin) (any, error) { return nil, p.AfterModelCall(ctx, c, res, s) })
		if err = r.failed(ctx, p, afterModel, err); err != nil {
			return fmt.Errorf("the model's answer is not used: %w", err)
		}
	}
	return nil
}

// BeforeToolCall shows plugins a call, one after the other, until one replaces or denies it. The
// call that it gives has the arguments that are to be used. A plugin that fails is skipped; where
// it is required, the call is denied. So is each call when ctx has ended.
func (r *Runtime) BeforeToolCall(ctx context.Context, c ToolCall, s State) (ToolCall, ToolDecision) {
	deny := func(p *Plugin, err error) (ToolCall, ToolDecision) {
		err = fmt.Errorf("denied: %w", err)
		r.tell(ctx, p, beforeTool, err)
		return c, ToolDecision{Action: Deny, Message: err.Error()}
	}
	var approved *Plugin // the last required plugin that has seen c as it is
	plugins := r.implementing(beforeTool)
	if name, is := twice(c.Arguments); is && len(plugins) > 0 {
		return c, ToolDecision{Action: Deny, Message: fmt.Sprintf("denied: the arguments have %q twice", name)}
	}
	for _, p := range plugins {
		d, err := call(ctx, r, p, beforeTool, func(p *Plugin) (*ToolDecision, error) {
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
			if err = r.failed(ctx, p, beforeTool, err); err != nil {
				return deny(p, err)
			}
		case d == nil:
		case d.Action == Deny:
			d.Message = cmp.Or(d.Message, fmt.Sprintf("denied by plugin %q", p.Name))
			return c, *d
		case d.Action == Replace:
			return c, *d
		case d.Arguments != nil:
			if approved != nil && !sameJSON(c.Arguments, d.Arguments) {
				return deny(p, errChanged(p, approved))
			}
			c.Arguments = d.Arguments
		}
		if p.Required {
			approved = p
		}
	}
	if ctx.Err() != nil {
		return c, ToolDecision{Action: Deny, Message: "denied: the turn was cancelled"}
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
		if name, is := twice(d.Arguments); is {
			return fmt.Errorf("the arguments have %q twice", name)
		}
		if d.Result != "" || d.Message != "" {
			return fmt.Errorf("it says %s with a result or a message: those are for %s and %s", Proceed, Replace, Deny)
		}
		return nil
	}
	return fmt.Errorf("unknown action %q: it is %s, %s or %s", d.Action, Proceed, Replace, Deny)
}

// AfterToolCall shows plugins a result, one after the other; they may change its content, if it
// is no error. What a plugin that fails has changed does not count; where it is required, the
// result is withheld.
func (r *Runtime) AfterToolCall(ctx context.Context, c ToolCall, res ToolResult, s State) ToolResult {
	for _, p := range r.implementing(afterTool) {
		shown := res
		_, err := call(ctx, r, p, afterTool, func(p *Plugin) (any, error) { return nil, p.AfterToolCall(ctx, c, &shown, s) })
		switch failed := r.failed(ctx, p, afterTool, err); {
		case res.Err != nil: // there is no content that the plugin could have changed
		case failed != nil:
			r.tell(ctx, p, afterTool, failed)
			res.Content, res.Err = "", fmt.Errorf("the call was made, but its result is withheld: %w", failed)
		case err == nil:
			res.Content = shown.Content
		}
	}
	return res
}

// errChanged denies a call that is not what a guard has approved.
func errChanged(by, approved *Plugin) error {
	return fmt.Errorf("plugin %q changed the call after the required plugin %q had approved it; give %q the higher priority",
		by.Name, approved.Name, by.Name)
}

func sameCall(a, b ModelCall) bool {
	return a.Model == b.Model && a.MaxTokens == b.MaxTokens && slices.EqualFunc(a.Messages, b.Messages, sameJSON)
}

// sameJSON compares what JSON says, and not how it is written.
func sameJSON(a, b json.RawMessage) bool {
	var values [2]any
	for i, raw := range []json.RawMessage{a, b} {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if d.Decode(&values[i]) != nil {
			return bytes.Equal(a, b)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// twice finds a name that an object in a JSON text has twice. Of the two values, a plugin may see one, and
// the tool the other.
func twice(raw json.RawMessage) (name string, is bool) {
	type level struct {
		names map[string]bool // nil in a list
		value bool            // a value follows, and no name
	}
	open := []level{{}}
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := d.Token()
		if err != nil {
			return "", false
		}
		at := &open[len(open)-1]
		if name, text := token.(string); text && at.names != nil && !at.value {
			if at.names[name] {
				return name, true
			}
			at.names[name], at.value = true, true
			continue
		}
		at.value = false
		switch token {
		case json.Delim('{'):
			open = append(open, level{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
}
