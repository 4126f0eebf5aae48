package export

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/show/outline"
	"tape/repo"
)

// How much of a text a piece shows if there is a page with the whole of it.
const (
	pieceProse  = 8 << 10
	pieceSpent  = 30 << 10 // bytes of text in one piece, after which each other text gets only pieceScarce
	pieceScarce = 300
)

// PieceOptions say how [Pieces] renders.
type PieceOptions struct {
	// Whole returns the address of an entry on the page that shows long texts whole; pieces cut them. nil: pieces
	// fold them, and cut none.
	Whole func(id int64) string
	// Picture takes a picture as a data: URL and returns the URL for the page.
	Picture func(data string) string
}

// Piece is the HTML of an item of a conversation.
type Piece struct {
	HTML   []byte // valid until the next one
	Entry  int64
	Phase  *repo.Phase // that begins here; nil if none does, or the first one
	Prompt string      // what a person asked, as a title
	Text   string      // what a person or a model said, or the line of a call, for a search
	Cut    bool        // a text was cut
	Hidden int         // events that were left out
	Helper *Subagent   // the subagent that did it; nil: none
}

// Subagent is a subagent, whose pieces are folded together: between its Begin and HelperEnd.
type Subagent outline.Subagent

// Begin returns the HTML that comes before the subagent's pieces on a page.
func (h *Subagent) Begin() []byte {
	var b bytes.Buffer
	w := newOutput(&b)
	(&page{w: w}).beginHelper((*outline.Subagent)(h))
	_ = w.w.Flush() // into memory
	return b.Bytes()
}

// HelperEnd is the HTML that comes after a subagent's pieces on a page.
const HelperEnd = "</details>\n"

// Style is the stylesheet of pages.
func Style() string { return Colours() + pageRules }

// Top has what stands above the conversation on a session's page.
type Top struct {
	Title string
	Facts []string
	Zone  string
	Tools string // HTML: what can be done with the page

	whole top
}

// TopOf reads the whole source for the head of its page.
func TopOf(ctx context.Context, src Source) (Top, error) {
	t, err := src.top(ctx)
	return Top{Title: t.title, Facts: t.facts, Zone: t.zone, Tools: t.tools(), whole: t}, err
}

// Pieces renders the entries of a source as HTML, an item at a time, for pages that the caller puts together.
// Events are left out, except what a model thought. Source.Prose is needed.
func Pieces(ctx context.Context, src Source, t Top, o PieceOptions, use func(Piece) error) error {
	var b bytes.Buffer
	w := newOutput(&b)
	p := &page{w: w, renderProse: src.Prose, zone: t.Zone, dir: t.whole.dir, published: true, pieces: &o}
	phases, whole := src.Phases, o.Whole
	return conversation.Each(ctx, src.Entries, func(it *conversation.Item) error {
		return splitEvents(it, func(it *conversation.Item) error {
			b.Reset()
			p.spent = 0
			h := t.whole.outline.SubagentOf(conversation.Fork(it.Entry))
			p.inHelper = h != nil
			out := Piece{Entry: it.Entry.ID, Helper: (*Subagent)(h)}
			if it.Kind == conversation.Phase && it.Entry.AnchorSeq > 1 { // the first says nothing to readers
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

// textOf returns the text by which a search finds an item.
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
	text := b.String()
	if len(text) <= most {
		return text
	}
	text = strings.ToValidUTF8(text[:most], "")
	if i := strings.LastIndexAny(text, " \n"); i > 0 { // not within a word
		text = text[:i]
	}
	return text + " …"
}

// limit is how many bytes of a text are shown: few, if its piece has much text already.
func (p *page) limit(most int) int {
	if p.pieces != nil && p.pieces.Whole != nil && p.spent > pieceSpent {
		return min(most, pieceScarce)
	}
	return most
}

// elsewhere writes a link to the page that has the rest of a text. It reports whether there is such a page.
func (p *page) elsewhere(rest string, e repo.Entry) bool {
	if p.pieces == nil || p.pieces.Whole == nil {
		return false
	}
	p.put("<p class=\"more\"><a href=\"{}\">{}</a></p>\n", p.pieces.Whole(e.ID), display.Amount(rest))
	return true
}

// MarkdownLine escapes a line of recorded text for a Markdown document.
func MarkdownLine(text string, most int) string { return escapeLine(display.Title(text, most)) }
