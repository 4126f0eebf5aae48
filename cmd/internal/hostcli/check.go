package hostcli

import (
	"context"
	"fmt"
	"slices"

	"tape/cmd/internal/cli"
	"tape/hooks"
	"tape/internal/agent/keys"
	"tape/internal/agent/models"
	"tape/internal/show/display"
	"tape/internal/store/layout"
)

// CheckSetup says what is set up, and whether it works: it calls the model once, and changes nothing.
func (Host) CheckSetup(ctx context.Context, o cli.AgentOptions) error {
	a, err := newAssembly(ctx, o, noPlugins)
	if err != nil {
		return err
	}
	defer a.close()
	broken := 0
	line := func(ok bool, name, format string, args ...any) {
		mark := "ok  "
		if !ok {
			mark = "bad "
			broken++
		}
		_, _ = fmt.Fprintln(o.Out, mark+display.Pad(name, 10)+display.Line(fmt.Sprintf(format, args...)))
	}
	if model := a.models.configured[0]; model == "" {
		line(false, "model", "none is set: tape onboard asks for one")
	} else {
		a.checkModel(ctx, model, line)
	}
	for _, p := range a.procs {
		off := p.Off()
		if off == nil {
			line(true, "plugin", "%s runs", p.Plugin().Name)
			continue
		}
		line(false, "plugin", "%s: %v", p.Plugin().Name, off)
	}
	chat, err := a.telegram()
	switch {
	case err != nil:
		line(false, "telegram", "%v", err)
	case chat.Token == "":
		line(true, "telegram", "not set up")
	case len(chat.AllowUsers)+len(chat.AllowChats) == 0:
		line(false, "telegram", "nobody may write to the bot: set allow_users in the setting telegram")
	default:
		line(true, "telegram", "set up: tape gateway runs it")
	}
	if broken > 0 {
		return layout.Invalid("tape onboard sets it up", "%s of the setup %s not work", display.Count(broken, "part", "parts"), map[bool]string{true: "does", false: "do"}[broken == 1])
	}
	return nil
}

// checkModel reports on a model's key, on its server and the models there, and on an answer of the model.
func (a *assembly) checkModel(ctx context.Context, model string, line func(ok bool, name, format string, args ...any)) {
	provider := models.ProviderOf(model)
	stored, err := keys.Read(keys.File(a.Home))
	switch variable := keys.Variable(provider, "API_KEY"); {
	case a.Getenv(variable) != "":
		line(true, "key", "in %s", variable)
	case stored[provider] != "":
		line(true, "key", "in %s", keys.File(a.Home))
	case err != nil:
		line(false, "key", "%v", err)
	default:
		line(true, "key", "none for %s; a server on your own machine needs none", provider)
	}
	list, err := a.models.client.List(ctx, provider)
	has := slices.ContainsFunc(list, func(o hooks.ModelOption) bool { return o.ID == model })
	switch {
	case err != nil:
		line(true, "server", "its models are not known: %v", err)
	case !has:
		line(false, "server", "it has no model %s; ,model in a chat lists its %d models", model, len(list))
	default:
		line(true, "server", "it has %s", display.Count(len(list), "model", "models"))
	}
	b := &onboarder{AgentOptions: a.AgentOptions}
	if err := b.try(ctx, model); err != nil {
		line(false, "model", "%s does not answer: %v", model, err)
		return
	}
	line(true, "model", "%s answers", model)
}
