package hostcli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"tape/cmd/internal/cli"
	"tape/hooks"
	"tape/internal/agent/channels/telegram"
	"tape/internal/agent/keys"
	"tape/internal/agent/models"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// tryTimeout is how long a model may take to answer.
const tryTimeout = time.Minute

// onboarder asks the user for settings.
type onboarder struct {
	cli.AgentOptions
	in    *os.File
	lines *bufio.Reader
}

// Onboard asks for provider, key, model and channel, tries the model, stores the settings, and offers a first chat.
func (h Host) Onboard(ctx context.Context, o cli.AgentOptions) error {
	in, ok := o.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return layout.Invalid("set TAPE_MODEL, or tape config model PROVIDER:MODEL, and the key in the provider's variable, such as OPENAI_API_KEY; "+
			"for Telegram: tape config telegram '{\"allow_users\":[\"…\"]}' and TAPE_TELEGRAM_TOKEN", "tape onboard asks questions, and standard input is not a terminal")
	}
	b := &onboarder{AgentOptions: o, in: in, lines: bufio.NewReader(in)}
	provider, model, err := b.model(ctx)
	if err != nil {
		return err
	}
	if err := o.Store.SetSetting("model", provider+":"+model); err != nil {
		return err
	}
	if err := b.channel(ctx); err != nil {
		return err
	}
	if err := b.plugins(ctx); err != nil {
		return err
	}
	answer, err := b.choose(ctx, "That is all. Talk to the agent now? (yes, no)", "yes", "yes", "no")
	if err != nil || answer == "no" {
		b.say("Later: tape chat")
		return err
	}
	return h.Chat(ctx, o, cli.DefaultSession)
}

func (b *onboarder) say(format string, args ...any) { _, _ = fmt.Fprintf(b.Out, format+"\n", args...) }

func (b *onboarder) ask(ctx context.Context, question, byDefault string) (string, error) {
	if byDefault != "" {
		question += " [" + display.Line(byDefault) + "]"
	}
	_, _ = fmt.Fprint(b.Out, question+": ")
	line, err := orInterrupt(ctx, func() (string, error) { return b.lines.ReadString('\n') })
	if ctx.Err() != nil {
		b.say("")
	}
	return cmp.Or(strings.TrimSpace(line), byDefault), err
}

// orInterrupt waits for the user's input, or for Ctrl-C.
func orInterrupt[T any](ctx context.Context, read func() (T, error)) (typed T, err error) {
	done := make(chan struct{})
	var got T
	var readErr error
	go func() {
		got, readErr = read()
		close(done)
	}()
	select {
	case <-done:
		return got, readErr
	case <-ctx.Done():
		return typed, ctx.Err()
	}
}

// choose asks until the answer is one of the words or the beginning of one, and returns that word.
func (b *onboarder) choose(ctx context.Context, question, byDefault string, words ...string) (string, error) {
	for {
		answer, err := b.ask(ctx, question, byDefault)
		if err != nil {
			return "", err
		}
		for _, w := range words {
			if answer != "" && strings.HasPrefix(w, strings.ToLower(answer)) {
				return w, nil
			}
		}
		b.say("Please answer %s.", strings.Join(words, " or "))
	}
}

// model asks for provider, address, key and model, until a model answers.
func (b *onboarder) model(ctx context.Context) (provider, model string, err error) {
	for {
		if provider, err = b.provider(ctx, cmp.Or(provider, "openai")); err != nil {
			return "", "", err
		}
		list, err := b.reach(ctx, provider)
		if err != nil {
			return "", "", err
		}
		if model, err = b.pickModel(ctx, provider, list); err != nil {
			return "", "", err
		}
		if model != "" {
			return provider, model, nil
		}
	}
}

// provider asks for a provider's name.
func (b *onboarder) provider(ctx context.Context, byDefault string) (string, error) {
	for {
		name, err := b.ask(ctx, "Provider ("+strings.Join(models.Providers(), ", ")+", or a name of your own)", byDefault)
		if err != nil {
			return "", err
		}
		if name = strings.ToLower(name); strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == "" && name != "" {
			return name, nil
		}
		b.say("A provider's name has only letters, digits, - and _; the model's name is asked for next.")
	}
}

// reach asks for a provider's address and key until its server answers, or the person goes on without
// its list of models.
func (b *onboarder) reach(ctx context.Context, provider string) ([]hooks.ModelOption, error) {
	for {
		if err := b.address(ctx, provider); err != nil {
			return nil, err
		}
		if err := b.key(ctx, provider); err != nil {
			return nil, err
		}
		client, err := b.client()
		if err != nil {
			return nil, err // of settings that are not asked for here
		}
		list, err := client.List(ctx, provider)
		if err == nil || ctx.Err() != nil {
			return list, ctx.Err()
		}
		b.say("It does not work: %s", display.Line(err.Error()))
		answer, err := b.choose(ctx, "Ask for address and key again? (yes: again, no: go on without a list of models)", "yes", "yes", "no")
		if err != nil || answer == "no" {
			return nil, err
		}
	}
}

// listedModels is how many models are shown at once.
const listedModels = 30

// pickModel asks for one of a server's models, by number or name, until one answers. It returns "" if
// the person wants another provider.
func (b *onboarder) pickModel(ctx context.Context, provider string, list []hooks.ModelOption) (string, error) {
	shown := list
	for {
		for i, o := range shown[:min(len(shown), listedModels)] {
			b.say("%4d  %s", i+1, display.Line(strings.TrimPrefix(o.ID, provider+":")))
		}
		if more := len(shown) - listedModels; more > 0 {
			b.say("      and %d more: type a part of the name to see those that have it", more)
		}
		name, err := b.ask(ctx, "Model (number or name; back: another provider)", "")
		if err != nil || name == "back" {
			return "", err
		}
		n, numberErr := strconv.Atoi(name)
		has := func(o hooks.ModelOption) bool { return o.ID == provider+":"+name }
		switch {
		case name == "":
			continue
		case numberErr == nil && n >= 1 && n <= len(shown):
			name = strings.TrimPrefix(shown[n-1].ID, provider+":")
		case len(list) > 0 && !slices.ContainsFunc(list, has):
			found := slices.DeleteFunc(slices.Clone(list), func(o hooks.ModelOption) bool {
				return !strings.Contains(strings.ToLower(o.ID), strings.ToLower(name))
			})
			if shown = found; len(found) == 0 {
				b.say("The server has no model %q.", display.Line(name))
				shown = list
			}
			continue
		}
		b.say("Trying %s …", display.Line(provider+":"+name))
		if err = b.try(ctx, provider+":"+name); err == nil {
			b.say("It answers.")
			return name, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		b.say("It does not work: %s", display.Line(err.Error()))
	}
}

// address asks for the address of a provider's API until the answer is one, and stores it. It does not ask if the
// environment has the address. For a known provider, no answer stands for the usual address, and nothing is stored.
func (b *onboarder) address(ctx context.Context, provider string) error {
	urls := map[string]string{}
	if err := jsonSetting(b.Store, "base_urls", &urls); err != nil {
		return err
	}
	variable := keys.Variable(provider, "BASE_URL")
	if fixed := b.Getenv(variable); fixed != "" {
		b.say("The variable %s has the address of its API: %s. Unset it to be asked.", variable, display.Line(fixed))
		return nil
	}
	known := slices.Contains(models.Providers(), provider)
	question := "Address of its API (empty: the usual one)"
	if !known {
		question = "Address of its API, such as http://127.0.0.1:8080/v1"
	}
	for {
		address, err := b.ask(ctx, question, urls[provider])
		if err != nil || address == "" && known || address == urls[provider] && address != "" {
			return err
		}
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			b.say("An address begins with http:// or https://, such as http://127.0.0.1:8080/v1")
			continue
		}
		urls[provider] = address
		raw, err := json.Marshal(urls)
		if err != nil {
			return err
		}
		return b.Store.SetSetting("base_urls", string(raw))
	}
}

func (b *onboarder) key(ctx context.Context, provider string) error {
	variable := keys.Variable(provider, "API_KEY")
	if b.Getenv(variable) != "" {
		b.say("The key is in %s.", variable)
		return nil
	}
	return b.secret(ctx, "Key (not shown; empty: none, or the stored one)", provider)
}

// client returns a client with what is set so far.
func (b *onboarder) client() (*models.Client, error) {
	var c models.Config
	if err := serverSettings(b.Store, &c); err != nil {
		return nil, err
	}
	s, err := models.Load(b.Getenv, c, keys.File(b.Home))
	return models.New(s), err
}

// secret asks for a secret without an echo, and stores it under name in the file of keys; "" is not stored.
func (b *onboarder) secret(ctx context.Context, question, name string) error {
	_, _ = fmt.Fprint(b.Out, question+": ")
	screen, err := term.GetState(int(b.in.Fd()))
	if err != nil {
		return err
	}
	raw, err := orInterrupt(ctx, func() ([]byte, error) { return term.ReadPassword(int(b.in.Fd())) })
	b.say("")
	if ctx.Err() != nil {
		_ = term.Restore(int(b.in.Fd()), screen) // else the terminal would stay without an echo
	}
	if key := strings.TrimSpace(string(raw)); err == nil && key != "" {
		err = keys.Write(nil, keys.File(b.Home), name, key)
	}
	return err
}

// try makes a small call of a model.
func (b *onboarder) try(ctx context.Context, model string) error {
	ctx, stop := context.WithTimeout(ctx, tryTimeout)
	defer stop()
	client, err := b.client()
	if err != nil {
		return err
	}
	message := json.RawMessage(`{"role":"user","content":"Answer with the word yes."}`)
	for e, err := range client.Stream(ctx, models.Request{Model: model, Messages: []json.RawMessage{message}, MaxTokens: 100}) {
		if errors.Is(err, models.ErrCut) {
			return nil // it has thought
		}
		if err != nil {
			return err
		}
		if e.Kind == hooks.EventFinal {
			return nil
		}
	}
	return nil
}

// channel asks whether to use Telegram, and for its settings.
func (b *onboarder) channel(ctx context.Context) error {
	answer, err := b.choose(ctx, "Channel: terminal or telegram", "terminal", "terminal", "telegram")
	if err != nil || answer != "telegram" {
		return err
	}
	var o telegram.Options // its other members stay
	if err := jsonSetting(b.Store, "telegram", &o); err != nil {
		return err
	}
	users, err := b.ask(ctx, "Telegram users who may write to the bot (ids or @names, with commas)", strings.Join(o.AllowUsers, ", "))
	if err != nil {
		return err
	}
	o.AllowUsers = strings.FieldsFunc(users, func(r rune) bool { return r == ',' || r == ' ' })
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := b.Store.SetSetting("telegram", string(raw)); err != nil {
		return err
	}
	if err := b.secret(ctx, "Token of the bot (not shown)", "telegram"); err != nil {
		return err
	}
	b.say("Run it with: tape gateway")
	return nil
}

// plugins asks the user about each setting that a plugin wants to change.
func (b *onboarder) plugins(ctx context.Context) error {
	a, err := newAssembly(ctx, b.AgentOptions, noPlugins)
	if err != nil {
		return err
	}
	defer a.close()
	a.warnOff()
	current := map[string]any{}
	for _, key := range workspace.GlobalKeys() {
		text, err := b.Store.Setting(key)
		if err != nil {
			return err
		}
		if text != "" {
			current[key] = settingValue(text)
		}
	}
	wanted, err := a.rt.Onboard(ctx, current)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if reflect.DeepEqual(wanted[key], current[key]) {
			continue
		}
		text, err := settingText(wanted[key])
		if err == nil && !slices.Contains(workspace.GlobalKeys(), key) {
			err = errors.New("the agent has no such setting")
		}
		if err == nil {
			text, err = workspace.ResolvePrograms(key, text, b.Project)
		}
		if err != nil {
			b.say("A plugin asks for %s, which is not set: %s", display.Line(key), display.Line(err.Error()))
			continue
		}
		answer, err := b.choose(ctx, fmt.Sprintf("A plugin asks for %s = %s: set it? (yes, no)", key, display.Line(text)), "no", "yes", "no")
		if err != nil {
			return err
		}
		if answer == "yes" {
			if err := b.Store.SetSetting(key, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// settingValue returns a setting as plugins see it: decoded JSON, or the text.
func settingValue(text string) (v any) {
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

// settingText is the inverse of settingValue.
func settingText(v any) (string, error) {
	if text, ok := v.(string); ok {
		return text, nil
	}
	raw, err := json.Marshal(v)
	return string(raw), err
}
