package web

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"unicode/utf8"

	"tape/internal/show/block"
	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/text/jsonl"
	"tape/repo"
)

const (
	bodyMost   = 4 << 10 // bytes of a body until it is opened
	bodyLeast  = 600     // bytes of a body on a page that is nearly full
	bodyFewest = 100     // bytes of a body on a page that is full
	bodyEvent  = 300     // bytes of an event
	lineBytes  = 460     // bytes that an entry or a call has besides its texts and links
	briefCells = 160     // cells of a folded text
	imagesMost = 20      // pictures within an entry
)

// parts are the texts of an item after its summary, without pictures and artifacts.
func (v *entryViewer) parts(it *conversation.Item, speaker conversation.Speaker) []entryBody {
	var out []entryBody
	add := func(name, text string) {
		b := v.data(name, text, it.Entry.ID)
		b.Folded, b.Echo = true, name == oneLine(text)
		out = append(out, b)
	}
	if it.Details != "" {
		add(map[conversation.Kind]string{conversation.Phase: "state", conversation.Failure: "details"}[it.Kind], it.Details)
	}
	for _, p := range it.Parts {
		text := p.Text
		if p.Command != nil {
			text = p.Command.Typed
		}
		switch {
		case p.File, p.Kind == "" && strings.TrimSpace(text) == "":
		case p.Kind == "" && speaker == conversation.User && !about.ByPerson(p.Text):
			add(oneLine(text), text)
		case p.Kind == "" && it.Kind == conversation.Message && speaker != conversation.System:
			if speaker == conversation.User {
				text = conversation.WithoutContext(text)
			}
			out = append(out, v.prose(text, it.Entry.ID))
		case p.Kind == "":
			add(oneLine(text), text)
		default:
			add(p.Kind, text)
		}
		if p.Command != nil && p.Command.Printed != "" {
			add("output: "+oneLine(p.Command.Printed), p.Command.Printed)
		}
	}
	return out
}

// oneLine is the beginning of a text as the line of a folded one.
func oneLine(text string) string {
	return display.Truncate(display.PageLine(strings.Join(strings.Fields(text[:min(len(text), bodyMost)]), " ")), briefCells)
}

// room is how many bytes a body may have.
func (v *entryViewer) room() int {
	switch most := v.most(); {
	case v.used > most:
		return bodyFewest
	case v.used > most*2/3:
		return bodyLeast
	}
	return bodyMost
}

func (v *entryViewer) most() int { return cmp.Or(v.Most, pageBytes) }

// cut returns the beginning of a text up to a number of bytes, and how many are left out. It cuts between words, and a
// text that is only a little longer stays whole: a link to a few words is longer than they are.
func (v *entryViewer) cut(text string, end int) (string, int) {
	const little = 200
	if v.Whole || len(text) <= end+max(end/4, little) {
		return text, 0
	}
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if i := strings.LastIndexAny(text[:end], " \n"); i > end/2 {
		end = i
	}
	return text[:end], len(text) - end
}

func (v *entryViewer) prose(text string, id int64) entryBody {
	text, rest := v.cut(display.SkipBlankLines(text), v.room())
	html := v.Prose.HTML(text)
	v.used += len(html)
	return entryBody{HTML: html, Rest: rest, ID: id, Link: v.link(id)}
}

func (v *entryViewer) data(name, text string, id int64) entryBody {
	return v.upTo(v.room(), name, text, id)
}

func (v *entryViewer) upTo(most int, name, text string, id int64) entryBody {
	text, rest := v.cut(text, most)
	v.used += len(text)
	return entryBody{Name: display.Line(name), HTML: template.HTML(`<pre tabindex="0">` + block.Text(text) + "</pre>"), Rest: rest, ID: id, Link: v.link(id)} //nolint:gosec // escaped
}

// images are the URLs of the pictures of an entry.
func (v *entryViewer) images(e repo.Entry) []string {
	var out []string
	if bytes.Contains(e.Payload, []byte("image/")) {
		pictures(e.Payload, func(string, string) bool {
			out = append(out, fmt.Sprintf("%s/t/%s/-/image/%d/%d", v.Base, url.PathEscape(v.Tape), e.ID, len(out)))
			return len(out) < imagesMost
		})
	}
	for _, a := range repo.References(e) {
		if !v.NoFiles && display.IsShown(a.MIMEType) {
			out = append(out, v.Base+"/t/"+url.PathEscape(v.Tape)+"/-/artifact/"+a.ID)
		}
	}
	return out
}

// pictureOf returns picture n of an entry, counted from 0, in base64. mime is "" if there is none.
func pictureOf(e repo.Entry, n int) (mime, data string) {
	pictures(e.Payload, func(m, d string) bool {
		if n == 0 {
			mime, data = m, d
		}
		n--
		return n >= 0
	})
	return mime, data
}

// pictures calls use for each picture within a value, in base64, until use returns false. It then returns false, too.
func pictures(value []byte, use func(mime, data string) bool) bool {
	if mime, data := display.Picture(value); display.IsShown(mime) && data != "" { // an artifact has no data here
		return use(mime, data)
	}
	if jsonl.IsObject(value) {
		for _, val := range jsonl.Fields(value) {
			if !pictures(val, use) {
				return false
			}
		}
	} else if len(value) > 0 && value[0] == '[' {
		for el := range jsonl.Elements(value) {
			if !pictures(el, use) {
				return false
			}
		}
	}
	return true
}
