package chatui

import (
	"cmp"
	"context"
	"strings"

	"tape/internal/show/conversation"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// past shows a session's last turns.
func (c *composer) past(ctx context.Context, entries []repo.Entry) {
	if len(entries) == 0 {
		return
	}
	c.stream.Renderer = newRenderer(c.cells(), bool(c.paint)) // what resize has queued runs only after this
	each := func(yield func(repo.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
	_ = conversation.Each(ctx, each, func(it *conversation.Item) error { // neither function returns an error
		c.pastItem(it)
		return nil
	})
	c.space()
	c.print(c.paint.faint(c.fit("── what came before ──")), "")
}

func (c *composer) pastItem(it *conversation.Item) {
	switch {
	case it.Kind == conversation.Failure:
		c.message(it.Summary, true)
	case it.Kind == conversation.Message && it.Entry.Role() == "user": // even if it looks like a command of another program
		c.said(conversation.WithoutContext(it.Text()))
		if id := jsonl.GetString(it.Entry.Meta, "message_id"); id != "" {
			c.told[id] = true
		}
	case it.Kind == conversation.Message && it.Speaker() == conversation.Assistant:
		c.printText(c.stream.Write(it.Text()))
		c.closeText()
	}
	for _, call := range it.Calls {
		if len(call.Results) == 0 {
			c.space()
			c.print(c.callHead(&liveCall{name: call.Name, arguments: call.Arguments}, c.paint.faint("no result"))...)
			continue
		}
		var texts []string
		artifact := ""
		for _, r := range call.Results {
			for _, p := range r.Parts {
				if artifact = cmp.Or(artifact, artifactIn(p.Text)); artifact == "" || !strings.HasPrefix(p.Text, "artifact: ") {
					texts = append(texts, p.Text)
				}
			}
		}
		c.finishedCall(&liveCall{name: call.Name, arguments: call.Arguments}, strings.Join(texts, "\n"), artifact, call.Failed(), call.Took())
	}
}
