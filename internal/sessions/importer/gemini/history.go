package gemini

import (
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// contextTag begins the message in which the program describes its environment to the model.
const contextTag = "<session_context>"

// history remembers the messages so far, so that a repeated history adds only what is new. It compares
// parts, because the ids of messages, and how they are divided into parts, change.
type history struct {
	seen      record.Counter
	repeating map[record.Sum]int // counts in the history that is being repeated; nil if none is
}

func sumOf(kind string, raw []byte) record.Sum {
	return record.SumOf(append([]byte(kind+"\x00"), raw...))
}

// noteID notes the id of a call or result.
func (h *history) noteID(kind, id string) {
	if id != "" {
		h.seen.Next(sumOf(kind, []byte(id)))
	}
}

// hasID reports whether a call or result came before.
func (h *history) hasID(kind, id string) bool {
	return h.seen.Count(sumOf(kind, []byte(id))) > 0
}

// fresh notes a part, and reports whether it is new. Outside of a repeated history everything is new,
// because people say things twice.
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

// newParts returns what is new in a message's content: what somebody says, or nil, and the calls and
// results.
func (h *history) newParts(typ string, content []byte) (said []byte, other [][]byte) {
	if len(content) == 0 || content[0] != '[' {
		if content != nil && !h.fresh(typ, content) {
			return nil, nil
		}
		return content, nil
	}
	var parts [][]byte
	all := true
	for part := range jsonl.Elements(content) {
		call, answer := jsonl.Get(part, "functionCall"), jsonl.Get(part, "functionResponse")
		switch {
		case call != nil && !h.hasID("call", jsonl.GetString(call, "id")),
			answer != nil && !h.hasID("result", jsonl.GetString(answer, "id")):
			other = append(other, part)
			all = false
			if answer != nil {
				h.noteID("result", jsonl.GetString(answer, "id"))
			}
		case call != nil || answer != nil:
			all = false
		case h.repeating != nil && string(jsonl.Get(part, "thought")) == "true":
			all = false // it is in the thoughts of a record
		case h.fresh(typ, part):
			parts = append(parts, part)
		default:
			all = false
		}
	}
	switch {
	case all:
		return content, nil
	case parts == nil:
		return nil, other
	}
	return record.Array(parts), other
}
