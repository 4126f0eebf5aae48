package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/hooks"
	"tape/internal/agent/tools"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/merge"
	"tape/repo"
	"tape/repo/view"
)

const subagentTool = "subagent"

// notForSubagents are the tools that a subagent does not get: its fork is a part of the session, so
// it must not begin phases, and it starts no subagents of its own.
var notForSubagents = []string{subagentTool, handoffTool, "tape.reset"}

// forkName returns the name of the fork for a subagent's call.
func forkName(callID string) string { return "agent-" + layout.TapeSlug(callID) }

// newSubagentTool returns the tool that gives a task to a subagent.
func (a *agent) newSubagentTool() hooks.Tool {
	return tools.Checked(hooks.Tool{
		Name: subagentTool,
		Description: "Give a task to a subagent, which works in its own context, with the same tools except subagent, handoff and reset, and returns its answer. " +
			"Several run side by side if they are called together. If one fails, what it recorded is dropped; what it changed in files stays.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"prompt":{"type":"string","minLength":1,"description":"the task, with everything that the subagent needs to know"},` +
			`"model":{"type":"string","description":"provider:model; default: the model of this session"},` +
			`"allowed_tools":{"type":"array","items":{"type":"string"},"description":"default all"}},` +
			`"required":["prompt"],"additionalProperties":false}`),
		Run:   a.runSubagent,
		Reads: true, // starting it needs no consent; each of its own calls is checked
	})
}

type subagentArgs struct {
	Prompt       string   `json:"prompt"`
	Model        string   `json:"model"`
	AllowedTools []string `json:"allowed_tools"`
}

// runSubagent runs a turn in a fork, which is merged if it succeeds, and discarded if not.
func (a *agent) runSubagent(ctx context.Context, c hooks.ToolContext, arguments json.RawMessage) (string, error) {
	parent, ok := ctx.Value(turnKey{}).(*turn)
	if !ok || parent.forked {
		return "", errors.New("only a session's turn can start a subagent")
	}
	var args subagentArgs
	if err := json.Unmarshal(arguments, &args); err != nil {
		return "", err
	}
	offered, err := subagentTools(parent.tools, args.AllowedTools)
	if err != nil {
		return "", err
	}
	fork, err := parent.tape.Fork(ctx, forkName(c.CallID))
	if err != nil {
		return "", err
	}
	r := &turn{
		agent: a, tape: fork, forked: true, session: parent.session, id: parent.id + "/" + c.CallID,
		state: c.State, prompt: hooks.Prompt{Text: args.Prompt}, tools: offered,
		model: parent.model, past: &past{messages: map[string]bool{}},
	}
	r.work = r.run
	if args.Model != "" {
		r.model = args.Model
	}
	text, err := r.collect(ctx, c.Output)
	if err == nil {
		_, err = merge.Back(ctx, fork)
	}
	if err != nil {
		return text, errors.Join(fmt.Errorf("the subagent failed: %w", err), fork.Discard(context.WithoutCancel(ctx)))
	}
	return text, nil
}

// subagentTools returns the tools that allowed names, or all if it is empty; in both cases without notForSubagents.
func subagentTools(all []hooks.Tool, allowed []string) ([]hooks.Tool, error) {
	out := slices.DeleteFunc(slices.Clone(all), func(t hooks.Tool) bool { return slices.Contains(notForSubagents, t.Name) })
	if len(allowed) == 0 {
		return out, nil
	}
	var chosen []hooks.Tool
	for _, name := range allowed {
		t, ok := tools.Find(out, name)
		if !ok {
			return nil, fmt.Errorf("a subagent has no tool %q", name)
		}
		chosen = append(chosen, t)
	}
	return tools.Distinct(chosen), nil
}

// shownCall is the length, in cells, to which a subagent's call of a tool is cut when it is shown.
const shownCall = 300

// collect runs the turn and returns the model's last text. Meanwhile it shows the five newest calls of tools
// as output.
func (r *turn) collect(ctx context.Context, show func(end string, bytes int64)) (string, error) {
	var text strings.Builder
	var calls []string
	var size int64
	for e, err := range r.stream(ctx) {
		if err != nil {
			return text.String(), err
		}
		switch e.Kind {
		case hooks.EventText:
			if delta, _ := e.Data["delta"].(string); text.Len() == 0 {
				e = hooks.Text(strings.TrimLeft(delta, "\n")) // the blank line after an earlier step
			}
			hooks.AddText(&text, e)
		case hooks.EventToolCall:
			text.Reset() // what it said before is on the tape
			if show != nil {
				call := display.Truncate(display.Line(hooks.Envelope(e.Data).Text("name")+" "+hooks.Envelope(e.Data).Text("arguments")), shownCall) + "\n"
				calls = append(calls[max(0, len(calls)-4):], call)
				size += int64(len(call))
				show(strings.Join(calls, ""), size)
			}
		}
	}
	return text.String(), nil
}

// ownMessages returns a subagent's messages, made from its own entries. These have context false, so
// that the session's model does not see them: it gets the tool's result.
func (r *turn) ownMessages(ctx context.Context, form view.Format) ([]json.RawMessage, error) {
	base, err := r.tape.Base(ctx)
	if err != nil {
		return nil, err
	}
	var entries []repo.Entry
	for e, err := range r.tape.Entries(ctx, repo.Query{Reverse: true}) {
		if err != nil {
			return nil, err
		}
		if e.ID <= base.Entry {
			break
		}
		if e.Meta, err = withoutContextFalse(e.Meta); err != nil {
			return nil, err
		}
		phase := anchorOf(&e)
		entries = append(entries, e)
		if phase {
			break
		}
	}
	slices.Reverse(entries)
	c, err := view.Messages(entries, view.Options{Format: form})
	if err != nil {
		return nil, err
	}
	return c.Messages, nil
}

// withoutContextFalse removes context:false, so that the subagent's model sees the entry.
func withoutContextFalse(raw json.RawMessage) (json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	delete(m, "context")
	return encoded(m)
}

// anchorOf turns a subagent's event phase into an anchor. It reports false if e is another entry.
func anchorOf(e *repo.Entry) bool {
	if name, _ := eventOf(*e); name != eventPhase {
		return false
	}
	data := jsonl.Get(e.Payload, "data")
	if data == nil {
		return false
	}
	e.Kind, e.Payload = repo.KindAnchor, data
	return true
}
