package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tape/hooks"
	"tape/repo"
)

// Name is the name of the built-in plugin.
const Name = "builtin"

// stateModelPlugin names the plugin that runs the turn's model, if it is not the built-in one. stateSteps has
// a function that returns the [steps] of the stream: functions in the state are not sent to plugins that are
// processes.
const (
	stateModelPlugin = "_model_plugin"
	stateSteps       = "_model_steps"
)

// newTurn returns a turn of a session, as if the tape had nothing of it yet.
func (a *agent) newTurn(t *repo.Tape, session string, p hooks.Prompt, s hooks.State) *turn {
	r := &turn{agent: a, tape: t, session: session, state: s, prompt: p, model: a.Name}
	r.id, _ = s[hooks.KeyMessageID].(string)
	r.switched, _ = s[stateChosen].(string)
	return r
}

// beforeModel records the prompt of another plugin's model. If the tape already has the answer, it
// returns that.
func (a *agent) beforeModel(ctx context.Context, plugin string, p hooks.Prompt, session string, s hooks.State) (*string, error) {
	if plugin == Name || p.Empty() {
		return nil, nil
	}
	r, err := a.foreignTurn(ctx, plugin, session, p, s)
	if err != nil {
		return nil, err
	}
	switch {
	case r.past.status == statusOK || r.past.elsewhere:
		delete(s, stateModelPlugin)
		return &r.past.text, nil
	case r.past.prompt == nil:
		err = r.savePrompt(ctx, r.drafts(), false)
	case r.past.open: // the program ended while the plugin's tools ran
		r.step = r.past.step
		err = r.repair(ctx)
	}
	delete(s, stateSteps)
	s[stateModelPlugin] = plugin
	return nil, err
}

// saveState records the answer of another plugin's model, or how it failed.
func (a *agent) saveState(ctx context.Context, session string, s hooks.State, _ hooks.Envelope, output string) error {
	plugin, _ := s[stateModelPlugin].(string)
	if plugin == "" {
		return nil
	}
	r, err := a.foreignTurn(ctx, plugin, session, hooks.Prompt{}, s)
	if err != nil {
		return err
	}
	failed := hooks.ModelError(ctx)
	d := r.drafts()
	var usage map[string]any
	partial := ""
	if get, ok := s[stateSteps].(func() *steps); ok {
		last := get()
		last.close(d)
		output, partial, usage = last.text, last.text, last.usage
	}
	switch {
	case hooks.NoModel(ctx):
		d.failure(kindNoModel, hooks.ErrNoModel.Error())
		d.run(statusError, nil)
	case errors.Is(failed, context.Canceled):
		d.failure(kindCancelled, failed.Error())
		d.partial(partial, false)
		d.run(statusCancelled, usage)
		d.step(statusError, failed.Error())
	case failed != nil:
		d.failure(kindModel, failed.Error())
		d.partial(partial, false)
		d.run(statusError, usage)
		d.step(statusError, failed.Error())
	default:
		if output != "" || r.past.step == 0 {
			d.message("assistant", output, meta{})
		}
		d.run(statusOK, usage)
		d.step(statusOK, "")
	}
	return d.save(ctx)
}

// foreignTurn returns a turn whose model another plugin runs, at its next step, with what the tape already has of it.
func (a *agent) foreignTurn(ctx context.Context, plugin, session string, p hooks.Prompt, s hooks.State) (*turn, error) {
	t, err := a.tape(ctx, session)
	if err != nil {
		return nil, err
	}
	r := a.newTurn(t, session, p, s)
	if r.past, err = lookBack(ctx, t, r.id); err != nil {
		return nil, fmt.Errorf("read what tape %s has of the turn: %w", t.Name(), err)
	}
	r.plugin, r.model, r.step, r.began = plugin, "", r.past.step+1, time.Now()
	r.runID = newID("run-")
	return r, nil
}
