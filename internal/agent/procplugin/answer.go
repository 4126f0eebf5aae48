package procplugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/hooks"
)

// answerForm describes the values that a hook may return besides null; "" if there are none.
func answerForm(hook string) string {
	switch hook {
	case "resolve_session", "run_model", "run_model_stream", "system_prompt", "provide_tape_store":
		return "a text"
	case "build_prompt", "continue_prompt":
		return "a text, or a list of parts, which are objects"
	case "load_state", "onboard_config":
		return "an object"
	case "render_outbound":
		return "a list of messages, which are objects"
	case "build_tape_context":
		return "a list of messages of the API, which are objects"
	case "dispatch_outbound", "provide_steering_inbox":
		return "true or false"
	case "admit_message":
		return `"process", "drop", "follow_up" or "steer"`
	case "register_cli_commands":
		return `a list of {"name", "short"}`
	case "provide_model_options":
		return `a list of {"id", "label"}`
	case "before_llm_call":
		return `{"call": {…}} with what changes of "model", "messages" and "max_tokens", or {"finish": text}`
	case "before_tool_call":
		return `{"action": "proceed", "arguments": object, if they change}, {"action": "replace", "result": text} or {"action": "deny", "message": text}`
	case "after_tool_call":
		return `{"content": text}, or {"error": text} if the call failed`
	}
	return ""
}

// hook calls a hook and returns its value. The value is nil if the plugin gave none, or if it is
// off and not required.
func (p *Process) hook(ctx context.Context, name string, a args, session string, s hooks.State) (json.RawMessage, error) {
	if s != nil {
		a["state"] = plain(s)
	}
	result, err := p.call(ctx, callParams{method: "hook/" + name, params: a, session: session, state: s,
		timeout: p.hookTimeout(name, p.o.limits.hook)})
	if err != nil {
		return nil, p.ignoreOff(err)
	}
	return hookValue(result)
}

// hookValue returns the value in a hook's result, which is {"value": x} and nothing else.
func hookValue(result json.RawMessage) (json.RawMessage, error) {
	if len(result) == 0 {
		return nil, errors.New(`the answer has neither a result nor an error`)
	}
	r, err := strictObject(result, "value")
	if _, has := r["value"]; err == nil && !has {
		err = errors.New("there is no value")
	}
	if err != nil {
		return nil, fmt.Errorf(`the result %s is not {"value": x}: %w`, cut(string(result), 100), err)
	}
	if isNull(r["value"]) {
		return nil, nil
	}
	return r["value"], nil
}

// answer calls a hook and reads its value; nil if there is none.
func answer[T any](ctx context.Context, p *Process, name string, a args, session string, s hooks.State,
	read func(raw json.RawMessage) (*T, error)) (*T, error) {
	raw, err := p.hook(ctx, name, a, session, s)
	if err != nil || raw == nil {
		return nil, err
	}
	v, err := read(raw)
	if err != nil {
		return nil, valueError(name, raw, err)
	}
	return v, nil
}

func valueError(hook string, raw json.RawMessage, why error) error {
	takes := "null"
	if form := answerForm(hook); form != "" {
		takes = form + " or null"
	}
	return fmt.Errorf("the value %s does not fit: %w; the hook takes %s", cut(string(raw), 100), why, takes)
}

// as reads a value as a T, without further checks.
func as[T any](raw json.RawMessage) (*T, error) {
	v := new(T)
	return v, json.Unmarshal(raw, v)
}

// noValue refuses every value, for hooks that return none.
func noValue(json.RawMessage) (*struct{}, error) { return nil, errors.New("no value is expected") }

// objects reads a list of objects.
func objects(raw json.RawMessage) (*[]json.RawMessage, error) {
	list, err := as[[]json.RawMessage](raw)
	if err == nil && slices.ContainsFunc(*list, func(o json.RawMessage) bool { return o[0] != '{' }) {
		err = errors.New("the list has an element that is not an object")
	}
	return list, err
}

// listOf reads a list of objects as Ts.
func listOf[T any](raw json.RawMessage) (*[]T, error) {
	if _, err := objects(raw); err != nil {
		return nil, err
	}
	return as[[]T](raw)
}

func promptOf(raw json.RawMessage) (*hooks.Prompt, error) {
	if raw[0] != '[' {
		text, err := as[string](raw)
		return &hooks.Prompt{Text: *text}, err
	}
	parts, err := listOf[hooks.Part](raw)
	if err != nil {
		return nil, err
	}
	return &hooks.Prompt{Parts: *parts}, nil
}

// toolDecision reads the value of before_tool_call. An unknown member is an error, because it might be
// a decision.
func toolDecision(raw json.RawMessage) (*hooks.ToolDecision, error) {
	members, err := strictObject(raw, "action", "arguments", "result", "message")
	d := &hooks.ToolDecision{}
	if err = errors.Join(err, readMember(members, "action", &d.Action), readMember(members, "arguments", &d.Arguments),
		readMember(members, "result", &d.Result), readMember(members, "message", &d.Message)); err != nil {
		return nil, err
	}
	switch d.Action {
	case hooks.Proceed, hooks.Replace, hooks.Deny:
		return d, nil
	}
	return nil, fmt.Errorf("the action is %q", d.Action)
}

// modelDecision reads the value of before_llm_call. Members of c that the value does not mention stay as they are.
func modelDecision(c hooks.ModelCall) func(raw json.RawMessage) (*hooks.ModelDecision, error) {
	return func(raw json.RawMessage) (*hooks.ModelDecision, error) {
		members, err := strictObject(raw, "call", "finish")
		d := &hooks.ModelDecision{}
		if err = errors.Join(err, readMember(members, "finish", &d.Finish)); err != nil || isNull(members["call"]) {
			return d, err
		}
		given, err := strictObject(members["call"], "model", "messages", "max_tokens", "run_id", "tools")
		d.Call = &c
		run, tools := c.RunID, c.Tools
		if err = errors.Join(err, readMember(given, "model", &c.Model), readMember(given, "max_tokens", &c.MaxTokens),
			readMember(given, "run_id", &run), readMember(given, "tools", &tools)); err != nil {
			return nil, err
		}
		if run != c.RunID || !slices.Equal(tools, c.Tools) {
			return nil, errors.New("run_id and tools cannot be changed")
		}
		if messages := given["messages"]; !isNull(messages) {
			list, err := objects(messages)
			if err != nil {
				return nil, fmt.Errorf("messages: %w", err)
			}
			c.Messages = *list
		}
		if c.MaxTokens < 0 {
			return nil, errors.New("max_tokens is negative")
		}
		return d, nil
	}
}

// toolChange returns a reader for the value of after_tool_call: a call that failed has an error to change, others
// have a content.
func toolChange(failed bool) func(json.RawMessage) (*hooks.ToolResult, error) {
	return func(raw json.RawMessage) (*hooks.ToolResult, error) {
		members, err := strictObject(raw, "content", "error")
		var content, message *string
		err = errors.Join(err, readMember(members, "content", &content), readMember(members, "error", &message))
		switch {
		case err != nil:
			return nil, err
		case message != nil && !failed:
			return nil, errors.New("the call did not fail: it has no error to change")
		case message != nil:
			return &hooks.ToolResult{Err: errors.New(*message)}, nil
		case content != nil && !failed:
			return &hooks.ToolResult{Content: *content}, nil
		}
		return nil, nil
	}
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// readMember reads a member of an object; into stays as it is if the member is missing or null.
func readMember(members map[string]json.RawMessage, name string, into any) error {
	if isNull(members[name]) {
		return nil
	}
	if err := json.Unmarshal(members[name], into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// strictObject reads an object. A member that is not in names, or that is repeated, is an error. Unlike in
// encoding/json, case matters.
func strictObject(raw json.RawMessage, names ...string) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("it is not an object")
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string) // a key always is
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("there is no %q, only %s", cut(name, 50), strings.Join(names, ", "))
		}
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("it has %q twice", name)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		members[name] = value
	}
	return members, nil
}
