package qwen

import (
	"bytes"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// element is a record from which entries are made.
type element struct {
	*record.Conversation
	raw  []byte
	key  string
	date string
}

// extra returns the fields of the record that have no place in its entries.
func (e element) extra(but ...string) []byte {
	return record.NewObject(64).Rest(e.raw, append(but, "uuid", "parentUuid", "sessionId", "timestamp", "type",
		"provenance", "cwd", "version", "gitBranch", "message", "agentId", "isSidechain", "forkedFrom")...).OrNil()
}

// person emits what a person wrote. A reminder that the program put before the text is a message of its own.
func (e element) person(parts []byte) {
	var said [][]byte
	i := 0
	for part := range jsonl.Elements(parts) {
		if bytes.HasPrefix(jsonl.Get(part, "text"), []byte(`"<system-reminder>`)) {
			i++
			e.Put(record.Message(record.BlockKey(e.key, i), e.date, "user", jsonl.Get(part, "text")))
			continue
		}
		said = append(said, part)
	}
	if said == nil && i > 0 {
		return
	}
	if jsonl.GetString(e.raw, "subtype") == midTurn && len(said) > 0 {
		said[0] = withoutPrefix(said[0])
	}
	content, _ := record.Plain(record.Array(said))
	p := record.Message(e.key, e.date, "user", content)
	if p.Extra = e.extra(); !e.typed() {
		p.Extra = record.NotTyped(p.Extra)
	}
	e.Put(p)
}

// midTurn is the subtype of what a person typed while the model worked, spoken that of what a person and the model said
// to each other by voice.
const (
	midTurn = "mid_turn_user_message"
	spoken  = "realtime_message"
)

// typed reports whether a person wrote a record of type user: others are notices of background tasks, jobs of the clock,
// and what a goal says (ChatRecord in packages/core/src/services/chatRecordingService.ts of QwenLM/qwen-code).
func (e element) typed() bool {
	subtype, by := jsonl.GetString(e.raw, "subtype"), jsonl.GetString(e.raw, "provenance")
	return (subtype == "" || subtype == midTurn || subtype == spoken) && (by == "" || by == "real_user")
}

// withoutPrefix returns a part without the words that Qwen Code puts before what was typed while the model worked.
func withoutPrefix(part []byte) []byte {
	text := jsonl.GetString(part, "text")
	if rest, ok := strings.CutPrefix(text, "\n[User message received "); ok {
		if _, said, ok := strings.Cut(rest, "]: "); ok {
			return record.NewObject(len(part)).Str("text", said).All(part, "text").Done()
		}
	}
	return part
}

// answer emits what the model said, and what it cost.
func (e element) answer(parts []byte) {
	put := e.InRun(e.key)
	i := 0
	for part := range jsonl.Elements(parts) {
		key, text, call := record.BlockKey(e.key, i), jsonl.Get(part, "text"), jsonl.Get(part, "functionCall")
		i++
		switch {
		case call != nil:
			input := record.Compact(record.Or(jsonl.Get(call, "args"), "{}"))
			e.Call(record.NewCall(jsonl.GetString(call, "id"), jsonl.GetString(call, "name"), input, key, e.date))
		case string(jsonl.Get(part, "thought")) == "true":
			data := record.NewObject(len(part)).Raw("thinking", text).Rest(part, "text", "thought")
			put(record.Event(key, e.date, record.EventThinking, data.Done()))
		case text != nil:
			put(record.Message(key, e.date, "assistant", text))
		default:
			put(record.Event(key, e.date, "part", record.Compact(part)))
		}
	}
	usage := record.NewObject(160).As(jsonl.Get(e.raw, "usageMetadata"), map[string]string{
		"promptTokenCount": "input_tokens", "cachedContentTokenCount": "cached_input_tokens", "candidatesTokenCount": "output_tokens",
		"thoughtsTokenCount": "reasoning_output_tokens", "totalTokenCount": "total_tokens",
	})
	data := record.NewObject(256).Raw("model", jsonl.Get(e.raw, "model")).Raw("usage", usage.OrNil())
	put(record.Event(e.key+"/run", e.date, record.EventRun, data.All(e.extra("model", "usageMetadata")).Done()))
}

// result emits the results in a record: usually one.
func (e element) result() {
	shown := jsonl.Get(e.raw, "toolCallResult")
	status := jsonl.GetString(shown, "status")
	i := 0
	for part := range jsonl.Elements(jsonl.Get(e.raw, "message", "parts")) {
		answer := jsonl.Get(part, "functionResponse")
		if answer == nil {
			e.Put(record.Event(record.BlockKey(e.key, i), e.date, "part", record.Compact(part)))
			i++
			continue
		}
		content := record.Or(jsonl.Get(answer, "response"), "null")
		failed := jsonl.Get(content, "error")
		content = record.Or(record.Or(failed, jsonl.Get(content, "output")), content)
		id := jsonl.GetString(answer, "id")
		e.Result(record.Result{
			ID: id, Key: record.BlockKey(e.key, i), Date: e.date, Content: content, Whole: e.kept(id, content),
			Failed: failed != nil || status == "error" || status == "cancelled" ||
				jsonl.GetString(answer, "name") == "run_shell_command" && hasFailed(shown, content),
		}, record.NewObject(64).Rest(shown, "callId").OrNil())
		i++
	}
}

// hasFailed reports whether a command did not exit with 0. Up to version 0.15 only the text says so.
func hasFailed(shown, content []byte) bool {
	code := string(jsonl.Get(shown, "resultDisplay", "exitCode"))
	if code == "" {
		_, code, _ = strings.Cut(record.Text(content), "\nExit Code: ")
		code, _, _ = strings.Cut(code, "\n")
	}
	return strings.Trim(code, "-0123456789") == "" && strings.Trim(code, "0") != ""
}
