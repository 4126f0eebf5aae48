package resume

import (
	"context"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
	"tape/repo"
	"tape/repo/view"
)

// Told counts what was written, what was left out, and what became text.
type Told struct {
	Messages int // of the user and the model
	Calls    int
	Thoughts int // left out: another model does not accept their signatures
	Pictures int // of results, and documents: a text says what is missing
}

// conversation returns what a model would be sent of a tape, in the form that all providers accept. It begins with the
// anchor from; if that is "", it is the tape's context.
func conversation(ctx context.Context, t *repo.Tape, from string) (said []record.WrittenMessage, told Told, err error) {
	seq := t.Context(ctx)
	if from != "" {
		seq = t.Entries(ctx, repo.Query{From: from, To: repo.Latest, Inclusive: true})
	}
	var entries []repo.Entry
	for e, err := range view.Each(ctx, t, seq, view.Inlined) {
		if err != nil {
			return nil, told, err
		}
		switch {
		case e.Kind == repo.KindAnchor && e.Anchor == repo.FirstAnchor: // it only says where the session began
		case e.Kind == repo.KindEvent && jsonl.GetString(e.Payload, "name") == record.EventThinking && !e.Hidden():
			told.Thoughts++
		default:
			entries = append(entries, e)
		}
	}
	c, err := view.Messages(entries, view.Options{Format: view.Anthropic})
	if err != nil {
		return nil, told, err
	}
	names := map[string]string{} // of tools, by call
	for _, raw := range c.Messages {
		m := record.WrittenMessage{Model: jsonl.GetString(raw, "role") == "assistant"}
		for block := range jsonl.Elements(jsonl.Get(raw, "content")) {
			if b, ok := blockOf(block, names, &told); ok {
				m.Blocks = append(m.Blocks, b)
			}
		}
		if len(m.Blocks) == 0 {
			continue
		}
		if said = append(said, m); m.Model || m.Texts() != nil {
			told.Messages++
		}
	}
	return said, told, nil
}

func blockOf(raw []byte, names map[string]string, told *Told) (b record.Block, ok bool) {
	str := func(path ...string) string { return jsonl.GetString(raw, path...) }
	switch str("type") {
	case "tool_use":
		told.Calls++
		names[str("id")] = str("name")
		b.Call = &record.Asked{ID: str("id"), Name: str("name"), Input: record.Compact(jsonl.Get(raw, "input"))}
	case "tool_result":
		b.Result = &record.Answered{ID: str("tool_use_id"), Name: names[str("tool_use_id")], Text: resultText(jsonl.Get(raw, "content"), told),
			Failed: string(jsonl.Get(raw, "is_error")) == "true"}
	case "image":
		if str("source", "type") != "base64" {
			b.Text = "[image: " + str("source", "url") + "]"
			break
		}
		b.Image = &record.Image{Media: str("source", "media_type"), Base64: str("source", "data")}
	case "document":
		told.Pictures++
		b.Text = "[document " + str("title") + ": not shown]"
	case "thinking", "redacted_thinking":
		told.Thoughts++
		return b, false
	default:
		b.Text = str("text")
	}
	return b, true
}

// resultText returns the text of a result. Parts that are not text are only named.
func resultText(content []byte, told *Told) string {
	if text, ok := jsonl.String(content); ok {
		return text
	}
	var parts []string
	for part := range jsonl.Elements(content) {
		if text := jsonl.GetString(part, "text"); text != "" {
			parts = append(parts, text)
			continue
		}
		told.Pictures++
		parts = append(parts, "["+jsonl.GetString(part, "type")+": not shown]")
	}
	return strings.Join(parts, "\n")
}
