package copilot

import (
	"cmp"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type chatReader struct {
	record.Conversation
	record.Once
}

// request makes the entries of a request and its answer.
func (c *chatReader) request(raw []byte) {
	key, date := c.Key(jsonl.GetString(raw, "requestId"), raw), record.Date(jsonl.Get(raw, "timestamp"))
	if key == "" {
		return
	}
	text := record.Or(jsonl.Get(raw, "message", "text"), record.Or(jsonl.Get(raw, "message"), `""`))
	c.Put(record.Message(key, date, "user", text))
	if more := jsonl.Get(raw, "variableData", "variables"); more != nil && !record.Blank(more) {
		c.Put(record.Event(key+"/context", date, "context", record.With(nil, "variables", record.Compact(more))))
	}
	a := chatAnswer{chatReader: c, key: key + "/answer", date: date, put: c.InRun(key)}
	result := jsonl.Get(raw, "result")
	rounds := jsonl.Get(result, "metadata", "toolCallRounds")
	if rounds != nil && !record.Blank(rounds) {
		a.rounds(rounds, jsonl.Get(result, "metadata", "toolCallResults"))
	} else {
		a.shown(jsonl.Get(raw, "response"))
	}
	if e := jsonl.Get(result, "errorDetails"); e != nil {
		a.put(record.Event(key+"/error", date, "model.error", record.NewObject(128).All(e).Done()))
	}
	a.run(raw, result)
}

// chatAnswer is what was answered to a request.
type chatAnswer struct {
	*chatReader
	key, date string
	n         int
	put       func(record.Entry)
}

func (a *chatAnswer) next() string {
	a.n++
	return record.BlockKey(a.key, a.n-1)
}

func (a *chatAnswer) say(text string) {
	if strings.TrimSpace(text) != "" {
		a.put(record.Message(a.next(), a.date, "assistant", record.Quote(text)))
	}
}

func (a *chatAnswer) think(text string) {
	if strings.TrimSpace(text) != "" {
		a.put(record.Event(a.next(), a.date, record.EventThinking, record.NewObject(len(text)).Str("thinking", text).Done()))
	}
}

// rounds makes the entries of what was sent to the model and came from it.
func (a *chatAnswer) rounds(rounds, results []byte) {
	for round := range jsonl.Elements(rounds) {
		thinking := jsonl.Get(round, "thinking", "text")
		if plain, ok := record.Plain(record.Or(thinking, `""`)); ok {
			a.think(record.Text(plain))
		}
		a.say(jsonl.GetString(round, "response"))
		var ids []string
		for call := range jsonl.Elements(jsonl.Get(round, "toolCalls")) {
			key := a.next()
			id := cmp.Or(jsonl.GetString(call, "id"), "call-"+key)
			input := []byte(record.Text(record.Or(jsonl.Get(call, "arguments"), "null")))
			if !jsonl.IsObject(input) || jsonl.Valid(input) != nil {
				input = record.With(nil, "arguments", record.Or(jsonl.Get(call, "arguments"), "null"))
			}
			a.Call(record.NewCall(id, jsonl.GetString(call, "name"), record.Compact(input), key, a.date))
			ids = append(ids, id)
		}
		for _, id := range ids {
			result := jsonl.Get(results, id)
			if result == nil {
				continue
			}
			a.Result(record.Result{ID: id, Key: a.key + "/result/" + id, Date: a.date, Content: shownToModel(result)}, nil)
		}
	}
}

// shownToModel returns what a result shows the model: its texts, or the list of its parts if there are others.
func shownToModel(result []byte) []byte {
	list := record.Or(jsonl.Get(result, "content"), "null")
	var texts []string
	for part := range jsonl.Elements(list) {
		v := jsonl.Get(part, "value")
		if len(v) == 0 || v[0] != '"' {
			return record.Compact(list)
		}
		texts = append(texts, record.Text(v))
	}
	return record.Quote(strings.Join(texts, "\n"))
}

// shown makes the entries of what the editor has shown.
func (a *chatAnswer) shown(parts []byte) {
	text := ""
	end := func() {
		a.say(text)
		text = ""
	}
	for part := range jsonl.Elements(parts) {
		switch kind := jsonl.GetString(part, "kind"); kind {
		case "":
			text += jsonl.GetString(part, "value")
		case "markdownContent":
			text += jsonl.GetString(part, "content", "value")
		case "inlineReference":
			text += cmp.Or(jsonl.GetString(part, "name"), jsonl.GetString(part, "inlineReference", "path"))
		case "thinking":
			end()
			a.think(jsonl.GetString(part, "value"))
		case "toolInvocationSerialized", "toolInvocation":
			end()
			a.invocation(part)
		default:
			end()
			a.put(record.Event(a.next(), a.date, "part."+kind, record.NewObject(len(part)).Rest(record.Compact(part), "kind").Done()))
		}
	}
	end()
}

// invocation makes a call and its result of what was shown about it.
func (a *chatAnswer) invocation(part []byte) {
	key := a.next()
	id := cmp.Or(jsonl.GetString(part, "toolCallId"), "call-"+key)
	input := record.NewObject(256).Str("message", label(jsonl.Get(part, "invocationMessage"))).Rest(record.Or(jsonl.Get(part, "toolSpecificData"), "{}"))
	a.Call(record.NewCall(id, jsonl.GetString(part, "toolId"), record.Compact(input.Done()), key, a.date))
	shown := record.Compact(record.Or(jsonl.Get(part, "resultDetails"), record.Quote(label(jsonl.Get(part, "pastTenseMessage")))))
	a.Result(record.Result{ID: id, Key: key + "/result", Date: a.date, Content: shown}, nil)
}

// label returns a text that is a string, or an object with one.
func label(raw []byte) string { return cmp.Or(record.Text(raw), jsonl.GetString(raw, "value")) }

// run emits the model, and the tokens if they are noted.
func (a *chatAnswer) run(raw, result []byte) {
	data := record.NewObject(256).Raw("model", jsonl.Get(raw, "modelId"))
	usage := record.NewObject(64)
	for _, of := range [][2]string{{"promptTokens", "input_tokens"}, {"completionTokens", "output_tokens"}, {"outputTokens", "output_tokens"}} {
		usage.Raw(of[1], record.Or(jsonl.Get(result, "usage", of[0]), jsonl.Get(result, "metadata", of[0])))
	}
	data.Raw("usage", usage.OrNil()).Raw("agent", jsonl.Get(raw, "agent", "id")).Raw("timings", jsonl.Get(result, "timings")).Raw("isCanceled", jsonl.Get(raw, "isCanceled"))
	a.put(record.Event(a.key+"/run", a.date, record.EventRun, record.Compact(data.Done())))
}
