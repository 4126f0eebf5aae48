package hostcli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"tape/cmd/internal/cli"
	"tape/hooks"
	"tape/internal/agent/chatui"
	"tape/internal/agent/models"
	"tape/internal/show/display"
)

// oneTurn is the turn of tape run.
type oneTurn struct {
	o  cli.AgentOptions
	ui *chatui.UI // nil: nothing is shown before the end

	mu       sync.Mutex // of warnings and problem
	warnings []string
	problem  string          // see cli.TurnResult
	final    strings.Builder // the text since the last call of a tool
	acted    bool            // a tool was called since the last text
	failed   bool            // the message was a command, which failed
	streamed strings.Builder // the text that was written while it came
}

// Turn runs one turn. Errors that do not end it become warnings.
func (Host) Turn(ctx context.Context, o cli.AgentOptions, m cli.TurnMessage) (result cli.TurnResult, err error) {
	ctx, interrupt := context.WithCancel(ctx)
	defer interrupt()
	t := &oneTurn{o: o}
	onScreen := !m.Quiet && isScreen(o)
	a, err := newAssembly(ctx, o, func(a *assembly) error {
		if onScreen {
			t.ui = chatui.New(chatui.Options{In: o.In, Out: o.Out, Env: os.Environ(), Session: m.Session, Dir: o.Project, Once: true, Cancel: interrupt})
			a.gate.SetAsker(t.ui)
		}
		return a.rt.Register(&hooks.Plugin{Name: "run", Internal: true, DispatchOutbound: t.dispatch})
	})
	if err != nil {
		return result, err
	}
	defer a.close()
	a.warnOff()
	if !strings.HasPrefix(strings.TrimSpace(m.Text), ",") {
		a.warnOpen(a.Warn)
	}
	e := hooks.Envelope{hooks.KeyContent: m.Text, hooks.KeyChannel: m.Channel, hooks.KeyChat: m.Chat, hooks.KeyKind: hooks.KindNormal, hooks.KeyActive: true}
	if m.Session != "" {
		e[hooks.KeySession] = m.Session
	}
	r, err := t.run(ctx, interrupt, a, e, m.Stream)
	for _, text := range t.warnings {
		o.Warn(text)
	}
	if errors.Is(err, models.ErrCut) && !m.Quiet && t.ui == nil && t.streamed.Len() == 0 && strings.TrimSpace(t.final.String()) != "" {
		_, _ = io.WriteString(o.Out, display.Text(strings.TrimSpace(t.final.String()))+"\n") // with the error after it
	}
	if err != nil {
		return result, err
	}
	result = cli.TurnResult{Session: r.Session, Output: r.Output, Messages: []map[string]any{}, NoModel: r.NoModel, Failed: t.failed, Problem: t.problem,
		Final: strings.TrimSpace(t.final.String()), Shown: !r.NoModel && (onScreen || t.streamed.Len() > 0 && strings.TrimSpace(t.streamed.String()) == strings.TrimSpace(r.Output))}
	for _, e := range r.Messages {
		result.Messages = append(result.Messages, e)
	}
	return result, nil
}

// run runs the turn, and shows it if there is a screen.
func (t *oneTurn) run(ctx context.Context, interrupt func(), a *assembly, e hooks.Envelope, stream bool) (*hooks.Result, error) {
	options := hooks.Options{OnEvent: func(_ context.Context, _ hooks.Envelope, event hooks.Event) { t.event(event, stream && t.ui == nil) }}
	if t.ui == nil {
		r, err := a.rt.Process(ctx, e, options)
		if t.streamed.Len() > 0 && !strings.HasSuffix(t.streamed.String(), "\n") {
			_, _ = io.WriteString(t.o.Out, "\n")
		}
		return r, err
	}
	left := make(chan error, 1)
	go func() {
		left <- t.ui.Run(context.WithoutCancel(ctx))
		interrupt() // the person may have left before the end
	}()
	t.ui.TurnBegins(e, nil)
	r, err := a.rt.Process(ctx, e, options)
	t.ui.TurnEnds(ctx)
	return r, errors.Join(err, <-left)
}

// event keeps the final text, and shows the event on the screen or, with stream, writes its text.
func (t *oneTurn) event(e hooks.Event, stream bool) {
	if t.ui != nil {
		t.ui.Event(e)
	}
	switch e.Kind {
	case hooks.EventNotice:
		if t.ui == nil {
			t.o.Warn(hooks.Envelope(e.Data).Text("text")) // at once, because it may be about a wait
		}
	case hooks.EventFinal:
		t.failed = e.Data["ok"] == false
	case hooks.EventToolCall, hooks.EventToolResult:
		t.acted = true
	case hooks.EventText:
		delta := hooks.Envelope(e.Data).Text("delta")
		if t.acted {
			t.final.Reset()
			t.acted = false
		}
		hooks.AddText(&t.final, e)
		if stream && e.Data["instead"] == nil {
			t.streamed.WriteString(delta)
			_, _ = io.WriteString(t.o.Out, display.Text(delta))
		}
	}
}

// dispatch shows a message on the screen or, without one, keeps an error that does not end the turn. It also keeps why
// no model has run.
func (t *oneTurn) dispatch(_ context.Context, e hooks.Envelope) (bool, error) {
	failed := e.Text(hooks.KeyKind) == hooks.KindError
	if t.ui != nil && e[hooks.KeyNoModel] != true && !(failed && e.Text(hooks.KeyStage) == hooks.StageTurn) {
		t.ui.Message(e)
		return true, nil
	}
	if failed && e.Text(hooks.KeyStage) != hooks.StageTurn {
		t.mu.Lock()
		defer t.mu.Unlock()
		switch text := e.Text(hooks.KeyContent); {
		case e.Text(hooks.KeyStage) == hooks.StageWaiting:
			t.o.Warn(text) // at once, because waiting may take long
		case e[hooks.KeyNoModel] == true:
			t.problem = strings.TrimPrefix(text, "Error: ")
		default:
			t.warnings = append(t.warnings, text)
		}
	}
	return true, nil
}
