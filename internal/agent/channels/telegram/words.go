package telegram

import (
	"cmp"
	"fmt"
	"strings"
)

// words say in a line what a message has beside text and files; "" if it has nothing of the kind.
func (t *things) words() string {
	switch {
	case t.Venue != nil: // its location is repeated beside it
		return bracketed("venue", fmt.Sprintf("%s, %s, %s", t.Venue.Title, t.Venue.Address, t.Venue.Location))
	case t.Location != nil && t.Location.Live > 0:
		return bracketed("live location", t.Location.String())
	case t.Location != nil:
		return bracketed("location", t.Location.String())
	case t.Contact != nil:
		return bracketed("contact", strings.TrimSpace(t.Contact.Name+" "+t.Contact.LastName)+", "+t.Contact.Phone)
	case t.Poll != nil:
		var options []string
		for _, o := range t.Poll.Options {
			options = append(options, fmt.Sprintf("%s (%d)", o.Text, o.Voters))
		}
		return bracketed("poll", t.Poll.Question+": "+strings.Join(options, "; "))
	case t.Dice != nil:
		return bracketed("dice", fmt.Sprintf("%s %d", t.Dice.Emoji, t.Dice.Value))
	case t.Checklist != nil:
		var tasks []string
		for _, task := range t.Checklist.Tasks {
			state := "open"
			if task.Done != 0 {
				state = "done"
			}
			tasks = append(tasks, task.Text+" ("+state+")")
		}
		return bracketed("checklist", t.Checklist.Title+": "+strings.Join(tasks, "; "))
	case t.Story != nil:
		return bracketed("story", "of "+t.Story.Chat.name())
	}
	for what, thing := range map[string]*titled{"game": t.Game, "invoice": t.Invoice, "paid media": t.PaidMedia, "giveaway": t.Giveaway, "gift": t.Gift, "unique gift": t.UniqueGift, "data of an app": t.WebApp} {
		if thing != nil {
			return bracketed(what, cmp.Or(thing.Title, thing.Data))
		}
	}
	return ""
}

// bracketed returns a note about a message, on one line.
func bracketed(what, about string) string {
	return "[" + strings.TrimSpace(what+" "+strings.Join(strings.Fields(about), " ")) + "]"
}

func (l location) String() string { return fmt.Sprintf("%g, %g", l.Latitude, l.Longitude) }

// source names who wrote what the sender has only passed on; "" if the sender wrote the message.
func (m *message) source() string {
	switch {
	case m.Forward != nil:
		return "forwarded from " + m.Forward.name()
	case m.ForwardDate != 0:
		return "forwarded from somebody"
	case m.AutoForward:
		return "forwarded from the channel " + m.SenderChat.name()
	case m.ViaBot != nil:
		return "made by the bot " + m.ViaBot.name()
	}
	return ""
}

func (o *origin) name() string {
	switch {
	case o.User != nil:
		return o.User.name()
	case o.UserName != "":
		return o.UserName
	case o.Chat != nil:
		return o.Chat.name()
	case o.Channel != nil && o.Author != "":
		return o.Channel.name() + " (" + o.Author + ")"
	}
	return o.Channel.name()
}

func (u *user) name() string {
	if u == nil {
		return "somebody"
	}
	name := strings.TrimSpace(u.Name + " " + u.LastName)
	if u.Username != "" {
		name = strings.TrimSpace(name + " @" + u.Username)
	}
	return cmp.Or(name, fmt.Sprint(u.ID))
}

func (c *chat) name() string {
	if c == nil {
		return "somebody"
	}
	if c.Username != "" {
		return strings.TrimSpace(c.Title + " @" + c.Username)
	}
	return cmp.Or(c.Title, fmt.Sprint(c.ID))
}

// repliesTo returns what a message answers, and who wrote that; "" if it answers nothing.
func (m *message) repliesTo() (text, author string) {
	if r := m.ReplyTo; r != nil && r.TopicCreated == nil {
		if author = r.source(); author == "" {
			author = r.From.name()
		}
		text, _ = r.content()
		text = cmp.Or(text, r.words())
	}
	if e := m.ExternalReply; e != nil {
		if author = "somebody in another chat"; e.Origin != nil {
			author = e.Origin.name() + ", in another chat"
		}
		text = e.words()
	}
	if m.Quote != nil && m.Quote.Text != "" {
		text = m.Quote.Text
	}
	return text, author
}

// typed reports whether the sender has written the beginning of a message's text. Only what somebody has typed can be
// a command: no forwarded message, no text of another bot, no quotation.
func (m *message) typed() bool {
	if m.source() != "" {
		return false
	}
	_, entities := m.content()
	for _, e := range entities {
		if e.Offset == 0 && (e.Type == "blockquote" || e.Type == "expandable_blockquote") {
			return false
		}
	}
	return true
}
