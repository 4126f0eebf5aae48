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
	c.mu.Lock()
	defer c.mu.Unlock()
	was, runs := c.typings[place]
	if until := time.Now().Add(time.Duration(seconds) * c.api.unit); until.After(was) {
		c.typings[place] = until
	}
	if !runs {
		go func() {
			for c.types(place) {
				if c.send(ctx, to, "sendChatAction", map[string]any{"action": "typing"}, nil) != nil || !sleep(ctx, typeEvery*c.api.unit) {
					break
				}
			}
			c.mu.Lock()
			delete(c.typings, place)
			c.mu.Unlock()
		}()
	}
}

func (c *Channel) types(place string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.typings[place])
}

// idle ends the indicator of a chat, if there is one.
func (c *Channel) idle(place string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, runs := c.typings[place]; runs {
		c.typings[place] = time.Time{}
	}
}
