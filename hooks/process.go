package hooks

import (
	"cmp"
	"context"
	"errors"
	"strings"
)

// The stages of [Plugin.OnError].
const (
	StageTurn     = "turn"
	StageModel    = "run_model"
	StageApproval = "approval" // a call was refused, because it needs consent and nobody could be asked
	StageWaiting  = "waiting"  // no error: the turn waits for another process
)

// ErrNoModel says that no plugin has run the model. A RunModel or RunModelStream may return an
// error that wraps it: then the turn goes on, observers get the error, which may say what to do,
// and the answer is the prompt.
var ErrNoModel = errors.New("no plugin has run the model")

// Options of a turn.
type Options struct {
	// OnEvent gets each event of the model's answer as it comes; m is the message that the turn
	// answers. If it is set, a plugin that has both hooks is asked for a stream, not for a text.
	OnEvent func(ctx context.Context, m Envelope, e Event)
}

// Result is the outcome of a turn.
type Result struct {
	Session  string     `json:"session_id"`
	Output   string     `json:"output"`   // the model's answer
	Messages []Envelope `json:"messages"` // the rendered messages, whether or not they were delivered
	// NoModel says that no plugin has run the model, so that Output is the prompt. The message with
	// it has [KeyNoModel].
	NoModel bool `json:"no_model,omitempty"`
}

// Process runs a turn for a message, and writes the session's id into m. Turns of one session run
// one after the other, in the order of the calls. Observers are told of an error, too. After ctx has
// ended, only SaveState and OnError are called, with a context that has not ended.
func (r *Runtime) Process(ctx context.Context, m Envelope, o Options) (*Result, error) {
	if m == nil {
		m = Envelope{}
	}
	result := &Result{}
	session, err := r.ResolveSession(ctx, m)
	if err == nil {
		var leave func()
		ctx, leave, err = r.sessions.enter(context.WithValue(ctx, turnKey{}, &currentTurn{message: m}), session)
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
	output, noModel, modelErr := r.runModel(ctx, m, prompt, session, state, o)
	ctx = context.WithValue(ctx, noModelKey{}, noModel)
	err = r.SaveState(context.WithValue(ctx, modelErrorKey{}, modelErr), session, state, m, output)
	if err = errors.Join(modelErr, err); err != nil {
		return nil, err
	}
	messages, err := r.RenderOutbound(ctx, m, session, state, output)
	if err != nil {
		return nil, err
	}
	for _, out := range messages {
		delivered, err := r.Dispatch(ctx, out)
		if err != nil {
			return nil, err
		}
		if !delivered && len(r.implementing(dispatchOutbound)) > 0 {
			r.undelivered(ctx, m, out)
		}
	}
	return &Result{Session: session, Output: output, Messages: messages, NoModel: noModel}, nil
}

type noModelKey struct{}

// NoModel reports, in SaveState and the hooks after it, whether no plugin has run the model, so
// that the output is the prompt.
func NoModel(ctx context.Context) bool {
	noModel, _ := ctx.Value(noModelKey{}).(bool)
	return noModel
}

// runModel returns the model's answer, or the prompt if no plugin runs a model.
func (r *Runtime) runModel(ctx context.Context, m Envelope, p Prompt, session string, s State, o Options) (output string, noModel bool, err error) {
	answer, err := r.answer(ctx, m, p, session, s, o)
	if err == nil {
		err = ctx.Err() // a plugin may have stopped without an error
	}
	if err == nil && answer == nil {
		err = ErrNoModel
	}
	switch {
	case errors.Is(err, ErrNoModel):
		r.NotifyError(ctx, StageModel, err, m)
		if len(p.Parts) > 0 {
			return contentPrompt(m).plainText(), true, nil
		}
		return p.Text, true, nil
	case err != nil:
		return "", false, err
	}
	return *answer, false, nil
}

// answer asks for a text (run_model) or a stream (run_model_stream): first for the one that the first
// plugin with a model implements, and if no plugin answers, for the other.
func (r *Runtime) answer(ctx context.Context, m Envelope, p Prompt, session string, s State, o Options) (*string, error) {
	before := func(q *Plugin) (*string, error) {
		if r.BeforeModel == nil {
			return nil, nil
		}
		return r.BeforeModel(ctx, q.Name, p, session, s)
	}
	passed := func(q *Plugin) bool { return r.MayRun != nil && !r.MayRun(q.Name, p) }
	text := func() (*string, error) {
		answer, err := first(ctx, r, "run_model", func(q *Plugin) (*string, error) {
			if passed(q) {
				return nil, nil
			}
			if given, err := before(q); given != nil || err != nil {
				return given, err
			}
			return q.RunModel(ctx, p, session, s)
		})
		if answer != nil && err == nil {
			r.showEvent(ctx, m, Text(*answer), o)
		}
		return answer, err
	}
	stream := func() (*string, error) {
		return first(ctx, r, "run_model_stream", func(q *Plugin) (*string, error) {
			if passed(q) {
				return nil, nil
			}
			if given, err := before(q); err != nil {
				return nil, err
			} else if given != nil {
				r.showEvent(ctx, m, Text(*given), o)
				return given, nil
			}
			events, err := q.RunModelStream(ctx, p, session, s)
			if events == nil || err != nil {
				return nil, err
			}
			if r.ModelStream != nil {
				events = r.ModelStream(ctx, q.Name, session, s, events)
			}
			return r.readStream(ctx, m, events, o)
		})
	}
	order := []func() (*string, error){text, stream}
	if r.streams(o.OnEvent != nil) {
		order = []func() (*string, error){stream, text}
	}
	for _, run := range order {
		if answer, err := run(); answer != nil || err != nil {
			return answer, err
		}
	}
	return nil, nil
}

// streams reports whether the first plugin that runs a model is asked for a stream. If it
// implements both hooks, wanted decides.
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

// readStream returns the joined text of a stream. Observers are told of errors in the stream as they come.
func (r *Runtime) readStream(ctx context.Context, m Envelope, events Stream, o Options) (*string, error) {
	var text strings.Builder
	acted := false // the model has called a tool since its last text
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
			AddText(&text, e)
		case EventError:
			r.NotifyError(ctx, StageModel, errors.New(cmp.Or(Envelope(e.Data).Text("message"), "the model failed")), m)
		}
		r.showEvent(ctx, m, e, o)
	}
	answer := text.String()
	return &answer, nil
}

// Between returns the newlines that are missing for a blank line between the texts of two steps.
func Between(before, next string) string {
	const blank = "\n\n"
	if before == "" || next == "" {
		return ""
	}
	present := len(before) - len(strings.TrimRight(before, "\n")) + len(next) - len(strings.TrimLeft(next, "\n"))
	return blank[min(present, len(blank)):]
}

// showEvent passes an event to OnEvent. A panic in OnEvent does not end the turn.
func (r *Runtime) showEvent(ctx context.Context, m Envelope, e Event, o Options) {
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
