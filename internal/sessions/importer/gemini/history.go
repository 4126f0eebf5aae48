package gemini

import (
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// contextTag begins the message in which the program tells the model where it is.
const contextTag = "<session_context>"

// history is what was told so far, so that a history that comes again adds only what is new in
// it. Parts of messages are compared, not messages: their ids and their division change.
type history struct {
	seen      record.Counter
	repeating map[record.Sum]int // how often in the history that is being repeated; nil: none is
}

func sumOf(kind string, raw []byte) record.Sum {
	return record.SumOf(append([]byte(kind+"\x00"), raw...))
}

// tell notes a call, or its result, by its id.
func (h *history) tell(kind, id string) {
	if id != "" {
		h.seen.Next(sumOf(kind, []byte(id)))
	}
}

// knows reports whether a call, or its result, was told.
func (h *history) knows(kind, id string) bool {
	return h.seen.Count(sumOf(kind, []byte(id))) > 0
}

// fresh notes a part, and reports whether it was not told before. Outside of a repeated
// history everything is fresh: people say things twice.
func (h *history) fresh(typ string, part []byte) bool {
	if text := jsonl.Get(part, "text"); text != nil {
		part = text
	}
	sum := sumOf(typ, part)
	if h.repeating != nil {
		h.repeating[sum]++
		if h.repeating[sum] <= h.seen.Count(sum) {
			return false
		}
	}
	h.seen.Next(sum)
	return true
}

// news is what of a message's content is to be told: what somebody says, nil for nothing, and
// calls and results that nothing has told.
func (h *history) news(typ string, content []byte) (said []byte, other [][]byte) {
	if len(content) == 0 || content[0] != '[' {
		if content != nil && !h.fresh(typ, content) {
			return nil, nil
		}
		return content, nil
	}
	var parts [][]byte
	whole := true
	for part := range jsonl.Elements(content) {
		call, answer := jsonl.Get(part, "functionCall"), jsonl.Get(part, "functionResponse")
		switch {
		case call != nil && !h.knows("call", jsonl.GetString(call, "id")),
			answer != nil && !h.knows("result", jsonl.GetString(answer, "id")):
			other = append(other, part)
			whole = false
			if answer != nil {
				h.tell("result", jsonl.GetString(answer, "id"))
			}
		case call != nil || answer != nil:
			whole = false
		case h.repeating != nil && string(jsonl.Get(part, "thought")) == "true":
			whole = false // it was one of a record's thoughts
		case h.fresh(typ, part):
			parts = append(parts, part)
		default:
			whole = false
		}
	}
	switch {
	case whole:
		return content, nil
	case parts == nil:
		return nil, other
	}
	return record.Array(parts), other
}
