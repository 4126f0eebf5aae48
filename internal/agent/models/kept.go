package models

import (
	"encoding/json"
	"strings"

	"tape/internal/text/jsonl"
)

// keepBlock keeps a block or an item.
func (a *answer) keepBlock(raw json.RawMessage) {
	a.kept.Before = append(a.kept.Before, raw)
	a.order = append(a.order, 't')
}

// keepOrder keeps the order of the answer's parts, if it is not the one that messages have.
func (a *answer) keepOrder(calls int) {
	if strings.Join(a.phases, "") != "" {
		a.kept.Phases = a.phases
	}
	order := string(a.order)
	simple := strings.TrimRight(order, "c")
	simple = strings.TrimLeft(strings.TrimSuffix(simple, "x"), "t")
	if simple != "" && len(a.kept.Before) == strings.Count(order, "t") && calls == strings.Count(order, "c") {
		a.kept.Order, a.kept.Texts = order, a.texts
	}
}

// among returns the parts of an answer, a text and calls, with what was kept where it was: providers refuse thoughts in
// another order, or after another text, than they have sent them. textPart makes a part of a text.
func (k Kept) among(parts []json.RawMessage, text string, textPart func(text string) json.RawMessage) (out []json.RawMessage) {
	calls := parts
	var said []string
	if text != "" {
		calls = parts[1:]
		said = textsOf(text, k.Texts)
	}
	if k.Order == "" || strings.Count(k.Order, "t") != len(k.Before) || strings.Count(k.Order, "c") != len(calls) || strings.Count(k.Order, "x") != len(said) {
		return append(append(out, k.Before...), parts...)
	}
	kept := k.Before
	for _, kind := range k.Order {
		switch kind {
		case 't':
			out, kept = append(out, kept[0]), kept[1:]
		case 'c':
			out, calls = append(out, calls[0]), calls[1:]
		case 'x':
			out, said = append(out, textPart(said[0])), said[1:]
		}
	}
	return out
}

// textsOf cuts a text where its parts begin; nil if it is not the text that was meant.
func textsOf(text string, begins []int) (out []string) {
	for i, begin := range begins {
		end := len(text)
		if i+1 < len(begins) {
			end = begins[i+1]
		}
		if begin > end || end > len(text) || i > 0 && strings.TrimSpace(text[max(0, begin-1):begin]) != "" {
			return nil
		}
		out = append(out, strings.TrimRight(text[begin:end], " \t\r\n"))
	}
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
