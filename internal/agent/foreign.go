package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tape/hooks"
	"tape/repo"
)

// pluginName is the name of the built-in plugin.
const pluginName = "builtin"

// stateModelPlugin names the plugin that runs the turn's model, if it is not the built-in one.
const stateModelPlugin = "_model_plugin"

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
	if plugin == pluginName || p.Empty() {
		return nil, nil
	}
	r, err := a.foreign(ctx, session, p, s)
	if err != nil {
		return nil, err
	}
	switch {
	case r.past.status == statusOK || r.past.elsewhere:
		delete(s, stateModelPlugin)
		return &r.past.text, nil
	case r.past.prompt == nil:
		err = r.savePrompt(ctx, r.drafts(), false)
	}
	s[stateModelPlugin] = plugin
	return nil, err
}

// saveState records the answer of another plugin's model, or how it failed.
func (a *agent) saveState(ctx context.Context, session string, s hooks.State, _ hooks.Envelope, output string) error {
	plugin, _ := s[stateModelPlugin].(string)
	if plugin == "" {
		return nil
	}
	r, err := a.foreign(ctx, session, hooks.Prompt{}, s)
	if err != nil {
		return err
	}
	r.plugin, r.model, r.step, r.began = plugin, "", r.past.step+1, time.Now()
	failed := hooks.ModelError(ctx)
	d := r.drafts()
	switch {
	case hooks.NoModel(ctx):
		d.failure(kindNoModel, hooks.ErrNoModel.Error())
		d.run(statusError, nil)
	case errors.Is(failed, context.Canceled):
		d.failure(kindCancelled, failed.Error())
		d.run(statusCancelled, nil)
		d.step(statusError, failed.Error())
	case failed != nil:
		d.failure(kindModel, failed.Error())
		d.run(statusError, nil)
		d.step(statusError, failed.Error())
	default:
		d.message("assistant", output, meta{})
		d.run(statusOK, nil)
		d.step(statusOK, "")
	}
	return d.save(ctx)
}

// foreign returns a turn whose model another plugin runs, with what the tape already has of it.
func (a *agent) foreign(ctx context.Context, session string, p hooks.Prompt, s hooks.State) (*turn, error) {
	t, err := a.tape(ctx, session)
	if err != nil {
		return nil, err
	}
	r := a.newTurn(t, session, p, s)
	if r.past, err = lookBack(ctx, t, r.id); err != nil {
		return nil, fmt.Errorf("read what tape %s has of the turn: %w", t.Name(), err)
	}
	r.runID = newID("run-")
	return r, nil
}
