package codex

import (
	"context"

	"tape/internal/sessions/importer/record"
	"tape/internal/store/about"
	"tape/internal/text/jsonl"
)

// A thread_rolled_back says that the last num_turns turns of the user were taken back (openai/codex#9140): the model
// does not see them any more. What they did stays in the file.

const rollbackEvent = "thread_rolled_back"

// findRolledBack returns the parts of a session that were taken back. The turns before the place where reading begins are
// not known.
func findRolledBack(ctx context.Context, r *record.Reading) (out record.TakenBack, err error) {
	if off := cutOff(ctx, r.Source); off >= 0 {
		if r.From != nil {
			return nil, record.ErrNotRestartable
		}
		out = append(out, record.Part{From: off, To: r.Size})
	}
	switch has, err := r.Mentions(`"` + rollbackEvent + `"`); {
	case !has || err != nil:
		return out, err
	case r.From != nil:
		return nil, record.ErrNotRestartable
	}
	var turns []int64 // where each turn begins that was not taken back
	opened := int64(-1)
	err = record.Scan(ctx, r.Source, isRecord, nil, func(at record.Span, raw []byte) bool {
		it := parse(raw)
		switch {
		case it.kind == rollbackEvent:
			n, _ := number(jsonl.Get(it.payload, "num_turns"))
			if n = min(n, int64(len(turns))); n > 0 {
				first := len(turns) - int(n)
				out = append(out, record.Part{From: turns[first], To: at.Off})
				turns = turns[:first]
			}
			opened = -1
		case it.typ == "turn_context" || it.kind == "task_started":
			if opened < 0 {
				opened = at.Off
			}
		case it.asks():
			if opened < 0 {
				opened = at.Off
			}
			turns = append(turns, opened)
			opened = -1
		case it.ends():
			opened = -1
		}
		return true
	})
	return out, err
}

// asks reports whether an item is a person's prompt.
func (it item) asks() (asks bool) {
	if it.typ != "response_item" || it.kind != "message" || it.str("role") != "user" {
		return false
	}
	for part := range jsonl.Elements(jsonl.Get(it.payload, "content")) {
		asks = asks || jsonl.GetString(part, "type") == "input_image" || about.ByPerson(jsonl.GetString(part, "text"))
	}
	return asks
}
