package hostcli

import (
	"context"
	"slices"

	"tape/cmd/internal/cli"
	"tape/internal/agent/channels"
)

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
	a.warnOpen(a.Warn)
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
