package hooks

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// failed gives the error of a required plugin that failed around a call; nil where p is skipped,
// which is told.
func (r *Runtime) failed(ctx context.Context, p *Plugin, hook string, err error) error {
	if of := (*hookError)(nil); errors.As(err, &of) {
		err = of.err
	}
	// The cause is text only: what the plugin ran into says nothing of the turn.
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && p.Required:
		return errors.New("the turn was cancelled")
	case ctx.Err() != nil: // it was told to stop
		return nil
	case p.Required:
		return fmt.Errorf("the required plugin %q failed: %s", p.Name, err.Error())
	}
	r.tell(ctx, p, hook, fmt.Errorf("plugin %q failed and is skipped: %s", p.Name, err.Error()))
	return nil
}

// tell lets observers, and so who waits for the turn, know of a failure around a call: of one
// that is skipped once in the runtime's life, of one that denies calls once in each turn.
func (r *Runtime) tell(ctx context.Context, p *Plugin, hook string, err error) {
	if ctx.Err() != nil {
		return // who cancelled it knows
	}
	turn, within := ctx.Value(messageKey{}).(*currentTurn)
	told := &r.told
	if p.Required && within {
		told = &turn.told
	}
	if !told.first(figureKey{hook, p.Name}) {
		r.log.Debug("a hook failed again", "hook", hook, "error", err)
		return
	}
	r.log.Warn("a hook failed", "hook", hook, "error", err)
	if within {
		r.NotifyError(ctx, hook, err, turn.message)
	}
}

// messageKey is the key of the context's currentTurn.
type messageKey struct{}

// currentTurn is what the hooks around calls need to know of the turn within which they are asked.
type currentTurn struct {
	message Envelope
	told    onceOnly
}

// onceOnly remembers what was told.
type onceOnly struct {
	mu   sync.Mutex
	seen map[figureKey]bool
}

func (o *onceOnly) first(key figureKey) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := o.seen[key]
	if o.seen == nil {
		o.seen = map[figureKey]bool{}
	}
	o.seen[key] = true
	return !seen
}

// NotifyError tells observers of an error in a stage ([StageTurn], [StageModel], a hook's name,
// or the caller's own), also if ctx has ended. m may be nil.
func (r *Runtime) NotifyError(ctx context.Context, stage string, err error, m Envelope) {
	ctx = context.WithoutCancel(ctx)
	for _, p := range r.implementing("on_error") {
		_, failed := call(ctx, r, p, "on_error", func(p *Plugin) (any, error) { p.OnError(ctx, stage, err, m); return nil, nil })
		if failed != nil {
			r.log.Warn("an observer failed and is skipped", "error", failed)
		}
	}
}

// ErrorMessages is the observer that sends a message of [KindError] to where a turn came from.
// It sends none for a cancelled turn: the person who cancelled it knows.
func ErrorMessages(r *Runtime) *Plugin {
	return &Plugin{Name: "error-messages", OnError: func(ctx context.Context, stage string, err error, m Envelope) {
		if m == nil || errors.Is(err, context.Canceled) {
			return
		}
		prefix := stage + ": "
		for hook := (*hookError)(nil); errors.Is(err, ErrNoModel) && errors.As(err, &hook); {
			err, prefix = hook.err, "" // where it came from is of no use: nothing has failed
		}
		if stage == StageTurn {
			prefix = ""
		}
		out := reply(m, "Error: "+prefix+err.Error(), KindError)
		out[KeyStage] = stage
		if errors.Is(err, ErrNoModel) {
			out[KeyNoModel] = true
		}
		if _, err := r.Dispatch(ctx, out); err != nil {
			r.log.Error("the message about an error was not sent", "error", err)
		}
	}}
}
