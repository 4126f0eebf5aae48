package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"tape/hooks"
)

// target is a chat or one of its topics.
type target struct{ chat, thread int64 }

// target reads a chat's id in an envelope: CHAT or CHAT_TOPIC.
func (c *Channel) target(id string) (target, error) {
	chat, thread, topic := strings.Cut(id, "_")
	var t target
	var err, topicErr error
	t.chat, err = strconv.ParseInt(chat, 10, 64)
	if topic {
		t.thread, topicErr = strconv.ParseInt(thread, 10, 64)
	}
	if err = errors.Join(err, topicErr); err != nil {
		return t, fmt.Errorf("%q is not a Telegram chat: write its number, with _ and the topic's number if there is one", id)
	}
	return t, nil
}

// Send sends a message's text in pieces, then its files. It waits if Telegram asks for that, and
// repeats a piece that has certainly not arrived. If a piece may have arrived, Send fails: nothing is
// sent twice.
func (c *Channel) Send(ctx context.Context, m hooks.Envelope) error {
	place := m.Text(hooks.KeyChat)
	c.idle(place)
	to, err := c.target(place)
	if err != nil {
		return err
	}
	media, text, err := outgoing(m)
	if err != nil {
		return err
	}
	pieces := split(text, maxUnits)
	for i, p := range pieces {
		text, entities := p.format()
		if blank(text) {
			continue // Telegram refuses blank messages
		}
		params := map[string]any{"text": text, "entities": entities, "link_preview_options": map[string]bool{"is_disabled": true}}
		err := c.place(ctx, &to, "sendMessage", params, nil)
		if refused, ok := errors.AsType[*refusal](err); ok && refused.code == 400 && refused.migrateTo == 0 && len(entities) > 0 {
			delete(params, "entities") // better plain than not at all
			err = c.place(ctx, &to, "sendMessage", params, nil)
		}
		if err != nil {
			return fmt.Errorf("piece %d of %d: %w", i+1, len(pieces), explained(err))
		}
	}
	for _, f := range media {
		if err := c.sendFile(ctx, &to, f); err != nil {
			return fmt.Errorf("file %s: %w", f.Name, explained(err))
		}
	}
	return nil
}

const becameSupergroup = "the group has become a supergroup, which begins a session of its own; put its id into telegram.allow_chats"

// explained adds to an error whether the message may have arrived, and what to do.
func explained(err error) error {
	var unanswered *noAnswer
	var refused *refusal
	switch {
	case errors.As(err, &unanswered) && unanswered.sent, errors.As(err, &refused) && refused.code >= 500 && refused.code != http.StatusServiceUnavailable:
		return fmt.Errorf("%w; it is not known whether it arrived", err)
	case errors.As(err, &refused) && refused.code == 403:
		return fmt.Errorf("%w: the bot has been blocked or removed there; to get its answers, start it or add it again", err)
	}
	return err
}

// blank reports whether a text has nothing visible.
func blank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.IsControl(r) }) < 0
}

// outgoing returns the files that are small enough, and the text, which names the others.
func outgoing(m hooks.Envelope) ([]hooks.Media, string, error) {
	media, err := m.Files()
	if err != nil {
		return nil, "", err
	}
	var small []hooks.Media
	text := strings.ToValidUTF8(m.Text(hooks.KeyContent), "\uFFFD")
	if said := strings.ToValidUTF8(m.Text(hooks.KeyPartial), "\uFFFD"); said != "" {
		text = strings.TrimSpace(said) + " […]\n\n" + text
	}
	for _, f := range media {
		if len(f.Data) > maxMedia {
			text += fmt.Sprintf("\n[%s: %.1f MB, larger than 2 MB, so it was not sent]", f.Name, float64(len(f.Data))/(1<<20))
		} else if len(f.Data) > 0 {
			small = append(small, f)
		}
	}
	return small, text, nil
}

// sendFile sends a picture as a photo, and other files as documents. A picture that Telegram refuses as
// a photo, for example because of its proportions, is sent as a document.
func (c *Channel) sendFile(ctx context.Context, to *target, f hooks.Media) error {
	if f.Name == "" {
		f.Name = "file"
	}
	if f.Type == "image/jpeg" || f.Type == "image/png" {
		err := c.place(ctx, to, "sendPhoto", nil, &upload{"photo", f})
		var refused *refusal
		if !errors.As(err, &refused) || refused.code != 400 {
			return err
		}
	}
	return c.place(ctx, to, "sendDocument", nil, &upload{"document", f})
}

type upload struct {
	field string
	media hooks.Media
}

// place sends to a topic; if that is closed or gone, to the chat itself, and to a group that has become a supergroup under
// its new id, also from then on.
func (c *Channel) place(ctx context.Context, to *target, method string, params map[string]any, f *upload) error {
	err := c.send(ctx, *to, method, params, f)
	refused, ok := errors.AsType[*refusal](err)
	if ok && refused.migrateTo != 0 {
		c.log.Warn(becameSupergroup, "id", refused.migrateTo)
		to.chat, to.thread = refused.migrateTo, 0
		return c.send(ctx, *to, method, params, f)
	}
	if !ok || refused.code != 400 || to.thread == 0 || !strings.Contains(refused.description, "thread not found") && !strings.Contains(refused.description, "TOPIC_") {
		return err
	}
	c.log.Warn("a topic takes no messages, so the answer goes to the chat itself", "chat", to.chat, "topic", to.thread, "error", err)
	to.thread = 0
	return c.send(ctx, *to, method, params, f)
}

// send calls a method for a chat, with parameters or with a file to upload.
func (c *Channel) send(ctx context.Context, to target, method string, params map[string]any, f *upload) error {
	all := map[string]any{"chat_id": to.chat}
	if to.thread != 0 {
		all["message_thread_id"] = to.thread
	}
	if f == nil {
		maps.Copy(all, params)
		return c.api.retry(ctx, func(ctx context.Context) error { return c.api.call(ctx, method, all, nil) })
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for k, v := range all {
		if err := form.WriteField(k, fmt.Sprint(v)); err != nil {
			return err
		}
	}
	part, err := form.CreateFormFile(f.field, f.media.Name)
	if err == nil {
		_, err = part.Write(f.media.Data)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		return err
	}
	return c.api.retry(ctx, func(ctx context.Context) error {
		return c.api.post(ctx, method, form.FormDataContentType(), body.Bytes(), nil)
	})
}
