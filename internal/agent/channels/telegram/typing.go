package telegram

import (
	"context"
	"time"

	"tape/hooks"
)

// Telegram shows for 5 s that the bot is typing. The indicator is repeated every typeEvery seconds:
// for a while after a message came in, and for longer after each event of the turn, because a tool
// may run for minutes.
const (
	typeEvery = 4
	typeFirst = 30
	typeEvent = 300
)

// indicator says in a chat that the bot is typing.
type indicator struct {
	until time.Time
	stop  context.CancelFunc
}

// OnEvent shows that the turn is running.
func (c *Channel) OnEvent(ctx context.Context, m hooks.Envelope, e hooks.Event) {
	if e.Kind == hooks.EventFinal {
		c.idle(m.Text(hooks.KeyChat))
		return
	}
	c.typing(ctx, m.Text(hooks.KeyChat), typeEvent)
}

// typing shows that the bot is working, until something is sent to the chat, ctx ends, or nothing
// has happened for some seconds.
func (c *Channel) typing(ctx context.Context, place string, seconds int) {
	to, err := c.target(place)
	if err != nil {
		return
	}
	until := time.Now().Add(time.Duration(seconds) * c.api.unit)
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.typings[place]; t != nil {
		if until.After(t.until) {
			t.until = until
		}
		return
	}
	ctx, stop := context.WithCancel(ctx)
	t := &indicator{until: until, stop: stop}
	c.typings[place] = t
	go func() {
		defer c.ended(place, t)
		params := map[string]any{"chat_id": to.chat, "action": "typing"}
		if to.thread != 0 {
			params["message_thread_id"] = to.thread
		}
		for c.api.call(ctx, "sendChatAction", params, nil) == nil && sleep(ctx, typeEvery*c.api.unit) {
			c.mu.Lock()
			over := time.Now().After(t.until)
			c.mu.Unlock()
			if over {
				return
			}
		}
	}()
}

// ended stops a chat's indicator and forgets it.
func (c *Channel) ended(place string, t *indicator) {
	t.stop()
	c.mu.Lock()
	if c.typings[place] == t {
		delete(c.typings, place)
	}
	c.mu.Unlock()
}

// idle stops the indicator of a chat, if there is one.
func (c *Channel) idle(place string) {
	c.mu.Lock()
	t := c.typings[place]
	c.mu.Unlock()
	if t != nil {
		c.ended(place, t)
	}
}
