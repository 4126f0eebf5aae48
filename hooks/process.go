package hooks

import (
	"cmp"
	"context"
	"errors"
	"strings"
)

// The stages of [Plugin.OnError].
const (
	StageTurn  = "turn"
	StageModel = "run_model"
)

// ErrNoModel says that no plugin has run the model. A RunModel or RunModelStream that fails with
// an error that wraps it does not end the turn: observers get the error, which may say what to
// do, and the answer is the prompt.
var ErrNoModel = errors.New("no plugin has run the model")

// Options are those of a turn.
type Options struct {
	// OnEvent gets each event of the model's answer as it comes; m is the message that the
	// turn answers. With it, plugins are preferably asked for a stream.
	OnEvent func(ctx context.Context, m Envelope, e Event)
}

// Result is how a turn ended.
type Result struct {
	Session  string     `json:"session_id"`
	Output   string     `json:"output"`   // of the model
	Messages []Envelope `json:"messages"` // that were dispatched
	// NoModel says that no plugin has run the model: the output is the prompt. A message that is
	// only that has it, too, as [KeyNoModel].
	NoModel bool `json:"no_model,omitempty"`
}

// Process makes a turn of a message; its session's id is written into m. Turns of one session
// follow one another in the order of their calls. An error is also told to the observers. When
// ctx ends, no hook is called any more but SaveState and OnError, whose contexts still work.
func (r *Runtime) Process(ctx context.Context, m Envelope, o Options) (*Result, error) {
	if m == nil {
		m = Envelope{}
	}
	result := &Result{}
	session, err := r.ResolveSession(ctx, m)
	if err == nil {
		var leave func()
		ctx, leave, err = r.sessions.enter(context.WithValue(ctx, messageKey{}, &currentTurn{message: m}), session)
		defer leave()
	}
	if err == nil && r.Enter != nil {
		var leave func()
		if leave, err = r.Enter(ctx, session, m); err == nil {
			defer leave()
		}
	}
	if err == nil {
		result, err = r.turn(ctx, m, session, o)
	}
	if err != nil {
		if ctx.Err() != nil {
			r.log.Info("the turn was cancelled", "session", session, "error", err)
		} else {
			r.log.Error("the turn failed", "session", session, "error", err)
		}
		r.NotifyError(ctx, StageTurn, err, m)
		return nil, err
	}
	return result, nil
}

func (r *Runtime) turn(ctx context.Context, m Envelope, session string, o Options) (*Result, error) {
	state, err := r.LoadState(ctx, m, session)
	if err != nil {
		return nil, err
	}
	prompt, err := r.BuildPrompt(ctx, m, session, state)
	if err != nil {
		return nil, err
	}
	output, noModel, failed := r.runModel(ctx, m, prompt, session, state, o)
	ctx = context.WithValue(ctx, noModelKey{}, noModel)
	err = r.SaveState(context.WithValue(ctx, modelErrorKey{}, failed), session, state, m, output)
	if err = errors.Join(failed, err); err != nil {
		return nil, err
	}
	messages, err := r.RenderOutbound(ctx, m, session, state, output)
	if err != nil {
		return nil, err
	}
	for _, out := range messages {
		if _, err := r.Dispatch(ctx, out); err != nil {
			return nil, err
		}
	}
	return &Result{Session: session, Output: output, Messages: messages, NoModel: noModel}, nil
}

type noModelKey struct{}

// NoModel reports, in SaveState and behind it, whether no plugin has run the turn's model: the
// output is the prompt.
func NoModel(ctx context.Context) bool {
	missing, _ := ctx.Value(noModelKey{}).(bool)
	return missing
}

// runModel gives the answer, or, if nobody runs a model, the prompt.
func (r *Runtime) runModel(ctx context.Context, m Envelope, p Prompt, session string, s State, o Options) (output string, noModel bool, err error) {
	answer, err := r.answer(ctx, m, p, session, s, o)
	if err == nil {
		err = ctx.Err() // a plugin may have stopped without saying so
	}
	if err == nil && answer == nil {
		err = ErrNoModel
	}
	switch {
	case errors.Is(err, ErrNoModel):
		r.NotifyError(ctx, StageModel, err, m)
		if len(p.Parts) > 0 {
			return contentPrompt(m).words(), true, nil
		}
		return p.Text, true, nil
	case err != nil:
		return "", false, err
	}
	return *answer, false, nil
}

// answer asks for a text or a stream, whichever the first plugin that has either of them
// implements; if nobody answers, for the other.
func (r *Runtime) answer(ctx context.Context, m Envelope, p Prompt, session string, s State, o Options) (*string, error) {
	before := func(q *Plugin) (*string, error) {
		if r.BeforeModel == nil {
			return nil, nil
		}
		return r.BeforeModel(ctx, q.Name, p, session, s)
	}
	text := func() (*string, error) {
		answer, err := first(ctx, r, "run_model", func(q *Plugin) (*string, error) {
			if known, err := before(q); known != nil || err != nil {
				return known, err
			}
			return q.RunModel(ctx, p, session, s)
		})
		if answer != nil && err == nil {
			r.watch(ctx, m, Text(*answer), o)
		}
		return answer, err
	}
	stream := func() (*string, error) {
		return first(ctx, r, "run_model_stream", func(q *Plugin) (*string, error) {
			if known, err := before(q); err != nil {
				return nil, err
			} else if known != nil {
				r.watch(ctx, m, Text(*known), o)
				return known, nil
			}
			events, err := q.RunModelStream(ctx, p, session, s)
			if events == nil || err != nil {
				return nil, err
			}
			return r.drain(ctx, m, events, o)
		})
	}
	ways := []func() (*string, error){text, stream}
	if r.streams(o.OnEvent != nil) {
		ways = []func() (*string, error){stream, text}
	}
	for _, way := range ways {
		if answer, err := way(); answer != nil || err != nil {
			return answer, err
		}
	}
	return nil, nil
}

// streams reports whether the first plugin that runs a model does so by a stream; if it has
// both ways, whether that is wanted.
func (r *Runtime) streams(wanted bool) bool {
	for _, p := range r.Plugins() {
		switch {
		case p.RunModel != nil && p.RunModelStream != nil:
			return wanted
		case p.RunModel != nil || p.RunModelStream != nil:
			return p.RunModelStream != nil
		}
	}
	return wanted
}

// drain joins the text of a stream. Observers are told of its errors as they come.
func (r *Runtime) drain(ctx context.Context, m Envelope, events Stream, o Options) (*string, error) {
	var text strings.Builder
	acted := false // since it spoke last
	for e, err := range events {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		switch e.Kind {
		case EventToolCall, EventToolResult:
			acted = true
		case EventText:
			delta := Envelope(e.Data).Text("delta")
			if between := Between(text.String(), delta); acted && between != "" {
				delta = between + delta
				e = Text(delta)
			}
			acted = acted && delta == ""
			text.WriteString(delta)
		case EventError:
			r.NotifyError(ctx, StageModel, errors.New(cmp.Or(Envelope(e.Data).Text("message"), "the model failed")), m)
		}
		r.watch(ctx, m, e, o)
	}
	answer := text.String()
	return &answer, nil
}

// Between is what has to stand between the texts of two steps: with it, there is a blank line.
func Between(before, next string) string {
	const blank = "\n\n"
	if before == "" || next == "" {
		return ""
	}
	there := len(before) - len(strings.TrimRight(before, "\n")) + len(next) - len(strings.TrimLeft(next, "\n"))
	return blank[min(there, len(blank)):]
}

// watch shows an event. Who only watches cannot end a turn.
func (r *Runtime) watch(ctx context.Context, m Envelope, e Event, o Options) {
	if o.OnEvent == nil {
		return
	}
	defer func() {
		if x := recover(); x != nil {
			r.log.Error("showing an event panicked", "event", e.Kind, "panic", x)
		}
	}()
	o.OnEvent(ctx, m, e)
}
