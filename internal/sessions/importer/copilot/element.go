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
	model  string           // the last one that was chosen
	output map[string]int64 // of the answers that no sums have yet, by model
}

// summed has the last sums of a session, by model. Once there are usage records, sums add nothing: a session
// that is resumed, and in which nothing is asked, repeats the sums of what came before.
type summed struct {
	recorded bool
	last     map[string]sums  // the last ones
	open     map[string]int64 // the output of the answers since then, also of segments without sums
}

// sums are tokens of input, output, cache reads and cache writes.
type sums [4]int64

func sumsOf(usage []byte) (s sums) {
	for i, name := range [...]string{"inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"} {
		s[i], _ = strconv.ParseInt(string(jsonl.Get(usage, name)), 10, 64)
	}
	return s
}

// since returns what a segment, with answers of so much output, adds to the sums before it; whole is set if they begin
// with the segment. Versions up to May 2026 begin anew when a session is resumed, later ones go on
// (PanAchy/copilot-arewecooked#45, junhoyeo/tokscale#1032).
func (s sums) since(before sums, output int64) (more sums, whole bool) {
	if before == (sums{}) || s[1]-output < before[1] {
		return s, true
	}
	for i := range s {
		if more[i] = s[i] - before[i]; more[i] < 0 {
			return s, true
		}
	}
	return more, false
}

// output emits the usage of an answer, if Copilot notes no more than its output.
func (e element) output(put func(record.Entry)) {
	tokens := jsonl.Get(e.data, "outputTokens")
	n, err := strconv.ParseInt(string(tokens), 10, 64)
	if err != nil || e.recorded {
		return
	}
	model := cmp.Or(jsonl.GetString(e.data, "model"), e.model)
	for _, output := range []*map[string]int64{&e.segment.output, &e.open} {
		if *output == nil {
			*output = map[string]int64{}
		}
		(*output)[model] += n
	}
	put(record.Event(e.key+"/run", e.date, record.EventRun, run(model, record.NewObject(32).Raw("output_tokens", tokens).Done())))
}

func run(model string, usage []byte) []byte {
	o := record.NewObject(128)
	if model != "" {
		o.Str("model", model)
	}
	return o.Raw("usage", usage).Done()
}

// shutdown emits the usage that the sums have beside the output of the answers. Their input includes the tokens from the
// cache.
func (e element) shutdown() {
	if e.recorded {
		return
	}
	if e.last == nil {
		e.last = map[string]sums{}
	}
	for model, metrics := range jsonl.Fields(jsonl.Get(e.data, "modelMetrics")) {
		now, answered := sumsOf(jsonl.Get(metrics, "usage")), e.open[model]
		more, whole := now.since(e.last[model], e.segment.output[model])
		if whole {
			answered = e.segment.output[model]
		}
		e.last[model] = now
		if more == (sums{}) {
			continue
		}
		count := func(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
		tokens := record.NewObject(160).Raw("input_tokens", count(more[0])).Raw("output_tokens", count(max(0, more[1]-answered))).
			Raw("cached_input_tokens", count(more[2])).Raw("cache_write_input_tokens", count(more[3]))
		e.Put(record.Event(e.key+"/run/"+model, e.date, record.EventRun, run(model, tokens.Done())))
	}
	clear(e.segment.output)
	clear(e.open)
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
