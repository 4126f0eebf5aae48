// Package models calls models over three APIs: chat completions, which most programs and providers offer, OpenAI's
// responses, and Anthropic's messages.
//
// A model is named provider:model. A [Client] returns the answer as a stream of events, and
// distinguishes a context that is too long from other failures. A key is sent to its provider only.
//
// Servers differ in what they accept and in how they answer. What they send is read leniently (answer.go,
// pieces.go); a request that one refuses is made again without what it has refused (habits.go).
package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tape/hooks"
	"tape/repo/view"
)

// Request is a call of a model.
type Request struct {
	Model     string            // provider:model; "" is the configured one
	System    string            // the system prompt
	Messages  []json.RawMessage // in the format that [Client.Form] names
	Tools     []hooks.Tool
	MaxTokens int    // of the answer; 0: the setting, else what the model can give or the server's default
	Kept      []Kept // of the answers among Messages, in their order

	// Other returns the messages in another format, for a fallback that takes no other; nil: only those of the same
	// format are called.
	Other func(form view.Format) ([]json.RawMessage, error)
}

// Kept is what a server wants back together with the calls of one of its answers: reasoning and signatures. It is sent
// to the model that it came from, and to no other.
type Kept struct {
	By    string   `json:"by"`    // the model and its server
	Calls []string `json:"calls"` // the ids of the answer's calls, as the messages have them

	// Prefix is before the text in a chat completion: thoughts in tags, which are wanted within the turn.
	Prefix  string                     `json:"prefix,omitempty"`
	Message map[string]json.RawMessage `json:"message,omitempty"` // chat completions: members of the message
	Call    []json.RawMessage          `json:"call,omitempty"`    // chat completions: members of each call, an object or null
	Before  []json.RawMessage          `json:"before,omitempty"`  // blocks (messages) or items (responses) before the calls
	// Order is the answer's order, if those in Before do not simply come first: t is one of them, x a text, c a call.
	Order string `json:"order,omitempty"`
	Texts []int  `json:"texts,omitempty"` // with Order: where in the answer's text each text begins, in bytes
	// Phases say of each text of a response whether it is a commentary: a model that does not see it again may take
	// that for its answer, and stop (openai/codex#19832).
	Phases []string `json:"phases,omitempty"`
}

// ErrContextLength says that prompt and answer together are too long for the model.
var ErrContextLength = errors.New("the context is too long for the model")

// ErrCut says that the model has used all tokens that it may give, before it has said or called anything.
var ErrCut = errors.New("the answer was cut")

// ErrNoModel says that no model is configured. It wraps [hooks.ErrNoModel].
var ErrNoModel = fmt.Errorf("%w: name one as PROVIDER:MODEL in TAPE_MODEL or in the setting model", hooks.ErrNoModel)

// Client calls models. Its methods may be called from several goroutines.
type Client struct {
	settings Settings
	mu       sync.Mutex
	habits   map[string]habits // of each model of a server, by [provider.id]; nil: not read yet
}

// New returns a client.
func New(s Settings) *Client { return &Client{settings: s} }

// Form returns the format of messages for a model.
func (c *Client) Form(model string) (view.Format, error) {
	p, _, err := c.settings.find(model)
	if err != nil {
		return "", err
	}
	return p.form(), nil
}

// The members of the final event's data, besides those of [hooks.EventFinal] and the model.
const (
	FinalCut       = "cut"       // int: the answer was cut at this many tokens of output; 0: nobody knows how many
	FinalReasoning = "reasoning" // string: what the model has thought
	FinalKept      = "kept"      // Kept
	CallCut        = "cut"       // true on an event tool_call whose arguments were cut
)

// Stream calls a model. It yields text and reasoning as they come, then the complete calls of tools and
// the usage, and at the end an error or an event of kind final, which names the model. Notices say what is
// waited for, and what was left out of the request. If a model fails before its first word, the next fallback is
// called, unless the context is too long ([ErrContextLength]) or ctx has ended.
func (c *Client) Stream(ctx context.Context, r Request) hooks.Stream {
	return func(yield func(hooks.Event, error) bool) {
		candidates, err := c.candidates(r)
		if err != nil {
			yield(hooks.Event{}, err)
			return
		}
		var failures []error
		for i, model := range candidates {
			begun, stopped := false, false
			err := c.askIn(ctx, model, r, func(e hooks.Event) bool {
				begun = begun || e.Kind == hooks.EventText
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

// candidates returns a request's model, and the fallbacks that can be asked the same.
func (c *Client) candidates(r Request) ([]string, error) {
	p, _, err := c.settings.find(r.Model)
	if err != nil {
		return nil, err
	}
	out := []string{r.Model}
	for _, other := range c.settings.Fallbacks {
		if q, _, err := c.settings.find(other); err == nil && (q.form() == p.form() || r.Other != nil) && !slices.Contains(out, other) {
			out = append(out, other)
		}
	}
	return out, nil
}

// askIn calls a model with the messages in its format.
func (c *Client) askIn(ctx context.Context, model string, r Request, emit func(hooks.Event) bool) error {
	p, _, err := c.settings.find(r.Model)
	if err != nil {
		return err
	}
	if q, _, err := c.settings.find(model); err == nil && q.form() != p.form() {
		if r.Messages, err = r.Other(q.form()); err != nil {
			return err
		}
	}
	return c.ask(ctx, model, r, emit)
}

// ask calls one model, again after failures that may pass, and again without what its server refuses. It returns nil if
// emit has returned false.
func (c *Client) ask(ctx context.Context, model string, r Request, emit func(hooks.Event) bool) error {
	p, name, err := c.settings.find(model)
	if err != nil {
		return err
	}
	tries := 1
	for {
		a := &answer{model: model, emit: emit, tools: r.Tools}
		h := c.habitsOf(p, name)
		q := p.request(name, r, h)
		if a.limit = q.limit; h.gave(thinksFirst) {
			a.think = tagsAssumed()
		}
		failed := p.call(ctx, q, a)
		switch {
		case errors.Is(failed, errStopped):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case failed == nil:
			if a.late || a.plain {
				if err := c.remember(p, name, h.thinkingFirst(a.late)); err != nil {
					c.settings.log().Warn("how a server answers is not kept", "error", err)
				}
			}
			return a.finish(p.id(name))
		}
		f := failureOf(failed)
		if a.begun {
			return p.explain(model, f, 1)
		}
		if change, ok := h.without(f, q); ok {
			if err := c.remember(p, name, change); err != nil {
				c.settings.log().Warn("what a server refuses is not kept", "error", err)
			}
			c.settings.log().Info("a server refuses a request, which is made again", "model", model, "without", change.what, "error", shorten(f.text))
			if change.notice != "" {
				e := notice(model + ": " + change.notice)
				e.Data["tell"] = true
				if !emit(e) {
					return nil
				}
			}
			continue
		}
		wait, again := f.again(tries)
		if !again {
			return p.explain(model, f, tries)
		}
		if wait >= worthSaying && !emit(notice(fmt.Sprintf("%s: %s; trying again in %s", model, shorten(p.hide(f.text)), spoken(wait)))) {
			return nil
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		tries++
	}
}

// worthSaying is the shortest time of waiting that a person is told.
const worthSaying = time.Second

func notice(text string) hooks.Event {
	return hooks.Event{Kind: hooks.EventNotice, Data: map[string]any{"text": text}}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
