package hooks

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// guardError returns the error with which a required plugin denies a call. A plugin that is not
// required is skipped: its failure is reported, and the result is nil.
func (r *Runtime) guardError(ctx context.Context, p *Plugin, hook string, err error) error {
	if failed := (*hookError)(nil); errors.As(err, &failed) {
		err = failed.err
	}
	// The cause is not wrapped: a plugin's context.Canceled, say, does not mean that the turn was
	// cancelled.
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && p.Required:
		return errors.New("the turn was cancelled")
	case ctx.Err() != nil:
		return nil
	case p.Required:
		return fmt.Errorf("the required plugin %q failed: %s", p.Name, err.Error())
	}
	r.reportFailure(ctx, p, hook, fmt.Errorf("plugin %q failed and is skipped: %s", p.Name, err.Error()))
	return nil
}

// reportFailure tells observers that a hook around a call failed: once in the runtime's life for a
// plugin that is skipped, once in each turn for one that denies calls.
func (r *Runtime) reportFailure(ctx context.Context, p *Plugin, hook string, err error) {
	if ctx.Err() != nil {
		return // whoever cancelled the turn knows
	}
	turn, within := ctx.Value(turnKey{}).(*currentTurn)
	reported, key := &r.reported, hookKey{hook, p.Name}
	if p.Required && within {
		reported, key.hook = &turn.reported, "" // a guard that is off fails in each of its hooks
	}
	if !reported.add(key) {
		r.log.Debug("a hook failed again", "hook", hook, "error", err)
		return
	}
	r.log.Warn("a hook failed", "hook", hook, "error", err)
	if within {
		r.NotifyError(ctx, hook, err, turn.message)
	}
}

// reportUnanswered tells observers, once in each turn, that a call was refused because nobody could be asked.
func (r *Runtime) reportUnanswered(ctx context.Context, err error) {
	turn, within := ctx.Value(turnKey{}).(*currentTurn)
	if within && turn.reported.add(hookKey{StageApproval, err.Error()}) {
		r.NotifyError(ctx, StageApproval, err, turn.message)
	}
}

// turnKey is the key of the context's currentTurn.
type turnKey struct{}

// currentTurn is the turn to which hooks around calls report their failures.
type currentTurn struct {
	message  Envelope
	reported hookSet
}

// hookSet is a set of plugins' hooks, safe for several goroutines.
type hookSet struct {
	mu   sync.Mutex
	keys map[hookKey]bool
}

// add adds a key, and reports whether it is new.
func (s *hookSet) add(key hookKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys[key] {
		return false
	}
	if s.keys == nil {
		s.keys = map[hookKey]bool{}
	}
	s.keys[key] = true
	return true
}

// NotifyError tells observers of an error in a stage ([StageTurn], [StageModel], [StageApproval], a hook's name,
// or the caller's own), even if ctx has ended. m may be nil.
func (r *Runtime) NotifyError(ctx context.Context, stage string, err error, m Envelope) {
	ctx = context.WithoutCancel(ctx)
	for _, p := range r.implementing("on_error") {
		_, failed := ask(ctx, r, p, "on_error", func(p *Plugin) (any, error) { return nil, p.OnError(ctx, stage, err, m) })
		if failed != nil {
			r.log.Warn("an observer failed and is skipped", "error", failed)
		}
	}
}

// PartialError is an error after which the beginning of an answer is left.
type PartialError struct {
	Said string
	Err  error
}

func (e *PartialError) Error() string { return e.Err.Error() }

func (e *PartialError) Unwrap() error { return e.Err }

// ErrorMessages is the observer that sends an error, as a message of [KindError], to the chat that
// the turn came from. It sends nothing for a cancelled turn: the person who cancelled it knows.
func ErrorMessages(r *Runtime) *Plugin {
	return &Plugin{Name: "error-messages", OnError: func(ctx context.Context, stage string, err error, m Envelope) error {
		if m == nil || errors.Is(err, context.Canceled) {
			return nil
		}
		prefix := stage + ": "
		for hook := (*hookError)(nil); errors.Is(err, ErrNoModel) && errors.As(err, &hook); {
			err, prefix = hook.err, "" // nothing has failed, so it does not matter which hook said so
		}
		if stage == StageTurn || stage == StageApproval {
			prefix = ""
		}
		out := reply(m, "Error: "+prefix+err.Error(), KindError)
		out[KeyStage] = stage
		if errors.Is(err, ErrNoModel) {
			out[KeyNoModel] = true
		}
		if p, ok := errors.AsType[*PartialError](err); ok && stage == StageTurn {
			out[KeyPartial] = p.Said
		}
		if _, err := r.Dispatch(ctx, out); err != nil {
			return fmt.Errorf("send an error message: %w", err)
		}
		return nil
	}}
}
