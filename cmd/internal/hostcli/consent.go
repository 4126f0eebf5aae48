package hostcli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tape/hooks"
	"tape/internal/agent/approve"
	"tape/internal/agent/tools"
	"tape/internal/store/setting"
	"tape/internal/store/workspace"
)

// newGate returns the gate for calls of tools, with the user's mode and rules.
func (a *assembly) newGate() (*approve.Gate, error) {
	mode, err := a.Store.Setting("mode")
	if err != nil {
		return nil, err
	}
	o := approve.Options{Mode: cmp.Or(a.Mode, a.Getenv("TAPE_MODE"), mode), Project: a.Project, Remember: a.rememberRules}
	for key, into := range map[string]*[]string{"allow": &o.Allow, "deny": &o.Deny, "ask": &o.Ask} {
		if *into, err = a.rules(key); err != nil {
			return nil, err
		}
	}
	return approve.New(o)
}

// rules returns the rules of a setting, those of this workspace and those of all workspaces. Unlike in other
// settings, the workspace's rules do not replace the others, so that no denial is lost.
func (a *assembly) rules(key string) ([]string, error) {
	text, global, err := (*workspace.Store)(a.Store).SettingFrom(key)
	if err != nil {
		return nil, err
	}
	list, err := setting.Rules(text)
	if err != nil || global {
		return list, err
	}
	if text, err = workspace.GlobalSetting(key); err != nil {
		return nil, err
	}
	more, err := setting.Rules(text)
	return append(list, more...), err
}

// rememberRules adds rules for the project to the user's setting allow for the workspace.
func (a *assembly) rememberRules(rules []string) error {
	rules = slices.Clone(rules)
	for i, rule := range rules {
		rules[i] = setting.In(rule, a.Project)
	}
	return (*workspace.Store)(a.Store).ChangeSetting("allow", func(text string) (string, error) { return setting.AddRules(text, rules) })
}

// approve is called before each call of a tool, and returns an error if the call is denied.
func (a *assembly) approve(ctx context.Context, c hooks.ToolCall, s hooks.State) error {
	t, ok := tools.Find(a.rt.Tools(ctx), c.Tool)
	if !ok {
		return fmt.Errorf("there is no tool %q", c.Tool)
	}
	call := approve.Call{Tool: t.Name, Arguments: c.Arguments, Reads: t.Reads, Typed: c.Typed}
	call.Session, _ = s[hooks.KeySession].(string)
	if t.Preview != nil {
		var err error
		if call.Preview, err = t.Preview(ctx, c.Arguments); err != nil {
			return err
		}
	}
	return a.gate.Check(ctx, call)
}
