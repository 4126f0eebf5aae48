package kimi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type reader struct {
	*record.Forked
	counts record.Counter
	runs   map[string]string // the request to the model that goes on, by fork
	agents map[string]string // subagents, by the call that started them
	model  string
	asked  [][]byte          // the contents of prompts of Kimi Code, until they are in the context
	names  map[string]string // of models, by the names that the user gives them
	whole  bool              // the file has what is in the context, not only what is told to others
	spent  *record.Entry
	usage  []byte            // of spent
	ended  bool              // spent is of a step that has ended
	title  string            // what Kimi calls the session, until it is emitted
	begun  map[string]*begun // calls to which arguments may be added, by fork
	gone   []undone
	seeded bool // what comes before the first prompt is the history of the agent that started this one
}

// maxAsked is how many prompts may wait to be in the context.
const maxAsked = 32

// begun is a call of Kimi CLI, whose arguments may come in several parts.
type begun struct {
	id, name, key, date string
	arguments           strings.Builder
}

// Read makes the entries of a session. Subagents of Kimi CLI are forks.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Forked: record.NewForked(r), runs: map[string]string{}, agents: map[string]string{}, names: map[string]string{}, begun: map[string]*begun{}}
	var undo undos
	prompted := false
	if err := record.Scan(ctx, r.Source, isRecord, nil, func(at record.Span, raw []byte) bool {
		typ := jsonl.GetString(raw, "type")
		c.whole = c.whole || strings.HasPrefix(typ, "context.")
		prompted = prompted || typ == "turn.prompt"
		if role := jsonl.GetString(raw, "message", "role"); !prompted && typ == "context.append_message" && (role == "assistant" || role == "tool") {
			c.seeded = true
		}
		undo.see(at.Line, raw)
		return true
	}); err != nil {
		return err
	}
	c.gone, c.seeded = undo.gone, c.seeded && (prompted || r.Open) && isSubagent(r.Name)
	if path, err := filepath.Abs(r.Name); err == nil && r.Name != "-" && (agent(path) == "" || agent(path) == mainAgent) {
		state := stateOf(path)
		c.title = cmp.Or(jsonl.GetString(state, "custom_title"), jsonl.GetString(state, "customTitle"), jsonl.GetString(state, "title"))
	}
	err := record.Each(ctx, r.Source, isRecord, nil, c)
	if !r.Open {
		for _, fork := range slices.Sorted(maps.Keys(c.begun)) {
			c.called(fork)
		}
		c.passUsage()
		c.putTitle()
	}
	c.End()
	return err
}

// putTitle emits the title, once. Its place is the end of the first turn, so that it is the same whether a session is
// recorded or imported.
func (c *reader) putTitle() {
	t := c.In("")
	hidden := t.Hidden
	t.Hidden = false
	t.PutTitle(c.title)
	t.Hidden, c.title = hidden, ""
}

func isRecord(raw []byte) bool {
	m := record.MembersOf(raw)
	return m.Has("type") || m.Has("timestamp", "message") || m.Has("role")
}

// firstPrompt returns the line with the first prompt of a session of Kimi CLI, with its date.
func firstPrompt(path string) (first string) {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return ""
	}
	_ = record.Scan(context.Background(), record.Source{Name: path, R: f, Size: st.Size()}, isRecord, nil, func(at record.Span, raw []byte) bool {
		if jsonl.GetString(raw, "message", "type") == "TurnBegin" {
			first = string(raw)
		}
		return first == "" && at.Opens()
	}) // what cannot be read has no prompt
	return first
}

// Record makes the entries of a line.
func (c *reader) Record(at record.Span, raw []byte) {
	c.Stats.Records++
	key := c.counts.Key(raw)
	hidden := slices.ContainsFunc(c.gone, func(u undone) bool { return u.from <= at.Line && at.Line < u.to })
	if t := c.In(""); hidden != t.Hidden {
		c.passUsage()
		t.Flush()
		t.Hidden = hidden
	}
	if role := jsonl.GetString(raw, "role"); role != "" {
		c.inContext(key, role, raw)
		return
	}
	if jsonl.GetString(raw, "type") != "" {
		c.code(key, record.Date(record.Or(jsonl.Get(raw, "time"), jsonl.Get(raw, "created_at"))), raw)
		return
	}
	c.cli("", key, record.Date(jsonl.Get(raw, "timestamp")), jsonl.Get(raw, "message"))
}

// inContext makes the entries of a line of context.jsonl, which has no dates. It is all that there is of a session of a version
// without wire.jsonl.
func (c *reader) inContext(key, role string, raw []byte) {
	t, content := c.In(""), jsonl.Get(raw, "content")
	text, _ := record.Plain(record.Or(content, `""`))
	switch {
	case role == "_checkpoint": // a place to go back to
	case role == "_system_prompt":
		t.Put(record.Entry{Kind: record.KindSystem, Keys: []string{key}, Payload: record.With(nil, "content", record.Compact(text))})
	case role == "_usage":
		t.Put(record.Event(key, "", "context.usage", record.NewObject(64).Rest(raw, "role").Done()))
	case role == "user" && strings.HasPrefix(record.Text(text), "<system-reminder>"): // nobody said it
		t.Put(record.Event(key, "", "context", record.With(nil, "content", record.Compact(text))))
	default:
		m := record.NewObject(len(raw)).All(raw, "tool_calls", "tool_call_id").Raw("toolCalls", jsonl.Get(raw, "tool_calls")).Raw("toolCallId", jsonl.Get(raw, "tool_call_id"))
		c.message(key, "", record.Compact(m.Done()))
	}
}

// cli makes the entries of a message of Kimi CLI.
func (c *reader) cli(fork, key, date string, m []byte) {
	t, data, typ := c.In(fork), jsonl.Get(m, "payload"), jsonl.GetString(m, "type")
	switch typ {
	case "SubagentEvent": // of another fork
	case "ToolCallPart":
		if call := c.begun[fork]; call != nil {
			call.arguments.WriteString(jsonl.GetString(data, "arguments_part"))
			return
		}
	default:
		c.called(fork)
	}
	switch typ {
	case "TurnBegin", "SteerInput":
		t.Put(record.Message(key, date, "user", c.content(jsonl.Get(data, "user_input"))))
	case "StepBegin":
		c.runs[fork] = key
	case "TurnEnd":
	case "ContentPart":
		c.part(fork, key, date, data)
	case "ToolCall":
		c.begun[fork] = &begun{id: jsonl.GetString(data, "id"), name: jsonl.GetString(data, "function", "name"), key: key, date: date}
		c.begun[fork].arguments.WriteString(jsonl.GetString(data, "function", "arguments"))
	case "ToolResult":
		result := jsonl.Get(data, "return_value")
		content := c.content(jsonl.Get(result, "output"))
		if record.Blank(content) {
			content = record.Compact(record.Or(jsonl.Get(result, "message"), content))
		}
		id := jsonl.GetString(data, "tool_call_id")
		res := record.Result{ID: id, Key: key, Date: date, Content: content, Failed: string(jsonl.Get(result, "is_error")) == "true"}
		if agent := c.agents[id]; agent != "" {
			res.Ends = []string{agent}
		}
		t.Result(res, record.NewObject(256).Rest(result, "output", "is_error").OrNil())
	case "SubagentEvent":
		call := cmp.Or(jsonl.GetString(data, "parent_tool_call_id"), jsonl.GetString(data, "task_tool_call_id"))
		if of := c.begun[fork]; of != nil && of.id == call {
			c.called(fork)
		}
		agent := subagentPrefix + cmp.Or(jsonl.GetString(data, "agent_id"), call)
		c.agents[call] = agent
		c.cli(agent, key, date, jsonl.Get(data, "event"))
	default:
		if usage := jsonl.Get(data, "token_usage"); typ == "StatusUpdate" && jsonl.IsObject(usage) {
			run := record.NewObject(256).Raw("message_id", jsonl.Get(data, "message_id")).Raw("usage", tokens(usage)).Rest(data, "message_id", "token_usage")
			t.InRun(c.runs[fork])(record.Event(key, date, record.EventRun, run.Done()))
			return
		}
		rest := record.NewObject(256).Rest(data).Done()
		if typ != "StatusUpdate" || len(rest) > len("{}") {
			t.Put(record.Event(key, date, cmp.Or(typ, "record"), rest))
		}
	}
}

// called emits the call of a fork that has all of its arguments.
func (c *reader) called(fork string) {
	if call := c.begun[fork]; call != nil {
		delete(c.begun, fork)
		c.In(fork).Call(record.NewCall(call.id, call.name, []byte(call.arguments.String()), call.key, call.date))
	}
}

// tokens returns the usage of a request under the names of Anthropic.
func tokens(usage []byte) []byte {
	return record.NewObject(128).As(usage, map[string]string{
		"input_other": "input_tokens", "output": "output_tokens", "input_cache_read": "cache_read_input_tokens", "input_cache_creation": "cache_creation_input_tokens",
		"inputOther": "input_tokens", "inputCacheRead": "cache_read_input_tokens", "inputCacheCreation": "cache_creation_input_tokens",
	}).Done()
}

// part makes the entry of a part of an answer.
func (c *reader) part(fork, key, date string, part []byte) {
	put := c.In(fork).InRun(c.runs[fork])
	switch typ := jsonl.GetString(part, "type"); typ {
	case "text":
		put(record.Message(key, date, "assistant", record.Or(jsonl.Get(part, "text"), `""`)))
	case "think":
		if text := record.Or(jsonl.Get(part, "think"), string(record.Or(jsonl.Get(part, "text"), `""`))); !record.Blank(text) {
			put(record.Event(key, date, record.EventThinking, record.NewObject(len(text)+32).Raw("thinking", text).Rest(part, "type", "think", "text").Done()))
		}
	default:
		put(record.Message(key, date, "assistant", record.Array([][]byte{c.media(part)})))
	}
}

// content returns a content that may be a text or parts. Pictures are as OpenAI's API has them.
func (c *reader) content(content []byte) []byte {
	if len(content) == 0 || content[0] != '[' {
		return record.Compact(record.Or(content, `""`))
	}
	plain, _ := record.Plain(c.parts(content))
	return plain
}

func (c *reader) parts(content []byte) []byte {
	var parts [][]byte
	for part := range jsonl.Elements(content) {
		parts = append(parts, c.media(part))
	}
	return record.Array(parts)
}

// asks returns the content of a prompt. Texts of skills that come before what was typed stay apart from it.
func (c *reader) asks(content, origin []byte) []byte {
	if jsonl.Get(origin, "skillActivations") != nil {
		return c.parts(content)
	}
	return c.content(content)
}

// media returns a part under the names that Kimi CLI gives. Kimi Code keeps large files in a folder "blobs", and refers
// to one as "blobref:TYPE;NAME".
func (c *reader) media(part []byte) []byte {
	for _, kind := range []string{"image", "audio", "video"} {
		file := jsonl.Get(part, kind+"Url")
		if file == nil {
			continue
		}
		url := jsonl.GetString(file, "url")
		if ref, ok := strings.CutPrefix(url, "blobref:"); ok {
			typ, name, _ := strings.Cut(ref, ";")
			if data := c.Kept(filepath.Dir(c.Name), "blobs", name); data != nil {
				url = "data:" + typ + ";base64," + base64.StdEncoding.EncodeToString(data)
			}
		}
		o := record.NewObject(len(url)+64).Str("url", url).Rest(file, "url")
		return record.NewObject(len(url)+128).Raw("type", jsonl.Get(part, "type")).Raw(kind+"_url", o.Done()).Rest(part, "type", kind+"Url").Done()
	}
	return record.Compact(part)
}

// code makes the entries of a line of Kimi Code.
func (c *reader) code(key, date string, raw []byte) {
	t, typ := c.In(""), jsonl.GetString(raw, "type")
	c.model = cmp.Or(jsonl.GetString(raw, "modelAlias"), c.model)
	switch typ {
	case "turn.prompt", "turn.steer":
		c.seeded = false
		if input := jsonl.Get(raw, "input"); input != nil && !record.Blank(input) {
			content := c.asks(input, jsonl.Get(raw, "origin"))
			if len(c.asked) == maxAsked {
				c.asked = c.asked[1:]
			}
			c.asked = append(c.asked, bytes.Clone(content))
			p := record.Message(key, date, "user", content)
			without := []string{"type", "time", "agentId", "input", "turnId"}
			if jsonl.GetString(raw, "origin", "name") == "subagent" { // the request to a subagent, which its tape is about
				without = append(without, "origin")
			}
			p.Extra = record.NewObject(64).Rest(raw, without...).OrNil()
			t.Put(p)
		}
	case "agent.message.appended": // newer versions repeat each message so
		if m := jsonl.Get(raw, "message", "message"); !c.whole && m != nil {
			c.message(key, date, m)
		}
	case "context.append_message":
		if !c.seeded { // the agent that started this one has it in a file of its own (MoonshotAI/kimi-code#3007)
			c.message(key, date, jsonl.Get(raw, "message"))
		}
	case "context.append_loop_event":
		c.step(key, date, jsonl.Get(raw, "event"))
	case "context.apply_compaction":
		state := record.NewObject(1024).Raw("summary", summary(raw)).Rest(raw, "type", "time", "agentId", "summary")
		t.Put(record.Anchor(key, date, "compaction", state.Done()))
	case "context.clear":
		t.Put(record.Anchor(key, date, "clear", nil))
	case "usage.record":
		c.record(key, date, raw)
	case "llm.request":
		c.names[jsonl.GetString(raw, "modelAlias")] = jsonl.GetString(raw, "model")
		t.Put(record.Event(key, date, typ, record.NewObject(256).Rest(raw, "type", "time", "agentId").Done()))
	case "llm.tools_snapshot", "mcp.tools_discovered": // descriptions of tools would only be in the way
		var tools [][]byte
		for tool := range jsonl.Elements(jsonl.Get(raw, "tools")) {
			tools = append(tools, record.Or(jsonl.Get(tool, "name"), "null"))
		}
		t.Put(record.Event(key, date, typ, record.NewObject(256).Raw("tools", record.Array(tools)).Rest(raw, "type", "time", "agentId", "tools").Done()))
	case "config.update", "profile.bind":
		if prompt := jsonl.Get(raw, "systemPrompt"); prompt != nil && !record.Blank(prompt) {
			t.Put(record.Entry{Kind: record.KindSystem, Keys: []string{key + "/system"}, Date: date, Payload: record.With(nil, "content", prompt)})
		}
		t.Put(record.Event(key, date, typ, record.NewObject(256).Rest(raw, "type", "time", "agentId", "systemPrompt").Done()))
	case "metadata":
		if rest := record.NewObject(64).Rest(raw, "type", "created_at", "protocol_version").OrNil(); rest != nil {
			t.Put(record.Event(key, date, typ, rest))
		}
	default:
		ended := typ == "turn.ended"
		if ended {
			c.passUsage()
		}
		t.Put(record.Event(key, date, typ, record.NewObject(256).Rest(raw, "type", "time", "agentId").Done()))
		if ended {
			c.putTitle()
		}
	}
}

// summary returns the summary of a compaction, which may be a text or a message, or only be what the model gets.
func summary(raw []byte) []byte {
	said := record.Or(jsonl.Get(raw, "summary"), string(jsonl.Get(raw, "contextSummary")))
	if content := jsonl.Get(said, "content"); content != nil {
		said, _ = record.Plain(content)
	}
	return said
}

// message makes the entries of a message of Kimi Code, which has the whole of it.
func (c *reader) message(key, date string, m []byte) {
	t, content, origin := c.In(""), jsonl.Get(m, "content"), jsonl.GetString(m, "origin", "kind")
	extra := record.NewObject(64).Rest(m, "role", "content", "toolCalls", "toolCallId", "isError").OrNil()
	switch role := jsonl.GetString(m, "role"); role {
	case "assistant":
		i := 0
		if len(content) > 0 && content[0] == '"' && !record.Blank(content) {
			content = record.Array([][]byte{record.NewObject(len(content)).Str("type", "text").Raw("text", content).Done()})
		}
		for part := range jsonl.Elements(content) {
			c.part("", record.BlockKey(key, i), date, part)
			i++
		}
		for call := range jsonl.Elements(jsonl.Get(m, "toolCalls")) {
			name := cmp.Or(jsonl.GetString(call, "name"), jsonl.GetString(call, "function", "name"))
			arguments := cmp.Or(jsonl.GetString(call, "arguments"), jsonl.GetString(call, "function", "arguments"))
			t.Call(record.NewCall(jsonl.GetString(call, "id"), name, []byte(arguments), record.BlockKey(key+"/call", i), date))
			i++
		}
	case "tool":
		res := record.Result{ID: jsonl.GetString(m, "toolCallId"), Key: key, Date: date, Content: c.content(content), Failed: string(jsonl.Get(m, "isError")) == "true"}
		t.Result(res, extra)
	case "system":
		t.Put(record.Entry{Kind: record.KindSystem, Keys: []string{key}, Date: date, Payload: record.With(nil, "content", c.content(content)), Extra: extra})
	default:
		said := c.asks(content, jsonl.Get(m, "origin"))
		i := slices.IndexFunc(c.asked, func(asked []byte) bool { return bytes.Equal(said, asked) })
		switch {
		case i >= 0:
			c.asked = slices.Delete(c.asked, i, i+1) // the prompt is on the tape
		case origin == "" || origin == "user" || origin == "skill_activation" || origin == "plugin_command":
			p := record.Message(key, date, cmp.Or(role, "user"), said)
			p.Extra = extra
			t.Put(p)
		default: // nobody said it
			t.Put(record.Event(key, date, "context."+origin, record.NewObject(256).Raw("content", said).Rest(m, "role", "content").Done()))
		}
	}
}
