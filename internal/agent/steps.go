package agent

import (
	"context"
	"slices"
	"time"

	"tape/hooks"
	"tape/repo"
)

// steps records the steps in the stream of a plugin's model: the texts before calls of tools, the calls,
// their results, and the usage. The last step, without calls, is left to [agent.saveState].
type steps struct {
	r       *turn
	text    string // of the step, not recorded yet
	usage   map[string]any
	calls   []call // not recorded yet
	waiting []call // without a result
	results bool   // the step has a result
}

// recordStream returns the stream of a plugin's model. Its steps are recorded as the stream is read.
func (a *agent) recordStream(ctx context.Context, plugin, session string, s hooks.State, events hooks.Stream) hooks.Stream {
	if s[stateModelPlugin] != plugin {
		return events // of the built-in model, which records its steps itself
	}
	return func(yield func(hooks.Event, error) bool) {
		r, err := a.foreignTurn(ctx, plugin, session, hooks.Prompt{}, s)
		if err != nil {
			yield(hooks.Event{}, err)
			return
		}
		w := &steps{r: r}
		s[stateSteps] = func() *steps { return w }
		for e, err := range events {
			if err == nil {
				err = w.event(ctx, e)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// event records what an event says. The calls of a step are recorded together, with the first result or at
// the end of the stream.
func (w *steps) event(ctx context.Context, e hooks.Event) error {
	data := hooks.Envelope(e.Data)
	switch e.Kind {
	case hooks.EventText:
		if delta := data.Text("delta"); delta != "" {
			if err := w.next(ctx); err != nil {
				return err
			}
			w.text += delta
		}
	case hooks.EventToolCall:
		if err := w.next(ctx); err != nil {
			return err
		}
		w.calls = append(w.calls, w.r.callOf(e, slices.Concat(w.waiting, w.calls)))
	case hooks.EventToolResult:
		return w.result(ctx, data)
	case hooks.EventUsage:
		w.usage = e.Data
	}
	return nil
}

// next begins another step if the current one has calls, and all of them have their results.
func (w *steps) next(ctx context.Context) error {
	if !w.results || len(w.waiting)+len(w.calls) > 0 {
		return nil
	}
	d := w.r.drafts()
	d.run(statusOK, w.usage)
	d.step(statusContinue, "")
	w.usage, w.results = nil, false
	w.r.step++
	w.r.began, w.r.runID = time.Now(), newID("run-")
	return d.save(ctx)
}

// addCalls adds the step's text and the calls that are not recorded yet.
func (w *steps) addCalls(d *drafts) {
	if len(w.calls) == 0 {
		return
	}
	if w.text != "" {
		d.message("assistant", w.text, meta{})
	}
	d.calls(w.calls, nil)
	w.waiting, w.calls, w.text = append(w.waiting, w.calls...), nil, ""
}

// result records a result. Without an id, it belongs to the first call that waits. The result of an unknown
// call is not recorded.
func (w *steps) result(ctx context.Context, data hooks.Envelope) error {
	d := w.r.drafts()
	w.addCalls(d)
	at := slices.IndexFunc(w.waiting, func(c call) bool { return c.ID == data.Text("id") || data.Text("id") == "" })
	if at < 0 {
		return d.save(ctx)
	}
	c := w.waiting[at]
	w.waiting, w.results = slices.Delete(w.waiting, at, at+1), true
	failed, _ := data["error"].(bool)
	w.r.addOutcome(ctx, d, c.ID, c.Name, data.Text("content"), failed)
	return d.save(ctx)
}

// close adds the calls that are not recorded yet. A call without a result gets one that says that it was
// interrupted.
func (w *steps) close(d *drafts) {
	w.addCalls(d)
	for _, c := range w.waiting {
		d.add(repo.KindToolResult, map[string]any{"results": []any{textInterrupted}}, meta{CallIDs: []string{c.ID}, IsError: []string{c.ID}})
	}
	w.waiting = nil
}
