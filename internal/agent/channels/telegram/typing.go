package telegram

import (
	"context"
	"time"

	"tape/hooks"
)

// Telegram shows for 5 s that the bot is typing. The indicator is repeated every typeEvery seconds: for
// typeFirst seconds after a message came in, and for typeEvent seconds after each event of the turn,
// because a tool may run for minutes.
const (
	typeEvery = 4
	typeFirst = 30
	typeEvent = 300
)

// OnEvent shows that the turn is running, until its final event, and sends notices that a person must get.
func (c *Channel) OnEvent(ctx context.Context, m hooks.Envelope, e hooks.Event) {
	if e.Kind == hooks.EventFinal {
		c.idle(m.Text(hooks.KeyChat))
		return
	}
	if text, _ := e.Data["text"].(string); e.Kind == hooks.EventNotice && e.Data["tell"] == true {
		out := hooks.Envelope{hooks.KeyChat: m.Text(hooks.KeyChat), hooks.KeyContent: text}
		if err := c.Send(ctx, out); err != nil {
			c.log.Warn("a notice was not sent", "chat", m.Text(hooks.KeyChat), "error", err)
		}
	}
	c.typing(ctx, m.Text(hooks.KeyChat), typeEvent)
}

// typing shows for some seconds that the bot is typing. A later call may extend the time. A message to the chat,
// an error or the end of ctx ends it.
func (c *Channel) typing(ctx context.Context, place string, seconds int) {
	to, err := c.target(place)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old, runs := c.typings[place]
	if until := time.Now().Add(time.Duration(seconds) * c.api.unit); until.After(old) {
		c.typings[place] = until
	}
	if !runs {
		go func() {
			for c.isTyping(place) {
				if c.send(ctx, to, "sendChatAction", map[string]any{"action": "typing"}, nil) != nil || !sleep(ctx, typeEvery*c.api.unit) {
					c.idle(place)
				}
			}
		}()
	}
}

// isTyping reports whether the indicator of a chat is still to be shown. If not, the next call of typing begins anew.
func (c *Channel) isTyping(place string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.typings[place]) {
		return true
	}
	delete(c.typings, place)
	return false
}

// idle ends the indicator of a chat, if there is one.
func (c *Channel) idle(place string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, runs := c.typings[place]; runs {
		c.typings[place] = time.Time{}
	}
}
