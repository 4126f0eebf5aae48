package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"tape/hooks"
)

// maxMedia is the largest file to receive or send, in bytes.
const maxMedia = 2 << 20

// attached is a file of a message.
type attached struct {
	file
	what string // describes the file in the text of the message
}

// files returns a message's files.
func (m *message) files() []attached {
	var out []attached
	add := func(f *file, what, mime, ext string) {
		if f == nil || f.ID == "" {
			return
		}
		a := attached{*f, what}
		a.MIMEType = cmp.Or(a.MIMEType, mime)
		a.Name = cmp.Or(a.Name, strings.ReplaceAll(what, " ", "-")+ext)
		if f.Duration > 0 {
			a.what += fmt.Sprintf(", %d s", f.Duration)
		}
		out = append(out, a)
	}
	add(largest(m.Photo), "photo", "image/jpeg", ".jpg")
	add(m.Audio, "audio", "audio/mpeg", ".mp3")
	add(m.Voice, "voice message", "audio/ogg", ".ogg")
	add(m.Video, "video", "video/mp4", ".mp4")
	add(m.VideoNote, "video message", "video/mp4", ".mp4")
	if m.Animation != nil { // its file is repeated as a document
		add(m.Animation, "animation", "video/mp4", ".mp4")
	} else if m.Document != nil {
		add(m.Document, strings.TrimSpace("document "+m.Document.Name), "application/octet-stream", "")
	}
	if s := m.Sticker; s != nil && !s.Animated && !s.IsVideo {
		add(s, strings.TrimSpace("sticker "+s.Emoji), "image/webp", ".webp")
	} else if s != nil {
		out = append(out, attached{what: strings.TrimSpace("moving sticker " + s.Emoji)})
	}
	return out
}

// largest returns the largest copy of a photo within maxMedia, else the first; nil if there is none.
func largest(photos []file) *file {
	var best *file
	for i, p := range photos {
		if best == nil || p.Size <= maxMedia && (p.Size > best.Size || best.Size > maxMedia) {
			best = &photos[i]
		}
	}
	return best
}

// media fetches the files of a message and of the one that it answers, with a note for each.
func (c *Channel) media(ctx context.Context, m *message) (files []hooks.Media, notes []string, err error) {
	list := m.files()
	if r := m.ReplyTo; r != nil {
		for _, f := range r.files() {
			f.what += " of the message that this one answers"
			list = append(list, f)
		}
	}
	for _, f := range list {
		note := "[" + f.what + "]"
		if f.ID != "" {
			data, err := c.fetch(ctx, f.file)
			switch {
			case ctx.Err() != nil:
				return nil, nil, ctx.Err()
			case errors.Is(err, errTooLarge):
				note = fmt.Sprintf("[%s: larger than 2 MB, so it was not fetched]", f.what)
			case err != nil:
				c.log.Warn("a file cannot be fetched", "what", f.what, "error", err)
				note = fmt.Sprintf("[%s: it could not be fetched]", f.what)
			default:
				files = append(files, hooks.Media{Type: f.MIMEType, Name: f.Name, Data: data})
			}
		}
		notes = append(notes, note)
	}
	return files, notes, nil
}

// fetch gets a file: its path by getFile, which is valid for an hour, then its bytes.
func (c *Channel) fetch(ctx context.Context, f file) (data []byte, err error) {
	if f.Size > maxMedia {
		return nil, errTooLarge
	}
	var place file
	err = c.api.retry(ctx, func(ctx context.Context) error {
		return c.api.call(ctx, "getFile", map[string]string{"file_id": f.ID}, &place)
	})
	switch {
	case err != nil:
		return nil, err
	case place.Size > maxMedia:
		return nil, errTooLarge
	case place.Path == "" || path.IsAbs(place.Path) || path.Clean("/"+place.Path) != "/"+place.Path:
		return nil, errors.New("the server gives no path to fetch the file from; your own Bot API server must run without --local")
	}
	escaped := (&url.URL{Path: place.Path}).EscapedPath()
	err = c.api.retry(ctx, func(ctx context.Context) error {
		status, got, err := c.api.fetch(ctx, http.MethodGet, "/file/bot"+c.api.token+"/"+escaped, "", nil, maxMedia)
		switch {
		case errors.Is(err, errTooLarge):
			return err
		case err != nil:
			return &noAnswer{method: "fetch a file", err: c.api.hide(err)} // sent stays false: a GET can be repeated
		case status != http.StatusOK:
			return &refusal{method: "fetch a file", code: status, description: http.StatusText(status)}
		}
		data = got
		return nil
	})
	return data, err
}
