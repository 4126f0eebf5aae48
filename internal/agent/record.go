package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"tape/internal/agent/models"
	"tape/repo"
)

// The names of a turn's events.
const (
	eventRun         = "run"
	eventStep        = "loop.step"
	eventCommand     = "command"
	eventModelSwitch = "model_switch"
	eventThinking    = "thinking" // as imports have it
	eventPhase       = "phase"    // a subagent's anchor, which does not end the session's phase
)

// The states of a step, of a run, and of a command.
const (
	statusOK          = "ok"
	statusContinue    = "continue"
	statusError       = "error"
	statusAutoHandoff = "auto_handoff"
	statusCancelled   = "cancelled"
	statusInterrupted = "interrupted"
	statusStarted     = "started"
)

// meta is the meta of a turn's entries.
type meta struct {
	RunID     string   `json:"run_id,omitempty"`
	MessageID string   `json:"message_id,omitempty"` // of the message; on other entries, of the turn's message
	Turn      string   `json:"turn,omitempty"`       // on a message that came in during a turn: that turn's message_id
	Step      int      `json:"step,omitempty"`       // on the prompt of a further step
	Again     bool     `json:"again,omitempty"`      // the turn's prompt, repeated in a new phase
	Partial   bool     `json:"partial,omitempty"`    // an answer that was cut off
	CallIDs   []string `json:"call_ids,omitempty"`
	IsError   []string `json:"is_error,omitempty"`
	Search    bool     `json:"search,omitempty"`  // later searches leave it out
	Context   *bool    `json:"context,omitempty"` // false: not for the session's model

	Kept *models.Kept `json:"kept,omitempty"` // on calls: what goes back to the server that they came from
}

// turn returns the message_id of the entry's turn.
func (m meta) turn() string {
	if m.Turn != "" {
		return m.Turn
	}
	return m.MessageID
}

// entry makes a draft with the turn's meta.
func (r *turn) entry(kind string, payload any, m meta) (repo.Draft, error) {
	if m.MessageID == "" {
		m.MessageID = r.id
	}
	if m.RunID == "" {
		m.RunID = r.runID
	}
	if r.forked {
		m.Context = new(bool)
	}
	d := repo.Draft{Kind: kind}
	var err error
	if d.Payload, err = encoded(payload); err != nil {
		return d, fmt.Errorf("record a %s: %w", kind, err)
	}
	if r.agent.masked != nil {
		d.Payload, _ = r.agent.masked.Mask(d.Payload)
	}
	d.Meta, err = encoded(m)
	if r.agent.masked != nil && m.Kept != nil {
		d.Meta, _ = r.agent.masked.Mask(d.Meta)
	}
	return d, err
}

// encoded returns JSON without HTML escapes.
func encoded(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(out.Bytes()), err
}

// drafts collects entries for one transaction.
type drafts struct {
	r      *turn
	anchor *repo.Anchor // goes before list[at]
	at     int
	list   []repo.Draft
	err    error
}

func (r *turn) drafts() *drafts { return &drafts{r: r} }

func (d *drafts) add(kind string, payload any, m meta) {
	draft, err := d.r.entry(kind, payload, m)
	d.list = append(d.list, draft)
	if d.err == nil {
		d.err = err
	}
}

func (d *drafts) message(role string, content any, m meta) {
	d.add(repo.KindMessage, struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	}{role, content}, m)
}

// partial adds an answer that was cut off. If the model will answer again, the partial answer is not in the
// context.
func (d *drafts) partial(text string, again bool) {
	m := meta{Partial: true}
	if again {
		m.Context = new(bool)
	}
	if text != "" {
		d.message("assistant", text, m)
	}
}

func (d *drafts) event(name string, data map[string]any) {
	d.add(repo.KindEvent, struct {
		Name string         `json:"name"`
		Data map[string]any `json:"data"`
	}{name, data}, meta{})
}

// thinking adds what the model has thought.
func (d *drafts) thinking(text string) {
	if strings.TrimSpace(text) != "" {
		d.event(eventThinking, map[string]any{"thinking": text})
	}
}

func (d *drafts) failure(kind, message string) {
	d.add(repo.KindError, map[string]any{"kind": kind, "message": message}, meta{})
}

// run adds the event of a model call.
func (d *drafts) run(status string, usage map[string]any) {
	data := map[string]any{"status": status}
	if model := cmp.Or(d.r.used, d.r.model); model != "" {
		data["model"] = model
	}
	if d.r.plugin != "" {
		data["plugin"] = d.r.plugin
	}
	if d.r.switched != "" {
		data["model_switch"] = d.r.switched
	}
	if cost, ok := usage["cost"]; ok { // where imports have it
		data["cost"] = cost
		usage = maps.Clone(usage)
		delete(usage, "cost")
	}
	if len(usage) > 0 {
		data["usage"] = usage
	}
	d.event(eventRun, data)
}

// step adds the event that ends a step.
func (d *drafts) step(status, problem string) {
	data := map[string]any{"step": d.r.step, "status": status, "elapsed_ms": time.Since(d.r.began).Milliseconds()}
	if problem != "" {
		data["error"] = problem
	}
	d.event(eventStep, data)
}

// save stores the drafts in one transaction, even if the turn was cancelled: what has happened is
// recorded.
func (d *drafts) save(ctx context.Context) error {
	if d.err != nil || len(d.list) == 0 && d.anchor == nil {
		return d.err
	}
	ctx = context.WithoutCancel(ctx)
	var entries []repo.Entry
	var err error
	if d.anchor != nil {
		_, err = d.r.tape.Update(ctx, func(tx *repo.Tx) error {
			before, err := appendAll(ctx, tx, d.list[:d.at])
			if err == nil {
				_, err = tx.Handoff(ctx, *d.anchor)
			}
			if err == nil {
				entries, err = appendAll(ctx, tx, d.list[d.at:])
			}
			entries = append(before, entries...)
			return err
		})
	} else {
		entries, err = d.r.tape.Append(ctx, nil, d.list...)
	}
	if err != nil {
		return fmt.Errorf("record the turn on %s: %w", d.r.tape.Name(), err)
	}
	if len(entries) > 0 {
		d.r.end = placeOf(entries[len(entries)-1])
	}
	return nil
}

func appendAll(ctx context.Context, tx *repo.Tx, list []repo.Draft) (out []repo.Entry, err error) {
	for _, draft := range list {
		e, err := tx.AppendEntry(ctx, draft)
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}
