package export

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/text/entrydiff"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// How much of a text a piece shows if there is a page with the whole of it.
const (
	pieceProse  = 8 << 10
	pieceSpent  = 30 << 10 // bytes of text in one piece, after which the others get only pieceScarce
	pieceScarce = 300
)

// PieceOptions say how [Pieces] renders.
type PieceOptions struct {
	// Whole returns the address of an entry on the page that has long texts whole; they are cut. nil: they are
	// folded, not cut.
	Whole func(id int64) string
	// Picture takes a picture as a data: URL and returns the URL for the page.
	Picture func(data string) string
}

// Piece is the HTML of an item of a conversation.
type Piece struct {
	HTML   []byte // valid until the next one
	Entry  int64
	Phase  *repo.Phase // that begins here
	Prompt string      // what a person asked, as a title
	Text   string      // what a person or a model said, or the line of a call, for a search
	Cut    bool        // a text was cut
	Hidden int         // events that were left out
}

// Style is the stylesheet of pages.
func Style() string { return colours + pageRules }

// Top has what stands above the conversation on a session's page.
type Top struct {
	Title string
	Facts []string
	Zone  string
}

// TopOf reads the whole source for its head.
func TopOf(ctx context.Context, src Source) (Top, error) {
	t, err := src.top(ctx)
	return Top{Title: t.title, Facts: t.facts, Zone: t.zone}, err
}

// Pieces renders the entries of a source as HTML, an item at a time, for pages that the caller puts together.
// Events are left out, except what a model thought. Source.Prose is needed.
func Pieces(ctx context.Context, src Source, zone string, o PieceOptions, use func(Piece) error) error {
	var b bytes.Buffer
	w := newOutput(&b)
	p := &page{w: w, renderProse: src.Prose, zone: zone, published: true, pieces: &o}
	phases, whole := src.Phases, o.Whole
	return conversation.Each(ctx, src.Entries, func(it *conversation.Item) error {
		b.Reset()
		p.spent = 0
		out := Piece{Entry: it.Entry.ID}
		if it.Kind == conversation.Phase && it.Entry.AnchorSeq > 1 { // that of the beginning says nothing to others
			for i := range phases {
				if phases[i].Seq == it.Entry.AnchorSeq {
					out.Phase = &phases[i]
					p.heading(phases[i])
				}
			}
		}
		cut := false
		if whole != nil {
			o.Whole = func(id int64) string { cut = true; return whole(id) }
		}
		p.hidden = 0
		withoutStart(it)
		renderItem(p, it)
		out.Hidden = p.hidden
		if it.Kind == conversation.Message || it.Kind == conversation.Calls {
			out.Prompt, out.Text = conversation.Asked(it.Entry), textOf(it)
		}
		if err := w.w.Flush(); err != nil {
			return err
		}
		out.HTML, out.Cut = b.Bytes(), cut
		return use(out)
	})
}

// thoughts shows what the model thought, and counts the other events.
func (p *page) thoughts(events []conversation.Event) {
	for _, ev := range events {
		text := ev.Thinking()
		if text == "" {
			p.hidden++
			p.mark(ev.Entry)
			continue
		}
		p.put("<details class=\"events\" id=\"e{}\"><summary>thinking <span class=\"brief\">{}</span></summary>\n", ev.Entry.ID, display.Title(text, 120))
		p.prose(text, classTools, ev.Entry)
		p.put("</details>\n")
	}
}

// heading begins a phase.
func (p *page) heading(ph repo.Phase) {
	p.put(`<h2 class="phase" id="p{}"><span class="seq">{}</span> <span dir="auto">{}</span></h2>`+"\n", ph.Seq, fmt.Sprintf("%03d", ph.Seq), display.Title(ph.Name, nameMost))
}

// textOf is what a search finds of an item.
func textOf(it *conversation.Item) string {
	const most = 4 << 10
	var b strings.Builder
	for _, part := range it.Parts {
		if part.Kind == "" && b.Len() < most {
			b.WriteString(part.Text + "\n")
		}
	}
	for _, c := range it.Calls {
		if b.Len() < most {
			b.WriteString(c.Name + " " + display.Title(c.Brief(), 400) + "\n")
		}
	}
	return strings.ToValidUTF8(b.String()[:min(b.Len(), most)], "")
}

// bytes is how much of a text is shown: little, if its piece has much already.
func (p *page) bytes(most int) int {
	if p.pieces != nil && p.pieces.Whole != nil && p.spent > pieceSpent {
		return min(most, pieceScarce)
	}
	return most
}

// elsewhere leads to the page that has the rest of a text, if there is one.
func (p *page) elsewhere(rest string, e repo.Entry) bool {
	if p.pieces == nil || p.pieces.Whole == nil {
		return false
	}
	p.put("<p class=\"more\"><a href=\"{}\">{}</a></p>\n", p.pieces.Whole(e.ID), display.Amount(rest))
	return true
}

// change shows what a call does to a file, or the command that it runs, instead of its arguments. It reports
// whether the call is one of these.
func (p *page) change(c *conversation.Call, e repo.Entry) bool {
	args := c.Object()
	if command := jsonl.GetString(args, "command"); command != "" {
		p.data("", "$ "+command, e)
		return true
	}
	if content := jsonl.GetString(args, "content"); content != "" && jsonl.GetString(args, "file_path") != "" {
		p.data("", content, e)
		return true
	}
	shown := false
	one := func(edit []byte) {
		old, ok := jsonl.String(jsonl.Get(edit, "old_string"))
		next, ok2 := jsonl.String(jsonl.Get(edit, "new_string"))
		if ok && ok2 {
			shown = true
			p.diff(old, next, e)
		}
	}
	one(args)
	for edit := range jsonl.Elements(jsonl.Get(args, "edits")) {
		one(edit)
	}
	return shown
}

// diff shows the lines in which two texts differ.
func (p *page) diff(old, next string, e repo.Entry) {
	var lines []display.TextLine
	for _, d := range entrydiff.Entry([]byte(old), []byte(next)) {
		lines = append(lines, display.DiffLines(d)...)
	}
	p.put("<pre class=\"diff\">\n")
	size := 0
	for i, l := range lines {
		if size += len(l.Text); p.pieces != nil && p.pieces.Whole != nil && (i >= 2*shownLines || size > 2*p.bytes(shownBytes)) {
			p.put("</pre>\n")
			p.elsewhere(strings.Repeat("\n", len(lines)-i), e)
			return
		}
		tag := markup(map[byte]string{'+': "ins", '-': "del"}[l.Sign])
		if tag == "" {
			tag = "span"
		}
		p.put("<{}>{} {}</{}>", tag, string(l.Sign), l.Text, tag)
	}
	p.spent += size
	p.put("</pre>\n")
}

// MarkdownLine escapes a line of recorded text for a Markdown document.
func MarkdownLine(text string, most int) string { return escapeLine(display.Title(text, most)) }
