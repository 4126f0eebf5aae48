package models

import (
	"encoding/json"
	"strings"

	"tape/internal/text/jsonl"
)

// keepBlock keeps a block or an item, and where in the answer it was.
func (a *answer) keepBlock(raw json.RawMessage) {
	place := min(a.text.Len(), 1)
	if n := len(a.calls); n > 0 {
		place = 1 + n
	}
	a.kept.Before, a.kept.At = append(a.kept.Before, raw), append(a.kept.At, place)
}

// among returns the parts of an answer, texts and calls, with the blocks that were kept where they were: providers refuse
// thoughts in another order than they have sent them.
func (k Kept) among(parts []json.RawMessage, isCall func(part json.RawMessage) bool) (out []json.RawMessage) {
	next, calls := 0, 0
	upTo := func(place int) {
		for ; next < len(k.Before) && (next >= len(k.At) || k.At[next] <= place); next++ {
			out = append(out, k.Before[next])
		}
	}
	for _, part := range parts {
		place := 0
		if isCall(part) {
			calls++
			place = calls
		}
		upTo(place)
		out = append(out, part)
	}
	upTo(len(k.Calls) + 1)
	return out
}

// keep adds a piece of a member that the server wants back.
func (a *answer) keep(field string, v []byte) {
	if a.pieces == nil {
		a.pieces = map[string][]json.RawMessage{}
	}
	a.pieces[field] = append(a.pieces[field], append(json.RawMessage(nil), v...))
}

// keeps collects what the server wants back with the calls of a chat completion. What goes back is what came, with its
// pieces put together: OpenRouter's reasoning_details must not be changed
// (https://openrouter.ai/docs/use-cases/reasoning-tokens).
func (a *answer) keeps() {
	message := object{}
	for field, list := range a.pieces {
		message[field] = joinedPieces(list)
	}
	if a.thoughtIn != "" && message["reasoning_details"] == nil {
		message[a.thoughtIn] = quoted(a.reasoning.String())
	}
	if len(message) > 0 {
		a.kept.Message = message
	}
	if a.thoughtIn == "" && a.think.tags[0] != "" && a.reasoning.Len() > 0 {
		a.kept.Prefix = a.think.tags[0] + "\n" + strings.TrimSpace(a.reasoning.String()) + "\n" + a.think.tags[1] + "\n\n"
	}
	var list []json.RawMessage
	found := false
	for _, t := range a.calls {
		if t.name != "" {
			list, found = append(list, orNull(t.kept)), found || t.kept != nil
		}
	}
	if found {
		a.kept.Call = list
	}
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// joinedPieces returns one value of the pieces of a member: lists and texts one after the other, objects with the
// members of all.
func joinedPieces(list []json.RawMessage) json.RawMessage {
	switch list[0][0] {
	case '"':
		var out strings.Builder
		for _, v := range list {
			text, _ := jsonl.String(v)
			out.WriteString(text)
		}
		return quoted(out.String())
	case '[':
		var all [][]byte
		for _, v := range list {
			for el := range jsonl.Elements(v) {
				all = append(all, el)
			}
		}
		return joinedDetails(all)
	}
	out := list[0]
	for _, v := range list[1:] {
		out = merged(out, v)
	}
	return out
}

// growing are the members of a detail whose pieces follow each other.
var growing = []string{"text", "summary", "data", "thinking", "signature"}

// joinedDetails puts the pieces of details together. Pieces of one detail follow each other, and have the same type and
// the same index.
func joinedDetails(all [][]byte) json.RawMessage {
	var out []json.RawMessage
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && sameDetail(all[i], all[n]) {
			n++
		}
		one := json.RawMessage(all[i])
		for _, el := range all[i+1 : n] {
			if other := withoutGrowing(el); len(other) > 0 {
				one = merged(one, encode(other))
			}
		}
		grown := object{}
		for _, name := range growing {
			var text strings.Builder
			found := false
			for _, el := range all[i:n] {
				more, ok := jsonl.String(jsonl.Get(el, name))
				text.WriteString(more)
				found = found || ok
			}
			if found {
				grown[name] = quoted(text.String())
			}
		}
		if n > i+1 {
			one = merged(one, encode(grown))
		}
		out, i = append(out, one), n
	}
	return encode(out)
}

func sameDetail(a, b []byte) bool {
	index := jsonl.Get(a, "index")
	return index != nil && string(index) == string(jsonl.Get(b, "index")) && jsonl.GetString(a, "type") == jsonl.GetString(b, "type")
}

// withoutGrowing returns the other members of a piece that have a value.
func withoutGrowing(el []byte) object {
	out := object{}
	for name, v := range jsonl.Fields(el) {
		if string(v) != "null" {
			out[name] = json.RawMessage(v)
		}
	}
	for _, name := range growing {
		delete(out, name)
	}
	return out
}
