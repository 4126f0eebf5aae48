package export

import (
	"context"
	"time"

	"tape/internal/show/export/markup"
	"tape/repo"
)

// Piece is a block for programs that show it in their own way. Pictures and artifacts are not
// among its parts: the entries have them.
type Piece struct {
	Kind    string // phase, message, calls, results, events, error
	Entry   repo.Entry
	Look    string // user, assistant, system, other: of a message
	Who     string
	Parts   []Part
	Summary string // of an anchor
	Calls   []Call
	Events  []repo.Entry
}

// Part is text, or something else as readable data, which then has a name.
type Part struct{ Name, Text string }

// Call is a call of a tool with what came of it. Of results without their call it has those alone.
type Call struct {
	ID, Name, Brief, Args string
	Results               []CallResult
	Failed                bool
	Took                  time.Duration
}

// CallResult is what a call returned.
type CallResult struct {
	Entry repo.Entry
	Index int
	Parts []Part
}

var pieceKinds = [...]string{"phase", "message", "calls", "results", "events", "error"}

// Pieces calls use for each block of the entries, in their order.
func Pieces(ctx context.Context, src Source, use func(Piece) error) error {
	return eachBlock(ctx, src, func(b *block) error {
		p := Piece{Kind: pieceKinds[b.kind], Entry: b.entry, Who: who(b.entry), Events: b.events}
		switch b.kind {
		case blockPhase:
			o := readOpening(b.entry)
			p.Summary, p.Parts = o.summary, dataParts("state", o.state)
		case blockMessage:
			p.Look, p.Parts = string(classOf(b.entry)), partsOf(messageParts(b.entry))
		case blockError:
			title, details := errorText(b.entry)
			p.Summary, p.Parts = title, dataParts("details", details)
		case blockCalls:
			p.Parts = partsOf(moreParts(b.entry.Payload, "calls"))
		case blockResults:
			for _, r := range b.results {
				c := Call{Name: "result", Failed: r.failed, Results: []CallResult{{r.entry, r.index, partsOf(r.parts)}}}
				if r.of != nil {
					c.Name, c.ID = r.of.name, r.of.id
				}
				p.Calls = append(p.Calls, c)
			}
		}
		for _, c := range b.calls {
			p.Calls = append(p.Calls, c.public(b.entry))
		}
		return use(p)
	})
}

func (c *call) public(from repo.Entry) Call {
	out := Call{ID: c.id, Name: c.name, Brief: markup.Line(c.brief, briefCut), Args: markup.Safe(c.args)}
	began, known := from.Time()
	for _, r := range c.results {
		out.Failed = out.Failed || r.failed
		out.Results = append(out.Results, CallResult{r.entry, r.index, partsOf(r.parts)})
		if ended, ok := r.entry.Time(); ok && known && ended.After(began) {
			out.Took = ended.Sub(began)
		}
	}
	return out
}

func partsOf(parts []part) []Part {
	var out []Part
	for _, p := range parts {
		if p.file {
			continue
		}
		typed, printed, local := localCommand(p.text)
		if p.kind == "" && local {
			out = append(out, Part{Text: markup.Safe(typed)}, Part{Name: "output", Text: markup.Safe(printed)})
			continue
		}
		out = append(out, Part{Name: markup.Line(p.kind, 80), Text: markup.Safe(p.text)})
	}
	return out
}

func dataParts(name, text string) []Part {
	if text == "" {
		return nil
	}
	return []Part{{name, markup.Safe(text)}}
}

// EventText is an event's name, what it has beside, and whether that is what a model thought.
func EventText(e repo.Entry) (name, data string, thinking bool) {
	if text := thought(e); text != "" {
		return "thinking", markup.Safe(text), true
	}
	return markup.Line(eventName(e), 80), markup.Safe(eventData(e)), false
}

// Asked is what a person asked in an entry, on one line; "" if nothing.
func Asked(e repo.Entry) string { return markup.Line(asked(e), 160) }
