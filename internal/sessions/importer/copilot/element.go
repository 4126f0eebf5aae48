package copilot

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// element is a record from which entries are made.
type element struct {
	*reader
	*record.Conversation // set by emit
	agent                string
	key                  string
	data                 []byte
	date                 string
	takenBack            bool
}

func (e element) event(name string) {
	e.Put(record.Event(e.key, e.date, name, record.Or(e.rest(), "{}")))
}

// rest returns the fields of the data that say something, nil if there are none.
func (e element) rest(but ...string) []byte {
	return record.NewObject(len(e.data)).Rest(e.data, append(but, "interactionId", "supportedNativeDocumentMimeTypes")...).OrNil()
}

func (e element) person() {
	text, _ := record.Plain(record.Or(jsonl.Get(e.data, "content"), `""`))
	p := record.Message(e.key, e.date, "user", text)
	p.Extra = e.rest("content", "transformedContent") // the second is the content with the date
	if !e.typed() {
		p.Extra = record.NotTyped(p.Extra)
	}
	e.Put(p)
}

// typed reports whether a person wrote a message: others are the texts of skills, messages of other agents, notices, and
// what makes Copilot go on by itself (UserMessageData in nodejs/src/generated/session-events.ts of github/copilot-sdk).
func (e element) typed() bool {
	source := jsonl.GetString(e.data, "source")
	return string(jsonl.Get(e.data, "isAutopilotContinuation")) != "true" && jsonl.Get(e.data, "inputOrigin") == nil &&
		!slices.ContainsFunc([]string{"skill", "agent", "system", "schedule", "autopilot"}, func(by string) bool { return strings.HasPrefix(source, by) })
}

// answer emits what the model said. A session.usage_record before it has the usage.
func (e element) answer() {
	put := e.InRun(jsonl.GetString(e.data, "messageId"))
	if thinking := jsonl.Get(e.data, "reasoningText"); thinking != nil && !record.Blank(thinking) {
		put(record.Event(e.key+"/thinking", e.date, record.EventThinking, record.With(nil, "thinking", thinking)))
	}
	content := record.Or(jsonl.Get(e.data, "content"), `""`)
	requests := jsonl.Get(e.data, "toolRequests")
	if !record.Blank(content) || requests == nil || record.Blank(requests) {
		p := record.Message(e.key, e.date, "assistant", content)
		p.Extra = e.rest("content", "messageId", "reasoningText", "toolRequests", "model")
		put(p)
	}
	e.output(put)
	i := 0
	for c := range jsonl.Elements(requests) {
		i++
		input := record.Or(jsonl.Get(c, "arguments"), "{}")
		if inside := record.Inside(input); jsonl.IsObject(inside) { // Copilot Chat has them as a text
			input = inside
		}
		input = record.Compact(input)
		e.Call(record.NewCall(jsonl.GetString(c, "toolCallId"), jsonl.GetString(c, "name"), input, record.BlockKey(e.key, i), e.date))
	}
}

// rewindEvent says that the person went back to the event data.upToEventId: it and what followed it were removed.
const rewindEvent = "session.snapshot_rewind"

// findRewound returns the parts of a session that the person took back, as far as the file still has them.
func findRewound(ctx context.Context, src record.Source) (record.TakenBack, error) {
	var out record.TakenBack
	if has, err := src.Mentions(`"` + rewindEvent + `"`); !has || err != nil {
		return nil, err
	}
	at := map[string]int64{}
	err := record.Scan(ctx, src, isRecord, nil, func(span record.Span, raw []byte) bool {
		at[jsonl.GetString(raw, "id")] = span.Off
		if from, ok := at[jsonl.GetString(raw, "data", "upToEventId")]; ok && jsonl.GetString(raw, "type") == rewindEvent {
			out = append(out, record.Part{From: from, To: span.Off})
		}
		return true
	})
	return out, err
}

// segment is what is known of the usage since the session was started or resumed. Older versions note only the output of
// an answer, and when Copilot ends, the sums of each model; Copilot that is killed notes no sums. Newer ones have a
// session.usage_record for each answer (kenn-io/agentsview#577, getagentseal/codeburn#676).
type segment struct {
	model    string           // the last one that was chosen
	recorded bool             // there are usage records
	output   map[string]int64 // of the answers, by model
}

// output emits the usage of an answer, if Copilot notes no more than its output.
func (e element) output(put func(record.Entry)) {
	tokens := jsonl.Get(e.data, "outputTokens")
	n, err := strconv.ParseInt(string(tokens), 10, 64)
	if err != nil || e.recorded {
		return
	}
	model := cmp.Or(jsonl.GetString(e.data, "model"), e.model)
	if e.segment.output == nil {
		e.segment.output = map[string]int64{}
	}
	e.segment.output[model] += n
	put(record.Event(e.key+"/run", e.date, record.EventRun, run(model, record.NewObject(32).Raw("output_tokens", tokens).Done())))
}

func run(model string, usage []byte) []byte {
	o := record.NewObject(128)
	if model != "" {
		o.Str("model", model)
	}
	return o.Raw("usage", usage).Done()
}

// shutdown emits the usage that the sums of a segment have beside the output of its answers. Their input includes the
// tokens from the cache.
func (e element) shutdown() {
	if e.recorded {
		return
	}
	for model, sums := range jsonl.Fields(jsonl.Get(e.data, "modelMetrics")) {
		used := jsonl.Get(sums, "usage")
		output, _ := strconv.ParseInt(string(jsonl.Get(used, "outputTokens")), 10, 64)
		tokens := record.NewObject(160).Raw("input_tokens", jsonl.Get(used, "inputTokens")).
			Raw("output_tokens", strconv.AppendInt(nil, max(0, output-e.segment.output[model]), 10)).
			Raw("cached_input_tokens", jsonl.Get(used, "cacheReadTokens")).Raw("cache_write_input_tokens", jsonl.Get(used, "cacheWriteTokens"))
		e.Put(record.Event(e.key+"/run/"+model, e.date, record.EventRun, run(model, tokens.Done())))
	}
}

// start notes that a call runs. The call itself came with the answer.
func (e element) start() {
	id := jsonl.GetString(e.data, "toolCallId")
	if !e.Waits(id) {
		e.event("tool.execution_start")
		return
	}
	e.started[id] = e.rest("toolCallId", "toolName", "arguments", "turnId", "model")
}

// result emits a result. Copilot reports success also for a command that exits with an error.
func (e element) result() {
	id := jsonl.GetString(e.data, "toolCallId")
	if string(jsonl.Get(e.data, "isUserRequested")) == "true" {
		e.event("shell.result")
		return
	}
	content := record.Or(record.Or(jsonl.Get(e.data, "result", "content"), jsonl.Get(e.data, "error", "message")), "null")
	code := string(jsonl.Get(e.data, "shellExecution", "exitCode"))
	extra := record.NewObject(512).All(e.started[id]).All(e.rest("toolCallId", "turnId", "model", "success", "toolTelemetry"))
	delete(e.started, id)
	e.Result(record.Result{
		ID: id, Key: e.key, Date: e.date, Content: content,
		Failed: string(jsonl.Get(e.data, "success")) == "false" || code != "" && code != "0" && code != "null",
	}, extra.OrNil())
}

// cost returns the model and the usage of a request. Its input includes the tokens from the cache.
func cost(usage []byte) []byte {
	tokens := record.NewObject(160).Raw("input_tokens", jsonl.Get(usage, "inputTokens")).Raw("output_tokens", jsonl.Get(usage, "outputTokens")).
		Raw("cached_input_tokens", jsonl.Get(usage, "cacheReadTokens")).Raw("cache_write_input_tokens", jsonl.Get(usage, "cacheWriteTokens"))
	data := record.NewObject(256).Raw("model", jsonl.Get(usage, "model")).Raw("usage", tokens.OrNil())
	return data.Rest(usage, "model", "modelDisplayName", "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens").Done()
}
