package telegram

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"tape/hooks"
)

// receive hands a message to the host if it is meant for the bot and its sender is admitted. An
// edited message keeps its id: the host replaces the message if it still waits, or ignores the edit.
func (c *Channel) receive(ctx context.Context, u update) error {
	m := u.Message
	if m == nil {
		m = u.Edited
	}
	if m == nil || m.Chat == nil || m.Chat.ID == 0 || !c.admits(m) {
		return nil
	}
	if m.MigrateTo != 0 {
		c.log.Warn(becameSupergroup, "title", m.Chat.Title, "id", m.MigrateTo)
	}
	text, ok := c.meant(m)
	if !ok {
		return nil
	}
	typed := m.typed()
	var media []hooks.Media
	if !typed || !strings.HasPrefix(text, ",") { // the names of files must not become part of a command
		var err error
		if text, media, err = c.withNotes(ctx, m, text); err != nil {
			return err
		}
		if text == "" && len(media) == 0 {
			return nil // a member has joined, a picture has changed …
		}
	}
	e := c.envelope(m, text, media)
	if u.Edited != nil {
		e[hooks.KeyEdited] = true
	}
	if err := c.handle(ctx, e); err != nil {
		return fmt.Errorf("store a message: %w", err)
	}
	if u.Edited == nil {
		c.typing(ctx, e.Text(hooks.KeyChat), typeFirst)
	}
	return nil
}

// withNotes returns the files of a message, and its text with notes about them, about what else it has, and about
// who wrote it if that is not the sender.
func (c *Channel) withNotes(ctx context.Context, m *message, text string) (string, []hooks.Media, error) {
	media, notes, err := c.media(ctx, m)
	if err != nil {
		return "", nil, err
	}
	if words := m.words(); words != "" {
		notes = append([]string{words}, notes...)
	}
	if text != "" {
		notes = append([]string{text}, notes...)
	}
	if source := m.source(); source != "" && len(notes) > 0 {
		notes = append([]string{"[" + strings.Join(strings.Fields(source), " ") + "]"}, notes...)
	} else if strings.HasPrefix(text, ",") { // it is a quotation
		notes[0] = "> " + text
	}
	return strings.Join(notes, "\n"), media, nil
}

// admits reports whether the settings list the chat or, if it is private, the sender. Bots are not admitted.
func (c *Channel) admits(m *message) bool {
	id := strconv.FormatInt(m.Chat.ID, 10)
	private := m.Chat.Type == "private"
	if m.From == nil || m.From.IsBot && m.SenderChat == nil {
		return false // two bots could answer each other forever; messages in the name of a group have SenderChat
	}
	if listed(c.o.AllowChats, id, m.Chat.Username) ||
		private && listed(c.o.AllowUsers, strconv.FormatInt(m.From.ID, 10), m.From.Username) {
		return true
	}
	if len(c.refused) < 1000 && !c.refused[m.Chat.ID] {
		c.refused[m.Chat.ID] = true
		list := "allow_chats"
		if private {
			list = "allow_users"
		}
		c.log.Warn("a message is refused: its sender is not in telegram."+list, "id", m.Chat.ID, "user", m.From.ID, "username", m.From.Username, "title", m.Chat.Title)
	}
	return false
}

func listed(list []string, id, username string) bool {
	for _, l := range list {
		if l == id || username != "" && strings.EqualFold(l, "@"+username) {
			return true
		}
	}
	return false
}

// meant returns the text without the bot's name in front, and reports whether the message is meant
// for the bot: in a group only if it mentions the bot, answers it, is a command for it, or is in an
// album of which an earlier message was meant for it.
func (c *Channel) meant(m *message) (string, bool) {
	text, _ := m.content()
	var command bool
	var to string
	if text = strings.TrimSpace(text); m.source() == "" {
		command, to, text = c.command(text)
	}
	private := m.Chat.Type == "private"
	if to != "" && !private {
		return text, strings.EqualFold(to, c.bot.Username)
	}
	meant := private || c.mentioned(m) ||
		m.ReplyTo != nil && m.ReplyTo.From != nil && m.ReplyTo.From.ID == c.bot.ID && m.ReplyTo.TopicCreated == nil && !command ||
		m.Album != "" && m.Album == c.album
	if meant && m.Album != "" {
		c.album = m.Album
	}
	at := len("@" + c.bot.Username)
	if c.bot.Username != "" && len(text) >= at && strings.EqualFold(text[:at], "@"+c.bot.Username) {
		rest := text[at:]
		if rest != "" && strings.ContainsRune(",:", rune(rest[0])) {
			rest = rest[1:]
		}
		if text = strings.TrimSpace(rest); m.source() == "" {
			_, _, text = c.command(text)
		}
	}
	return text, meant
}

// mentioned reports whether a message names the bot, or links to it.
func (c *Channel) mentioned(m *message) bool {
	text, entities := m.content()
	var wide []uint16
	for _, e := range entities {
		switch {
		case e.Type == "text_mention" && e.User != nil && e.User.ID == c.bot.ID:
			return true
		case e.Type == "mention":
			if wide == nil {
				wide = utf16.Encode([]rune(text))
			}
			if e.Offset >= 0 && e.Length > 0 && e.Length <= len(wide) && e.Offset <= len(wide)-e.Length &&
				strings.EqualFold(string(utf16.Decode(wide[e.Offset:e.Offset+e.Length])), "@"+c.bot.Username) {
				return true
			}
		}
	}
	return false
}

// command turns /help and the like, which Telegram's apps offer, into comma commands. From other commands
// it removes the bot's name, as in /ask@bot. to is that name; "" if the command has none.
func (c *Channel) command(text string) (command bool, to, changed string) {
	if !strings.HasPrefix(text, "/") {
		return false, "", text
	}
	word, rest := text, ""
	if at := strings.IndexAny(text, " \n"); at > 0 {
		word, rest = text[:at], text[at:]
	}
	word, to, _ = strings.Cut(word, "@")
	switch name := strings.ToLower(word[1:]); {
	case name == "start":
		return true, to, ",help"
	case name == "help" || name == "quit" || name == "model" || name == "skill" || name == "stop":
		return true, to, "," + name + rest
	case strings.HasPrefix(name, "tape_"): // Telegram's commands have no dots
		return true, to, "," + strings.Replace(name, "_", ".", 1) + rest
	}
	return true, to, word + rest
}

// envelope returns a message as the host gets it.
func (c *Channel) envelope(m *message, text string, media []hooks.Media) hooks.Envelope {
	id := strconv.FormatInt(m.Chat.ID, 10)
	place := id
	if m.InTopic {
		place = fmt.Sprintf("%s_%d", id, m.Thread)
	}
	about := map[string]any{
		"sender_id": strconv.FormatInt(m.From.ID, 10), "sender": strings.TrimSpace(m.From.Name + " " + m.From.LastName),
		"chat_type": m.Chat.Type, "date": time.Unix(m.Date, 0).UTC().Format(time.RFC3339),
	}
	for key, value := range map[string]string{"username": m.From.Username, "chat_title": m.Chat.Title} {
		if value != "" {
			about[key] = value
		}
	}
	if text, author := m.repliesTo(); author != "" {
		about["reply_to_sender"] = author
		if text != "" {
			about["reply_to"] = text
		}
	}
	if source := m.source(); source != "" {
		about["source"] = source
	}
	var links []string // addresses that the message's text does not show
	_, entities := m.content()
	for _, e := range entities {
		if e.URL != "" {
			links = append(links, e.URL)
		}
	}
	if links != nil {
		about["links"] = links
	}
	e := hooks.Envelope{
		hooks.KeySession: name + ":" + place, hooks.KeyChannel: name, hooks.KeyChat: place, hooks.KeyContent: text,
		hooks.KeyKind: hooks.KindNormal, hooks.KeyActive: true, hooks.KeyContext: about,
		hooks.KeyMessageID: fmt.Sprintf("%s:%s:%d", name, id, m.ID),
	}
	if strings.HasPrefix(text, ",") {
		e[hooks.KeyKind] = hooks.KindCommand
	}
	if len(media) > 0 {
		e[hooks.KeyMedia] = media
	}
	return e
}
