package hostcli

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"tape/cmd/internal/cli"
	"tape/hooks"
	"tape/internal/agent/channels"
	"tape/internal/agent/channels/terminal"
	"tape/internal/store/layout"
)

// Turn runs one turn. Errors that do not end it become warnings.
func (Host) Turn(ctx context.Context, o cli.AgentOptions, m cli.TurnMessage) (result cli.TurnResult, err error) {
	var mu sync.Mutex
	var warnings []string
	var problem string
	a, err := newAssembly(ctx, o, func(a *assembly) error {
		return a.rt.Register(&hooks.Plugin{Name: "run", DispatchOutbound: func(_ context.Context, e hooks.Envelope) (bool, error) {
			if e.Text(hooks.KeyKind) == hooks.KindError && e.Text(hooks.KeyStage) != hooks.StageTurn {
				mu.Lock()
				defer mu.Unlock()
				switch text := e.Text(hooks.KeyContent); {
				case e.Text(hooks.KeyStage) == stageWaiting:
					o.Warn(text) // at once, for waiting may take long
				case e[hooks.KeyNoModel] == true:
					problem = strings.TrimPrefix(text, "Error: ")
				default:
					warnings = append(warnings, text)
				}
			}
			return true, nil
		}})
	})
	if err != nil {
		return result, err
	}
	defer a.close()
	a.warnOff()
	e := hooks.Envelope{hooks.KeyContent: m.Text, hooks.KeyChannel: m.Channel, hooks.KeyChat: m.Chat, hooks.KeyKind: hooks.KindNormal, hooks.KeyActive: true}
	if m.Session != "" {
		e[hooks.KeySession] = m.Session
	}
	r, err := a.rt.Process(ctx, e, hooks.Options{})
	for _, text := range warnings {
		o.Warn(text)
	}
	if err != nil {
		return result, err
	}
	result = cli.TurnResult{Session: r.Session, Output: r.Output, Messages: []map[string]any{}, NoModel: r.NoModel, Problem: problem}
	for _, e := range r.Messages {
		result.Messages = append(result.Messages, e)
	}
	return result, nil
}

// Chat talks to a person until they leave.
func (Host) Chat(ctx context.Context, o cli.AgentOptions, session string) error {
	if session == "" {
		return layout.Invalid("", "the session's id is empty")
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	var m *channels.Manager
	a, err := newAssembly(ctx, o, func(a *assembly) (err error) {
		m, err = channels.New(a.rt, channels.Options{Dir: a.chatMessages(ctx, session), Only: []string{terminal.Name},
			Silence: -1, Grace: time.Second, Tape: a.tape, Log: a.log})
		if err != nil {
			return err
		}
		return a.rt.Register(terminal.Plugin(terminal.Options{In: o.In, Out: o.Out, Err: o.Err, Session: session, Wait: m.Wait, Cancel: m.Cancel, End: end}))
	})
	if err != nil {
		return err
	}
	defer a.close()
	a.warnOff()
	return m.Run(ctx)
}

// Gateway runs the configured channels.
func (Host) Gateway(ctx context.Context, o cli.AgentOptions) error {
	o.Verbose = true
	var m *channels.Manager
	a, err := newAssembly(ctx, o, func(a *assembly) (err error) {
		m, err = channels.New(a.rt, channels.Options{Dir: a.messages("gateway"), Tape: a.tape, Log: a.log})
		return err
	})
	if err != nil {
		return err
	}
	defer a.close()
	return m.Run(ctx)
}

// Hooks lists the plugins of each hook.
func (Host) Hooks(ctx context.Context, o cli.AgentOptions) (lines []cli.HookLine, err error) {
	a, err := newAssembly(ctx, o, noPlugins)
	if err != nil {
		return nil, err
	}
	defer a.close()
	for _, h := range a.rt.Report() {
		for _, p := range h.Plugins {
			lines = append(lines, cli.HookLine{Hook: h.Hook, Plugin: p.Name, Calls: p.Calls, Failures: p.Failures, LastError: p.LastError, Status: p.Status, Mean: p.Mean})
		}
	}
	for _, p := range a.procs {
		name := p.Plugin().Name
		if !slices.ContainsFunc(lines, func(l cli.HookLine) bool { return l.Plugin == name }) { // it is off, or only has tools
			lines = append(lines, cli.HookLine{Hook: "none", Plugin: name, Status: p.Status()})
		}
	}
	return lines, nil
}
