package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/repo"
)

// The kinds of errors that a turn records.
const (
	kindCancelled = "cancelled"
	kindContext   = "context_length_exceeded"
	kindModel     = "model_error"
	kindTurn      = "turn_error"
	kindCut       = "cut"
	kindSteps     = "max_steps"
	kindNoModel   = "no_model"
)

// autoHandoff is the anchor's name when a context was too long.
const autoHandoff = "auto_handoff/context_overflow"

// turn is one turn of a session, or of a subagent.
type turn struct {
	agent   *agent
	tape    *repo.Tape
	forked  bool   // the tape is a subagent's fork
	session string // for a subagent, its parent's
	id      string // the message_id
	state   hooks.State
	prompt  hooks.Prompt
	tools   []hooks.Tool

	system   string
	model    string // provider:model; "" is the client's default
	used     string // the model of the last call; a plugin or a fallback may have changed it
	switched string // the model that the session has chosen
	plugin   string // the plugin that runs the model; "" is the built-in one
	past     *past

	runID    string // of the current call of the model
	step     int
	began    time.Time // of the step, or of the command
	promptAt place
	end      place         // of the last stored entry
	kept     []models.Kept // of the answers in the context; nil: not read yet
	cuts     int           // how many of the last answers were cut
	sent     int           // bytes of the last request's messages and system prompt

	work func(ctx context.Context) error // the loop, or a command

	problems []string          // with the tools, to be shown at the beginning
	emit     func(hooks.Event) // shows an event; does nothing once the reader has left
	failed   bool              // the command has failed
	text     strings.Builder   // all text that was shown
	last     string            // the run_id of the last piece of text
}

// place is the position of an entry.
type place struct {
	phase int
	id    int64
}

func placeOf(e repo.Entry) place { return place{e.AnchorSeq, e.ID} }

// stream runs the turn, until it ends or the reader leaves.
func (r *turn) stream(ctx context.Context) hooks.Stream {
	return func(yield func(hooks.Event, error) bool) {
		ctx, stop := context.WithCancel(context.WithValue(ctx, turnKey{}, r))
		defer stop()
		left := false
		r.emit = func(e hooks.Event) {
			if !left && !yield(e, nil) {
				left = true
				stop()
			}
		}
		for _, text := range r.problems {
			r.emit(hooks.Event{Kind: hooks.EventNotice, Data: map[string]any{"text": text}})
		}
		err := r.work(ctx)
		switch {
		case left:
		case err != nil:
			yield(hooks.Event{}, err)
		default:
			r.emit(final(r.text.String(), !r.failed))
		}
	}
}

func final(text string, ok bool) hooks.Event {
	return hooks.Event{Kind: hooks.EventFinal, Data: map[string]any{"text": text, "ok": ok}}
}

// say shows text of the assistant. A blank line separates the texts of two steps.
func (r *turn) say(text string) {
	if text != "" {
		if r.last != r.runID {
			text, r.last = hooks.Between(r.text.String(), text)+text, r.runID
		}
		r.text.WriteString(text)
		r.emit(hooks.Text(text))
	}
}

// unsay replaces what was said last.
func (r *turn) unsay(said, other string) {
	e := hooks.Event{Kind: hooks.EventText, Data: map[string]any{"delta": other, "instead": said}}
	hooks.AddText(&r.text, e)
	r.emit(e)
}

// run is the loop.
func (r *turn) run(ctx context.Context) error {
	if done, err := r.resume(ctx); done || err != nil {
		return err
	}
	for r.step = r.past.step + 1; ; r.step++ {
		r.began, r.runID = time.Now(), newID("run-")
		more, err := r.oneStep(ctx)
		if err != nil || !more {
			return err
		}
	}
}

// oneStep calls the model once and runs the tools that it calls. more says whether the turn goes on.
func (r *turn) oneStep(ctx context.Context) (more bool, err error) {
	if err := r.recordPrompt(ctx); err != nil {
		return false, r.fail(ctx, kindTurn, err, nil)
	}
	reply, err := r.answer(ctx)
	if err == nil {
		r.past.tight = 0
	}
	switch {
	case err == nil && len(reply.calls) == 0 && reply.cut:
		return false, r.fail(ctx, kindCut, cutAnswer(reply.limit), reply)
	case err == nil && len(reply.calls) == 0:
		return r.endWithAnswer(ctx, reply)
	case err == nil:
		return r.callTools(ctx, reply)
	case ctx.Err() != nil:
		return false, r.fail(ctx, kindCancelled, ctx.Err(), reply)
	case !errors.Is(err, models.ErrContextLength):
		return false, r.fail(ctx, kindModel, err, reply)
	case r.past.handoffs >= r.agent.AutoHandoffs:
		return false, r.fail(ctx, kindContext, r.stillTooLong(err), nil)
	}
	return true, r.handOffOverflow(ctx, err)
}

// cutAnswer is the error of an answer that the model could not end.
func cutAnswer(limit int) error {
	of := ""
	if limit > 0 {
		of = fmt.Sprintf(" of %d tokens", limit)
	}
	return fmt.Errorf("%w: it has reached the limit%s of the model's output; send \"go on\", or raise the setting max_tokens", models.ErrCut, of)
}

// endWithAnswer records an answer without calls. The turn goes on only if messages came in meanwhile.
func (r *turn) endWithAnswer(ctx context.Context, reply *reply) (more bool, err error) {
	after := r.drafts()
	steered, err := r.addSteering(ctx, after)
	if err != nil {
		return false, steered.end(ctx, r.fail(ctx, kindTurn, err, reply))
	}
	d := r.drafts()
	d.thinking(reply.thinking)
	d.message("assistant", reply.text, meta{})
	err = r.endStep(ctx, d, steered.added, reply, after.list...)
	return steered.added, steered.end(ctx, err)
}

// endStep records the run and the end of the step, and then the entries of after. If the step is the last
// that is allowed, a turn that would go on ends with an error.
func (r *turn) endStep(ctx context.Context, d *drafts, more bool, reply *reply, after ...repo.Draft) error {
	if more && r.step >= r.agent.MaxSteps {
		err := fmt.Errorf("max_steps_reached=%d: the turn was ended; say what is left to do, or raise max_steps", r.agent.MaxSteps)
		d.failure(kindSteps, err.Error())
		d.run(statusOK, reply.usage)
		d.step(statusError, err.Error())
		d.at = len(d.list)
		return errors.Join(d.save(ctx), err)
	}
	d.run(statusOK, reply.usage)
	status := statusOK
	if more {
		status = statusContinue
	}
	d.step(status, "")
	d.at = len(d.list)
	d.list = append(d.list, after...)
	return d.save(ctx)
}

// fail records that the turn failed, and returns the error.
func (r *turn) fail(ctx context.Context, kind string, err error, reply *reply) error {
	status := statusError
	if ctx.Err() != nil {
		kind, status = kindCancelled, statusCancelled
		err = cancelled{context.Cause(ctx)}
	}
	d := r.drafts()
	d.failure(kind, err.Error())
	var usage map[string]any
	if reply != nil {
		usage = reply.usage
		d.thinking(reply.thinking)
		d.partial(reply.text, goesOn(ctx))
	}
	d.run(status, usage)
	d.step(statusError, err.Error())
	if reply != nil && strings.TrimSpace(reply.text) != "" && status == statusError {
		err = &hooks.PartialError{Said: reply.text, Err: err}
	}
	return errors.Join(err, d.save(ctx))
}

// goesOn reports whether a turn was interrupted because the program ends. Such a turn goes on after the next start.
func goesOn(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return cause != context.Canceled && errors.Is(cause, context.Canceled) //nolint:errorlint // what wraps it has a reason
}

// cancelled is the error of a turn whose context ended.
type cancelled struct{ cause error }

// Error says why, unless a person has simply interrupted the turn.
func (e cancelled) Error() string {
	if e.cause == context.Canceled { //nolint:errorlint // what wraps it has a reason
		return "the turn was interrupted"
	}
	return "the turn was interrupted: " + e.cause.Error()
}

func (e cancelled) Unwrap() error { return e.cause }
