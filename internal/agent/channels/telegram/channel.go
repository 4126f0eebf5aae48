// Package telegram is a channel over Telegram's Bot API by long polling.
//
// An update is handed over before it is acknowledged: the offset is stored after the handler has
// stored the message. So after a kill an update may come twice, but with the same message_id,
// telegram:<chat>:<message>, by which the host recognises it.
package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"tape/hooks"
)

const name = "telegram"

// Options of a channel. Settings makes them.
type Options struct {
	Token      string   `json:"-"`                     // of the bot; without one there is no channel
	BaseURL    string   `json:"base_url,omitempty"`    // of the Bot API; "": https://api.telegram.org
	AllowUsers []string `json:"allow_users"`           // users who may write to the bot in private: ids or @names
	AllowChats []string `json:"allow_chats,omitempty"` // groups in which everybody may write to it: ids or @names

	Dir string       `json:"-"` // where the offset of updates is stored
	Log *slog.Logger `json:"-"`

	unit time.Duration // a second; less in tests
}

// Settings reads the setting telegram, which may be empty. The token is TAPE_TELEGRAM_TOKEN, or else the key
// with the channel's name in keys.
func Settings(raw json.RawMessage, getenv func(string) string, keys map[string]string) (Options, error) {
	o := Options{Token: cmp.Or(getenv("TAPE_TELEGRAM_TOKEN"), keys[name])}
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&o); err != nil {
			return o, fmt.Errorf("the setting telegram: %w; write it like %s, with base_url if you use your own Bot API server", err, `{"allow_users":["123456789"],"allow_chats":["-1001234567890"]}`)
		}
	}
	if u, err := url.Parse(o.BaseURL); o.BaseURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return o, fmt.Errorf("the setting telegram: base_url is not an address: %q", o.BaseURL)
	}
	return o, nil
}

// Plugin offers the channel, if there is a token.
func Plugin(o Options) *hooks.Plugin {
	return &hooks.Plugin{
		Name: name,
		ProvideChannels: func(_ context.Context, h hooks.Handler) ([]hooks.Channel, error) {
			if o.Token == "" {
				return nil, nil
			}
			c, err := New(o, h)
			if err != nil {
				return nil, err
			}
			return []hooks.Channel{c}, nil
		},
	}
}

// Channel is a [hooks.Channel].
type Channel struct {
	o      Options
	api    *api
	log    *slog.Logger
	handle hooks.Handler
	stop   context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	typings map[string]time.Time // by chat: until when it shows that the bot is typing

	// Once the channel is started, only the goroutine that polls uses these.
	state   state
	bot     user
	refused map[int64]bool // chats from which a message was refused and the refusal logged
	album   string         // the last album that was meant for the bot
}

// New returns a channel that is not started yet. Messages go to h. A token that cannot be one is an error.
func New(o Options, h hooks.Handler) (*Channel, error) {
	if !isToken(o.Token) {
		return nil, errors.New("the token of the Telegram bot is not like 123456:ABC-DEF1234; @BotFather shows it with /token")
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	a := &api{
		base: strings.TrimRight(cmp.Or(o.BaseURL, "https://api.telegram.org"), "/"), token: o.Token, unit: cmp.Or(o.unit, time.Second),
		// A redirect would send the token to another server.
		http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	return &Channel{o: o, api: a, log: o.Log.With("channel", name), handle: h, typings: map[string]time.Time{}, refused: map[int64]bool{}}, nil
}

// isToken reports whether a text has the form of a bot's token.
func isToken(s string) bool {
	bot, secret, ok := strings.Cut(s, ":")
	return ok && bot != "" && secret != "" && strings.Trim(bot, "0123456789") == "" &&
		strings.Trim(secret, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-") == ""
}

// invalidToken says what to do when Telegram refuses the token.
const invalidToken = "the token is not valid, or was revoked; @BotFather shows the valid one with /token"

// Name is "telegram".
func (c *Channel) Name() string { return name }

// Start begins to poll for updates. A token that Telegram refuses is an error. If Telegram does not
// answer, the channel tries again later.
func (c *Channel) Start(ctx context.Context) error {
	if err := c.load(); err != nil {
		return err
	}
	if len(c.o.AllowUsers)+len(c.o.AllowChats) == 0 {
		c.log.Warn(`nobody may write to the bot: send it a message, take your id from this log, and put it into the setting telegram: {"allow_users":["123456789"]}`)
	}
	err := c.identify(ctx)
	if refused, ok := errors.AsType[*refusal](err); ok && (refused.code == http.StatusUnauthorized || refused.code == http.StatusNotFound) {
		return fmt.Errorf("%w: %s", err, invalidToken)
	}
	if err != nil && ctx.Err() != nil {
		return err
	}
	pollCtx, stop := context.WithCancel(ctx)
	c.stop, c.done = stop, make(chan struct{})
	go func() {
		defer close(c.done)
		c.listen(pollCtx)
	}()
	return nil
}

// Stop ends polling, and waits until it has ended, or ctx ends. A message that was not stored by then comes again.
func (c *Channel) Stop(ctx context.Context) error {
	if c.stop == nil {
		return nil
	}
	c.stop()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// identify asks for the bot's own id and name, by which mentions of it are recognised.
func (c *Channel) identify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if err := c.api.call(ctx, "getMe", struct{}{}, &c.bot); err != nil {
		return err
	}
	c.log.Info("listening", "bot", "@"+c.bot.Username, "allow_users", len(c.o.AllowUsers), "allow_chats", len(c.o.AllowChats))
	return nil
}

// listen polls until ctx ends, and logs when polling begins to fail and when it works again.
func (c *Channel) listen(ctx context.Context) {
	logged := ""
	for failures := 0; ctx.Err() == nil; {
		err := c.poll(ctx)
		switch {
		case err == nil && logged != "":
			c.log.Info("Telegram answers again")
			failures, logged = 0, ""
		case err == nil:
			failures = 0
		case ctx.Err() == nil:
			wait, text := c.trouble(err, failures)
			if text != logged {
				c.log.Error(text, "next_try_in", wait.String())
			}
			failures, logged = failures+1, text
			sleep(ctx, wait)
		}
	}
}

// trouble returns how long to wait after an error, and the text to log.
func (c *Channel) trouble(err error, failures int) (time.Duration, string) {
	if refused, ok := errors.AsType[*refusal](err); ok {
		switch {
		case refused.retryAfter > 0:
			return time.Duration(refused.retryAfter) * c.api.unit, err.Error()
		case refused.code == http.StatusConflict && strings.Contains(refused.description, "webhook"):
			return 60 * c.api.unit, err.Error() + ": this bot is set up to send its messages to a web server"
		case refused.code == http.StatusConflict:
			return time.Duration(min(15<<min(failures, 3), 120)) * c.api.unit, err.Error() + ": another program listens to this bot; stop it, or make another bot for this one"
		case refused.code == http.StatusUnauthorized || refused.code == http.StatusNotFound:
			return 300 * c.api.unit, err.Error() + ": " + invalidToken
		}
	}
	return c.api.backoff(failures), err.Error()
}

// pollSeconds is how long Telegram waits for updates; its limit is 50.
const pollSeconds = 45

// poll asks once for updates, and hands them over one by one.
func (c *Channel) poll(ctx context.Context) error {
	if c.bot.ID == 0 {
		if err := c.identify(ctx); err != nil {
			return err
		}
	}
	params := map[string]any{"offset": c.state.Offset, "timeout": pollSeconds, "allowed_updates": []string{"message", "edited_message"}}
	pollCtx, cancel := context.WithTimeout(ctx, (pollSeconds+15)*time.Second)
	defer cancel()
	var updates []json.RawMessage
	if err := c.api.call(pollCtx, "getUpdates", params, &updates); err != nil {
		return err
	}
	for _, raw := range updates {
		if err := c.handOver(ctx, raw); err != nil {
			return err
		}
	}
	return nil
}

// handOver hands an update over and stores the next offset. An unreadable update is skipped.
func (c *Channel) handOver(ctx context.Context, raw json.RawMessage) error {
	var number struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(raw, &number); err != nil || number.ID <= 0 {
		return errors.New("an answer to getUpdates has no update_id; check base_url")
	}
	var u update
	if err := json.Unmarshal(raw, &u); err != nil {
		c.log.Warn("an update cannot be read, and is skipped", "update", number.ID, "error", err)
	} else if err := c.receive(ctx, u); err != nil {
		return err
	}
	// The next number may be smaller: after a week without updates, Telegram chooses a new one.
	return c.save(number.ID + 1)
}
