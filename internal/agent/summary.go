package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/repo"
)

// textGoOn comes before the turn's prompt in a context that begins with a summary.
const textGoOn = "The context was too long, and begins anew with a summary of what came before. The request is repeated below; go on with it."

// textDone comes before the calls that the turn has made.
const textDone = "\n\nIn this turn, these calls were made already, with these results. Do not make them again:\n"

// summarize asks a model for a summary of the context so far. The event run, with the usage, is added to the
// drafts. allowed is how many characters the model takes; 0: not known.
func (r *turn) summarize(ctx context.Context, d *drafts, allowed int) (string, error) {
	model := cmp.Or(r.agent.SummaryModel, r.model)
	form, err := r.agent.form(r.model)
	if err != nil {
		return "", err
	}
	messages, err := r.messages(ctx, form)
	if err != nil {
		return "", err
	}
	for _, limit := range summaryLimits(allowed) {
		text, usage, err := r.askSummary(ctx, model, transcriptOf(messages, limit))
		if errors.Is(err, models.ErrContextLength) {
			continue
		}
		if err != nil {
			return "", err
		}
		if text = strings.TrimSpace(text); text == "" {
			return "", errors.New("the model gave no answer")
		}
		used := r.used
		r.used = model
		d.run(statusOK, usage)
		r.used = used
		return text, nil
	}
	return "", models.ErrContextLength
}

// askSummary calls the model, with the hooks around calls.
func (r *turn) askSummary(ctx context.Context, model, transcript string) (text string, usage map[string]any, err error) {
	content, err := encoded(map[string]string{"role": "user", "content": transcript})
	if err != nil {
		return "", nil, err
	}
	call := hooks.ModelCall{RunID: newID("run-"), Model: model, Messages: []json.RawMessage{content}, MaxTokens: r.agent.MaxTokens}
	call, finish, err := r.agent.Runtime.BeforeModelCall(ctx, call, r.state)
	if err != nil {
		return "", nil, err
	}
	if finish != nil {
		return *finish, nil, nil
	}
	began := time.Now()
	var out strings.Builder
	for e, failed := range r.agent.Model.Stream(ctx, models.Request{Model: call.Model, System: summarySystem, Messages: call.Messages, MaxTokens: call.MaxTokens}) {
		if failed != nil {
			err = failed
			break
		}
		switch e.Kind {
		case hooks.EventText:
			out.WriteString(hooks.Envelope(e.Data).Text("delta"))
		case hooks.EventFinal:
			if said := hooks.Envelope(e.Data).Text("text"); said != out.String() { // what came were thoughts in part
				out.Reset()
				out.WriteString(said)
			}
		case hooks.EventUsage:
			usage = e.Data
		}
	}
	result := hooks.ModelResult{Text: out.String(), Usage: usage, Err: err, Duration: time.Since(began)}
	return out.String(), usage, errors.Join(err, ctx.Err(), r.agent.Runtime.AfterModelCall(ctx, call, result, r.state))
}

// doneCalls returns the calls that the turn has made in this phase, with their results.
// The text has at most limit characters.
func (r *turn) doneCalls(ctx context.Context, limit int) (string, error) {
	if limit == 0 {
		return "", nil
	}
	var own []repo.Entry
	for e, err := range r.tape.Entries(ctx, repo.Query{Reverse: true}) {
		if err != nil {
			return "", err
		}
		if e.AnchorSeq < r.promptAt.phase || e.ID <= r.promptAt.id {
			break
		}
		var m meta
		if json.Unmarshal(e.Meta, &m) == nil && m.turn() == r.id {
			own = append(own, e)
		}
	}
	slices.Reverse(own)
	return callsAsText(own, limit), nil
}
