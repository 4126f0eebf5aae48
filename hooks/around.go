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

// AroundCalls reports whether a hook runs before or after calls of models and tools.
func AroundCalls(hook string) bool {
	return hook == beforeModel || hook == afterModel || hook == beforeTool || hook == afterTool
}

// BeforeModelCall passes a call through the plugins. It returns the call to make, or the text to
// use as the answer instead. A plugin that fails is skipped, unless it is required: then the call
// is denied, and the error says why.
func (r *Runtime) BeforeModelCall(ctx context.Context, c ModelCall, s State) (ModelCall, *string, error) {
	var approved *Plugin // the last required plugin that has seen c
	for _, p := range r.implementing(beforeModel) {
		shown := c
		shown.Messages, shown.Tools = slices.Clone(c.Messages), slices.Clone(c.Tools)
		d, err := ask(ctx, r, p, beforeModel, func(p *Plugin) (*ModelDecision, error) { return p.BeforeModelCall(ctx, shown, s) })
		before := c
		switch {
		case err != nil:
			if err = r.guardError(ctx, p, beforeModel, err); err != nil {
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

// AfterModelCall tells plugins how a call ended. Only a required plugin's error is returned.
func (r *Runtime) AfterModelCall(ctx context.Context, c ModelCall, res ModelResult, s State) error {
	for _, p := range r.implementing(afterModel) {
		_, err := ask(ctx, r, p, afterModel, func(p *Plugin) (any, error) { return nil, p.AfterModelCall(ctx, c, res, s) })
		if err = r.guardError(ctx, p, afterModel, err); err != nil {
			return fmt.Errorf("the model's answer is not used: %w", err)
		}
	}
	return nil
}

// BeforeToolCall passes a call through the plugins until one replaces or denies it. The returned
// call has the arguments to use. A plugin that fails is skipped, unless it is required: then the
// call is denied. At the end, [Runtime.Approve] may deny it. Every call is denied once ctx has ended.
func (r *Runtime) BeforeToolCall(ctx context.Context, c ToolCall, s State) (ToolCall, ToolDecision) {
	deny := func(p *Plugin, err error) (ToolCall, ToolDecision) {
		err = fmt.Errorf("denied: %w", err)
		r.reportFailure(ctx, p, beforeTool, err)
		return c, ToolDecision{Action: Deny, Message: err.Error()}
	}
	var approved *Plugin // the last required plugin that has seen c
	plugins := r.implementing(beforeTool)
	if name, found := duplicateName(c.Arguments); found && (len(plugins) > 0 || r.Approve != nil) {
		return c, ToolDecision{Action: Deny, Message: fmt.Sprintf("denied: the arguments have %q twice", name)}
	}
	for _, p := range plugins {
		d, err := ask(ctx, r, p, beforeTool, func(p *Plugin) (*ToolDecision, error) {
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
			if err = r.guardError(ctx, p, beforeTool, err); err != nil {
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
	var err error
	if r.Approve != nil && ctx.Err() == nil {
		err = r.Approve(ctx, c, s)
	}
	switch {
	case ctx.Err() != nil:
		return c, ToolDecision{Action: Deny, Message: "denied: the turn was cancelled"}
	case errors.Is(err, ErrUnanswered):
		r.reportUnanswered(ctx, err)
		return c, ToolDecision{Action: Deny, Message: err.Error()}
	case err != nil:
		return c, ToolDecision{Action: Deny, Message: err.Error()}
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
		if name, found := duplicateName(d.Arguments); found {
			return fmt.Errorf("the arguments have %q twice", name)
		}
		if d.Result != "" || d.Message != "" {
			return fmt.Errorf("%s came with a result or a message: those belong to %s and %s", Proceed, Replace, Deny)
		}
		return nil
	}
	return fmt.Errorf("unknown action %q: use %s, %s or %s", d.Action, Proceed, Replace, Deny)
}

// AfterToolCall passes a result through the plugins, which may change its content, or the error of a
// call that failed. If a plugin fails, its change is dropped; if it is required, content and error are
// withheld, because an error may have the output of a command.
func (r *Runtime) AfterToolCall(ctx context.Context, c ToolCall, res ToolResult, s State) ToolResult {
	for _, p := range r.implementing(afterTool) {
		shown := res
		_, err := ask(ctx, r, p, afterTool, func(p *Plugin) (any, error) { return nil, p.AfterToolCall(ctx, c, &shown, s) })
		denied := r.guardError(ctx, p, afterTool, err)
		if denied != nil {
			r.reportFailure(ctx, p, afterTool, denied)
		}
		switch {
		case denied != nil && res.Err != nil:
			res.Content, res.Err = "", fmt.Errorf("the call failed, and its error is withheld: %w", denied)
		case denied != nil:
			res.Content, res.Err = "", fmt.Errorf("the call was made, but its result is withheld: %w", denied)
		case err != nil:
		case res.Err == nil:
			res.Content = shown.Content
		case shown.Err != nil: // a call that failed stays one
			res.Err = shown.Err
		}
	}
	return res
}

// errChanged denies a call that was changed after a guard had approved it.
func errChanged(by, approved *Plugin) error {
	return fmt.Errorf("plugin %q changed the call after the required plugin %q had approved it; give %q the higher priority",
		by.Name, approved.Name, by.Name)
}

func sameCall(a, b ModelCall) bool {
	return a.Model == b.Model && a.MaxTokens == b.MaxTokens && slices.EqualFunc(a.Messages, b.Messages, sameJSON)
}

// sameJSON compares values, not spelling: white space and the order of keys do not matter.
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

// duplicateName finds a name that occurs twice in one object of a JSON text. A plugin might check
// one of the two values, and the tool use the other.
func duplicateName(raw json.RawMessage) (name string, found bool) {
	type level struct {
		names map[string]bool // nil in a list
		value bool            // in an object: the next token is a value, not a name
	}
	open := []level{{}}
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := d.Token()
		if err != nil {
			return "", false
		}
		inner := &open[len(open)-1]
		if name, isText := token.(string); isText && inner.names != nil && !inner.value {
			if inner.names[name] {
				return name, true
			}
			inner.names[name], inner.value = true, true
			continue
		}
		inner.value = false
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
