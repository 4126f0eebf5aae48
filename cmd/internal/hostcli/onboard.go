package hostcli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"tape/cmd/internal/cli"
	"tape/hooks"
	"tape/internal/agent/keys"
	"tape/internal/agent/models"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// tryTimeout is how long a model may take to answer.
const tryTimeout = time.Minute

// onboarding asks the user for settings.
type onboarding struct {
	cli.AgentOptions
	in    *os.File
	lines *bufio.Reader
}

// Onboard asks for provider, model, key and channel, tries the model, and stores the settings.
func (Host) Onboard(ctx context.Context, o cli.AgentOptions) error {
	in, ok := o.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return layout.Invalid("set TAPE_MODEL, or tape config model PROVIDER:MODEL, and the key in the provider's variable, such as OPENAI_API_KEY; "+
			"for Telegram: tape config telegram '{\"allow_users\":[\"…\"]}' and TAPE_TELEGRAM_TOKEN", "tape onboard asks questions, and standard input is not a terminal")
	}
	b := &onboarding{AgentOptions: o, in: in, lines: bufio.NewReader(in)}
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
	b.say("That is all: talk to the agent with tape chat.")
	return nil
}

func (b *onboarding) say(format string, args ...any) { _, _ = fmt.Fprintf(b.Out, format+"\n", args...) }

func (b *onboarding) ask(ctx context.Context, question, byDefault string) (string, error) {
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

// model asks for a model until one answers.
func (b *onboarding) model(ctx context.Context) (provider, model string, err error) {
	for ctx.Err() == nil {
		if provider, err = b.ask(ctx, "Provider ("+strings.Join(models.Providers(), ", ")+", or another)", cmp.Or(provider, "openai")); err != nil {
			return "", "", err
		}
		if model, err = b.ask(ctx, "Model", model); err != nil {
			return "", "", err
		}
		if err = b.address(ctx, provider); err != nil {
			return "", "", err
		}
		if err = b.key(ctx, provider); err != nil {
			return "", "", err
		}
		b.say("Trying %s …", display.Line(provider+":"+model))
		if err = b.try(ctx, provider+":"+model); err == nil {
			b.say("It answers.")
			return provider, model, nil
		}
		b.say("It does not work: %s", display.Line(err.Error()))
	}
	return "", "", ctx.Err()
}

func (b *onboarding) address(ctx context.Context, provider string) error {
	urls := map[string]string{}
	if err := jsonSetting(b.Store, "base_urls", &urls); err != nil {
		return err
	}
	question := "Address of its API (empty: the usual one)"
	if !slices.Contains(models.Providers(), provider) {
		question = "Address of its API, such as http://127.0.0.1:8080/v1"
	}
	url, err := b.ask(ctx, question, cmp.Or(b.Getenv(keys.Variable(provider, "BASE_URL")), urls[provider]))
	if err != nil || url == "" || url == urls[provider] || url == b.Getenv(keys.Variable(provider, "BASE_URL")) {
		return err
	}
	urls[provider] = url
	raw, err := json.Marshal(urls)
	if err != nil {
		return err
	}
	return b.Store.SetSetting("base_urls", string(raw))
}

func (b *onboarding) key(ctx context.Context, provider string) error {
	variable := keys.Variable(provider, "API_KEY")
	if b.Getenv(variable) != "" {
		b.say("The key is in %s.", variable)
		return nil
	}
	return b.secret(ctx, "Key (not shown; empty: none, or the stored one)", provider)
}

// secret asks for a secret without an echo, and stores it in the file of keys.
func (b *onboarding) secret(ctx context.Context, question, name string) error {
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
func (b *onboarding) try(ctx context.Context, model string) error {
	ctx, stop := context.WithTimeout(ctx, tryTimeout)
	defer stop()
	_, _, urls, err := settings(b.Store)
	if err != nil {
		return err
	}
	s, err := models.Load(b.Getenv, models.Config{Model: model, BaseURLs: urls}, keys.File(b.Home))
	if err != nil {
		return err
	}
	message := json.RawMessage(`{"role":"user","content":"Answer with the word yes."}`)
	for e, err := range models.New(s).Stream(ctx, models.Request{Model: model, Messages: []json.RawMessage{message}, MaxTokens: 100}) {
		if err != nil {
			return err
		}
		if e.Kind == hooks.EventFinal {
			return nil
		}
	}
	return nil
}

// channel asks for Telegram.
func (b *onboarding) channel(ctx context.Context) error {
	answer, err := b.ask(ctx, "Channel: terminal or telegram", "terminal")
	if err != nil || answer != "telegram" {
		return err
	}
	users, err := b.ask(ctx, "Telegram users who may write to the bot (ids or @names, with commas)", "")
	if err != nil {
		return err
	}
	raw, err := json.Marshal(map[string]any{"allow_users": strings.FieldsFunc(users, func(r rune) bool { return r == ',' || r == ' ' })})
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
func (b *onboarding) plugins(ctx context.Context) error {
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
			err = workspace.CheckPrograms(key, text, b.Project)
		}
		if err != nil {
			b.say("A plugin asks for %s, which is not set: %s", display.Line(key), display.Line(err.Error()))
			continue
		}
		answer, err := b.ask(ctx, fmt.Sprintf("A plugin asks for %s = %s: set it? (y, n)", key, display.Line(text)), "n")
		if err != nil {
			return err
		}
		if answer == "y" {
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
