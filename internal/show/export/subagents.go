package export

import (
	"path"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/show/outline"
)

// splitEvents passes an item to use. It splits an item of events where another agent's events begin.
func splitEvents(it *conversation.Item, use func(*conversation.Item) error) error {
	if it.Kind != conversation.Events {
		return use(it)
	}
	for rest := it.Events; len(rest) > 0; {
		n, fork := 1, conversation.Fork(rest[0].Entry)
		for n < len(rest) && conversation.Fork(rest[n].Entry) == fork {
			n++
		}
		one := *it
		one.Entry, one.Events, rest = rest[0].Entry, rest[:n], rest[n:]
		if err := use(&one); err != nil {
			return err
		}
	}
	return nil
}

// task is what a subagent was asked to do, on one line.
func task(h *outline.Subagent) string {
	if h.Task == "" {
		return display.Title(path.Base(h.Fork), nameMost)
	}
	return display.Title(h.Task, nameMost)
}

// amountDone says how much a subagent did.
func amountDone(h *outline.Subagent) string {
	if h.Calls == 0 {
		return display.Entries(h.Entries)
	}
	return display.Count(h.Calls, "call", "calls")
}

func (p *page) beginHelper(h *outline.Subagent) {
	p.inHelper = true
	p.put("<details class=\"helper\"><summary><strong>Subagent</strong> <span class=\"task\" dir=\"auto\"{}>{}</span> <span class=\"dim\">{}</span></summary>\n", language(h.Task), task(h), amountDone(h))
}

func (p *page) endHelper() {
	p.inHelper = false
	p.put("</details>\n")
}

func (d *document) beginHelper(h *outline.Subagent) {
	d.inHelper = true
	d.fold("Subagent", task(h)+" · "+amountDone(h))
}

func (d *document) endHelper() {
	d.inHelper = false
	d.w.printf("\n%s\n", FoldEnds)
}

// The lines of a Markdown document between which calls and the work of subagents are folded.
const (
	FoldBegins = "<details><summary>"
	FoldEnds   = "</details>"
)
