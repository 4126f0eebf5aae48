package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/repo"
	"tape/repo/view"
)

// recordPrompt records what this step adds to the context: the system prompt if it has changed, the
// turn's prompt or the step's, and the messages that came in meanwhile.
func (r *turn) recordPrompt(ctx context.Context) error {
	d := r.drafts()
	system, err := r.agent.Runtime.SystemPrompt(ctx, r.prompt, r.state)
	if err != nil {
		return err
	}
	if r.system = system; system != "" && system != r.past.system {
		d.add("system", map[string]any{"content": system}, meta{})
	}
	switch {
	case r.past.prompt == nil:
		err = r.savePrompt(ctx, d, false)
	case r.end.phase != r.promptAt.phase || r.end.id < r.promptAt.id || r.past.partial:
		// A tool has begun a new phase, in which the model would not see the prompt; or a partial
		// answer follows the prompt.
		err = r.savePrompt(ctx, d, true)
	default:
		if err = r.addStepPrompt(ctx, d); err == nil {
			err = d.save(ctx)
		}
	}
	if err != nil {
		return err
	}
	r.past.system, r.past.partial = system, false
	d = r.drafts()
	steered, err := r.addSteering(ctx, d)
	if err == nil {
		err = d.save(ctx)
	}
	return steered.end(ctx, err)
}

// addStepPrompt adds the prompt of a further step, if a plugin has one.
func (r *turn) addStepPrompt(ctx context.Context, d *drafts) error {
	if r.step == 1 || r.past.prompted >= r.step {
		return nil
	}
	next, err := r.agent.Runtime.ContinuePrompt(ctx, r.prompt, r.tape, r.state)
	if err == nil && next != nil && !next.Empty() {
		d.message("user", promptContent(*next), meta{Step: r.step})
	}
	return err
}

// savePrompt stores drafts and, after them, the turn's prompt: for the first time, or again, in a new
// phase or after a partial answer.
func (r *turn) savePrompt(ctx context.Context, d *drafts, again bool) error {
	if r.past.prompt == nil {
		raw, err := encoded(promptContent(r.prompt))
		if err != nil {
			return err
		}
		r.past.prompt = raw
	}
	d.message("user", r.past.prompt, meta{Again: again})
	err := d.save(ctx)
	r.promptAt = r.end
	return err
}

func promptContent(p hooks.Prompt) any {
	if len(p.Parts) > 0 {
		return p.Parts
	}
	return p.Text
}

// steering has the messages that came in for the running turn.
type steering struct {
	turn  *turn
	inbox hooks.SteeringInbox
	list  []hooks.Envelope
	added bool // the drafts have some of them
}

// addSteering adds the messages that came in for the running turn. Call end when the drafts are saved.
func (r *turn) addSteering(ctx context.Context, d *drafts) (s steering, err error) {
	if s.turn = r; r.forked {
		return s, nil
	}
	if s.inbox, err = r.agent.Runtime.SteeringInbox(ctx); err != nil {
		return s, err
	}
	s.list, err = s.inbox.Drain(ctx, r.session)
	for _, m := range s.list {
		id := m.Text(hooks.KeyMessageID)
		if err != nil || id != "" && r.past.messages[id] {
			continue
		}
		var p hooks.Prompt
		if p, err = r.agent.Runtime.BuildPrompt(ctx, m, r.session, r.state); err == nil && !p.Empty() {
			d.message("user", promptContent(p), meta{MessageID: id, Turn: r.id})
			r.past.messages[id], s.added = true, true
		}
	}
	return s, err
}

// end shows that the turn has read the messages. If err says that they were not saved, it returns them to the inbox
// instead. It returns err.
func (s steering) end(ctx context.Context, err error) error {
	for _, m := range s.list {
		if err == nil {
			s.turn.emit(hooks.Event{Kind: hooks.EventSteering, Data: map[string]any{"message_id": m.Text(hooks.KeyMessageID)}})
			continue
		}
		_ = s.inbox.Put(context.WithoutCancel(ctx), s.turn.session, m) // the turn has failed already
	}
	return err
}

// reply is the model's answer in one step.
type reply struct {
	text     string
	thinking string
	calls    []call
	usage    map[string]any
	kept     *models.Kept // what the server wants back with the calls
	cut      bool         // the answer has reached the limit of the model's output
	limit    int          // that limit in tokens; 0: not known
}

// answer calls the model. If that fails, the reply has the part of the answer that was received.
func (r *turn) answer(ctx context.Context) (*reply, error) {
	client := r.agent.Model
	form, err := client.Form(r.model)
	if err != nil {
		return &reply{}, err
	}
	messages, err := r.messages(ctx, form)
	if err != nil {
		return &reply{}, err
	}
	names := make([]string, len(r.tools))
	for i, t := range r.tools {
		names[i] = t.Name
	}
	request := hooks.ModelCall{RunID: r.runID, Model: r.model, Messages: messages, Tools: names, MaxTokens: r.agent.MaxTokens}
	request, finish, err := r.agent.Runtime.BeforeModelCall(ctx, request, r.state)
	if err != nil {
		return &reply{}, err
	}
	if finish != nil {
		r.say(*finish)
		return &reply{text: *finish}, nil
	}
	if other, err := client.Form(request.Model); err != nil || other != form {
		return &reply{}, errors.Join(err, fmt.Errorf("a plugin has changed the model from %q to %q in before_llm_call, but the new model takes messages of another format: set it in load_state, as %q",
			r.model, request.Model, hooks.StateModel))
	}
	kept, err := r.keptCalls(ctx)
	if err != nil {
		return &reply{}, err
	}
	r.used, r.sent = request.Model, len(r.system)
	for _, m := range request.Messages {
		r.sent += len(m)
	}
	began := time.Now()
	call := models.Request{Model: request.Model, System: r.system, Messages: request.Messages, Tools: r.tools, MaxTokens: request.MaxTokens, Kept: kept}
	if slices.EqualFunc(messages, request.Messages, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) { // no plugin has changed them
		call.Other = func(form view.Format) ([]json.RawMessage, error) { return r.messages(ctx, form) }
	}
	out, err := r.receive(client.Stream(ctx, call))
	if ctx.Err() != nil {
		return out, errors.Join(err, ctx.Err())
	}
	result := hooks.ModelResult{Text: out.text, Usage: out.usage, Err: err, Duration: time.Since(began)}
	for _, c := range out.calls {
		result.ToolCalls = append(result.ToolCalls, hooks.ToolCall{RunID: r.runID, ID: c.ID, Tool: c.Name, Arguments: c.Arguments})
	}
	return out, errors.Join(err, r.agent.Runtime.AfterModelCall(ctx, request, result, r.state))
}

// receive reads the answer, and shows it as it comes.
func (r *turn) receive(stream hooks.Stream) (*reply, error) {
	out := &reply{}
	var text strings.Builder
	defer func() { out.text = text.String() }()
	for e, err := range stream {
		if err != nil {
			return out, err
		}
		switch e.Kind {
		case hooks.EventText:
			delta, _ := e.Data["delta"].(string)
			text.WriteString(delta)
			r.say(delta)
			continue
		case hooks.EventToolCall:
			out.calls = append(out.calls, r.callOf(e, out.calls))
			continue // shown after it was recorded
		case hooks.EventUsage:
			out.usage = e.Data
		case hooks.EventFinal:
			if said, ok := e.Data["text"].(string); ok && said != text.String() { // what was shown were thoughts in part
				r.unsay(text.String(), said)
				text.Reset()
				text.WriteString(said)
			}
			r.endReply(out, e.Data)
			continue // the turn ends with an event of its own
		}
		r.emit(e)
	}
	return out, nil
}

// endReply reads the event at the end of an answer.
func (r *turn) endReply(out *reply, data map[string]any) {
	if model, _ := data["model"].(string); model != "" {
		r.used = model // a fallback's
	}
	out.thinking, _ = data[models.FinalReasoning].(string)
	out.limit, out.cut = data[models.FinalCut].(int)
	if kept, ok := data[models.FinalKept].(models.Kept); ok && len(kept.Calls) == len(out.calls) {
		for i, c := range out.calls {
			kept.Calls[i] = c.ID // it may have been made unique
		}
		out.kept = &kept
	}
}

// keptCalls returns what the servers of the context's answers want back. It is read once in a turn, and again in a new
// context.
func (r *turn) keptCalls(ctx context.Context) ([]models.Kept, error) {
	if r.kept != nil || r.forked {
		return r.kept, nil
	}
	r.kept = []models.Kept{}
	for e, err := range r.tape.Context(ctx) {
		if err != nil {
			return nil, err
		}
		var m meta
		if e.Kind == repo.KindToolCall && bytes.Contains(e.Meta, []byte(`"kept"`)) && json.Unmarshal(e.Meta, &m) == nil && m.Kept != nil {
			if m.turn() != r.id {
				m.Kept.Prefix = ""
			}
			r.kept = append(r.kept, *m.Kept)
		}
	}
	return r.kept, nil
}

// messages returns the messages of the next call: from the last anchor on, or a plugin's choice.
func (r *turn) messages(ctx context.Context, form view.Format) ([]json.RawMessage, error) {
	if r.forked {
		return r.ownMessages(ctx, form)
	}
	build, err := r.agent.Runtime.BuildTapeContext(ctx)
	if err != nil {
		return nil, err
	}
	messages, err := build(ctx, r.tape, string(form))
	if err != nil {
		return nil, fmt.Errorf("build the messages of tape %s: %w", r.tape.Name(), err)
	}
	return messages, nil
}
