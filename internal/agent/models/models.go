// Package models calls models through the official SDKs, over two APIs: OpenAI's chat completions, which many
// programs and providers offer, and Anthropic's messages.
//
// A model is named provider:model. A [Client] returns the answer as a stream of events, and
// distinguishes a context that is too long from other failures. A key is sent to its provider only.
package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/hooks"
	"tape/repo/view"
)

// Request is a call of a model.
type Request struct {
	Model     string            // provider:model; "" is the configured one
	System    string            // the system prompt
	Messages  []json.RawMessage // in the format that [Client.Form] names
	Tools     []hooks.Tool
	MaxTokens int // of the answer; 0: the provider's default, for Anthropic 8192
}

// ErrContextLength says that prompt and answer together are too long for the model.
var ErrContextLength = errors.New("the context is too long for the model")

// ErrNoModel says that no model is configured. It wraps [hooks.ErrNoModel].
var ErrNoModel = fmt.Errorf("%w: name one as PROVIDER:MODEL in TAPE_MODEL or in the setting model", hooks.ErrNoModel)

// Client calls models. Its methods may be called from several goroutines.
type Client struct{ settings Settings }

// New returns a client.
func New(s Settings) *Client { return &Client{s} }

// Form returns the format of messages for a model.
func (c *Client) Form(model string) (view.Format, error) {
	p, _, err := c.settings.find(model)
	if err != nil {
		return "", err
	}
	return p.form, nil
}

// Stream calls a model. It yields text and reasoning as they come, then the complete calls of tools and
// the usage, and at the end an error or an event of kind final, which names the model. If a model fails
// before its first event, the next fallback of the same format is called, unless the context is too long
// ([ErrContextLength]) or ctx has ended.
func (c *Client) Stream(ctx context.Context, r Request) hooks.Stream {
	return func(yield func(hooks.Event, error) bool) {
		candidates, err := c.candidates(r.Model)
		if err != nil {
			yield(hooks.Event{}, err)
			return
		}
		var failures []error
		for i, model := range candidates {
			begun, stopped := false, false
			err := c.ask(ctx, model, r, func(e hooks.Event) bool {
				begun = true
				stopped = !yield(e, nil)
				return !stopped
			})
			if err == nil || stopped {
				return
			}
			failures = append(failures, err)
			if begun || i == len(candidates)-1 || errors.Is(err, ErrContextLength) || ctx.Err() != nil {
				yield(hooks.Event{}, errors.Join(failures...))
				return
			}
		}
	}
}

// candidates returns a model and the fallbacks that take the same format of messages.
func (c *Client) candidates(model string) ([]string, error) {
	p, _, err := c.settings.find(model)
	if err != nil {
		return nil, err
	}
	out := []string{model}
	for _, other := range c.settings.Fallbacks {
		if q, _, err := c.settings.find(other); err == nil && q.form == p.form && !slices.Contains(out, other) {
			out = append(out, other)
		}
	}
	return out, nil
}

// ask calls one model. It returns nil if emit has returned false.
func (c *Client) ask(ctx context.Context, model string, r Request, emit func(hooks.Event) bool) error {
	p, name, err := c.settings.find(model)
	if err != nil {
		return err
	}
	a := &answer{model: model, emit: emit, tools: r.Tools}
	if p.form == view.Anthropic {
		err = p.askAnthropic(ctx, name, r, a)
	} else {
		err = p.askOpenAI(ctx, name, r, a)
	}
	switch {
	case errors.Is(err, errStopped):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return p.explain(model, err)
	}
	return a.finish()
}

// errStopped says that the caller has stopped reading.
var errStopped = errors.New("the caller has stopped reading the answer")

// answer collects an answer from the pieces that the APIs send.
type answer struct {
	model string                 // provider:model
	emit  func(hooks.Event) bool // returns false when the caller has stopped reading
	tools []hooks.Tool
	text  strings.Builder
	calls []*toolCall
	usage map[string]any
}

type toolCall struct{ id, name, arguments string }

// maxAnswer is the longest text of an answer, and the longest arguments of a call, in bytes: a server may never end
// them.
const maxAnswer = 16 << 20

func (a *answer) send(kind string, data map[string]any) error {
	if !a.emit(hooks.Event{Kind: kind, Data: data}) {
		return errStopped
	}
	return nil
}

func (a *answer) addDelta(kind, delta string) error {
	if delta == "" {
		return nil
	}
	if kind == hooks.EventText {
		a.text.WriteString(delta)
	}
	if a.text.Len() > maxAnswer {
		return fmt.Errorf("the answer is longer than %d MiB", maxAnswer>>20)
	}
	return a.send(kind, map[string]any{"delta": delta})
}

// toolCall returns call i of the answer, counted from 0, and adds it if it is new.
func (a *answer) toolCall(i int) (*toolCall, error) {
	const maxCalls = 1000
	if i < 0 || i >= maxCalls {
		return nil, fmt.Errorf("the answer has a call with the number %d, outside 0 to %d", i, maxCalls-1)
	}
	for len(a.calls) <= i {
		a.calls = append(a.calls, &toolCall{})
	}
	return a.calls[i], nil
}

func (t *toolCall) addArguments(arguments string) error {
	if t.arguments += arguments; len(t.arguments) > maxAnswer {
		return fmt.Errorf("a call of %s has more than %d MiB of arguments", t.name, maxAnswer>>20)
	}
	return nil
}

// finish sends the calls, the usage and the final event. If the caller stops reading, it returns nil.
func (a *answer) finish() error {
	for _, t := range a.calls {
		if t.name == "" {
			continue
		}
		err := a.send(hooks.EventToolCall, map[string]any{"id": t.id, "name": a.ownName(t.name), "arguments": t.arguments})
		if err != nil {
			return nil
		}
	}
	if a.usage != nil && a.send(hooks.EventUsage, a.usage) != nil {
		return nil
	}
	_ = a.send(hooks.EventFinal, map[string]any{"text": a.text.String(), "ok": true, "model": a.model}) // nothing follows
	return nil
}

// ownName returns the own name of the tool that the model knows by [view.ToolName].
func (a *answer) ownName(name string) string {
	for _, t := range a.tools {
		if view.ToolName(t.Name) == name {
			return t.Name
		}
	}
	return name
}

// schema returns the schema of a tool's arguments, by default any object.
func schema(t hooks.Tool) json.RawMessage {
	if len(t.Schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}
