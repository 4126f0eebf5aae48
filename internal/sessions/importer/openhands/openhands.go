// Package openhands reads the conversations of OpenHands' command line and of programs that use its SDK.
//
// A conversation is a folder ~/.openhands/conversations/ID with base_state.json, which has the model, the directory and
// the tokens, and a file for each event, events/event-NUMBER-ID.json. A list of events, as OpenHands exports it, is
// read, too. Sources: openhands-sdk/openhands/sdk/event, conversation/persistence_const.py and llm/utils/metrics.py in
// OpenHands/software-agent-sdk; openhands_cli/locations.py in OpenHands/OpenHands-CLI; internal/parser/openhands.go in
// kenn-io/agentsview; src/adapters/openhands in letta-ai/trajectory.
package openhands

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const (
	base        = "base_state.json"
	events      = "events"
	stateChange = "ConversationStateUpdateEvent"
)

// Format is the format of OpenHands.
var Format = record.Format{
	Name: "openhands", Title: "OpenHands", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(isEvent(m) || isBase(m))
	},
	Head: func(head []byte) record.Confidence {
		return record.Certain.If((head[0] == '[' || head[0] == '{' && record.ContainsAll(head, `"items"`)) && record.ContainsAll(head, `"kind"`, `Event"`, `"llm_message"`, `"timestamp"`) ||
			head[0] == '{' && record.ContainsAll(head, `"agent"`, `"llm"`, `"usage_id"`) && jsonl.Get(head, "id") != nil)
	},
	Path: func(path, _ string) bool { return strings.HasSuffix(path, "/"+base) },
	Files: record.Files{
		Ext: base,
		Folders: func(user record.Where) []string {
			dir := user.Folder(".openhands", "OPENHANDS_PERSISTENCE_DIR")
			return []string{cmp.Or(user.Getenv("OPENHANDS_CONVERSATIONS_DIR"), filepath.Join(dir, "conversations")),
				cmp.Or(user.Getenv("OH_CONVERSATIONS_PATH"), filepath.Join(dir, "agent-canvas", "conversations"))} // of Agent Canvas
		},
		IsNote: func(path, name string) bool {
			return isEventFile(name) && strings.HasSuffix(filepath.ToSlash(filepath.Dir(path)), "/"+events) || name == "TASKS.json" && strings.Contains(path, "/conversations/")
		},
		Beside: func(path string) []string { return []string{filepath.Join(filepath.Dir(path), events)} },
	},
}

// isEventFile reports whether a name is that of an event's file: event-00012-1f2e….json.
func isEventFile(name string) bool {
	id, is := strings.CutSuffix(strings.TrimPrefix(name, "event-"+number(name)+"-"), ".json")
	return is && len(number(name)) >= 5 && len(id) >= 8 && strings.Trim(strings.ToLower(id), "0123456789abcdef-") == ""
}

func isBase(m record.Members) bool {
	return m.Has("id", "agent", "workspace") && jsonl.Get(m["agent"], "llm") != nil
}

func isEvent(m record.Members) bool {
	kind := m.Text("kind")
	return m.Has("id", "timestamp") && (strings.HasSuffix(kind, "Event") || strings.HasSuffix(kind, "Observation") || strings.HasPrefix(kind, "Condensation"))
}

type reader struct {
	record.Conversation
	record.Once
	calls map[string]string // ids of calls, by the events that make them
	order []string          // ids of events
	base  []byte
	// active are the ids of the events that are not hidden, nil for all: those that somebody went back behind are.
	active map[string]bool
}

// Read makes the entries of a conversation.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Conversation: record.Conversation{Reading: r}, calls: map[string]string{}}
	var err error
	if isList(r.Source) {
		err = record.Each(ctx, r.Source, isRecord, func(string, []byte) {}, c)
	} else {
		err = record.EachSession(ctx, r.Source, isRecord, c)
	}
	if c.Hidden {
		c.Flush()
		c.Hidden = false
	}
	if !r.Open {
		c.tokens()
	}
	c.End()
	return err
}

// isList reports whether a source is a list of events.
func isList(src record.Source) bool {
	head := make([]byte, 512)
	n, _ := src.R.ReadAt(head, 0) // at the end of the file, n is less
	return record.IsList(head[:n])
}

func isRecord(raw []byte) bool {
	m := record.MembersOf(raw)
	return m.Has("kind") || isBase(m)
}

// Record makes the entries of an event, or of the conversation whose state this is.
func (c *reader) Record(at record.Span, raw []byte) {
	if m := record.MembersOf(raw); isBase(m) {
		c.base = bytes.Clone(raw)
		c.Stats.Records++
		c.folder(at)
		return
	}
	if items := jsonl.Get(raw, "items"); items != nil && jsonl.Get(raw, "kind") == nil { // a page of an export
		for e := range jsonl.Elements(items) {
			c.Record(at, e)
		}
		return
	}
	c.event(raw)
}

// folder reads the events beside the state. One that cannot be read is damaged.
func (c *reader) folder(at record.Span) {
	list, _ := os.ReadDir(filepath.Join(filepath.Dir(c.Name), events)) // there need not be any
	slices.SortFunc(list, func(a, b os.DirEntry) int {
		return cmp.Or(cmp.Compare(len(number(a.Name())), len(number(b.Name()))), strings.Compare(a.Name(), b.Name()))
	})
	list = slices.DeleteFunc(list, func(e os.DirEntry) bool {
		return c.Name == "-" || number(e.Name()) == "" || !strings.HasSuffix(e.Name(), ".json")
	})
	if leaf := jsonl.GetString(c.base, "leaf_event_id"); leaf != "" {
		c.branch(list, leaf)
	}
	for _, e := range list {
		raw := bytes.TrimSpace(c.Beside(filepath.Join(events, e.Name())))
		switch {
		case jsonl.IsObject(raw) && jsonl.Valid(raw) == nil:
			c.event(record.Compact(raw))
		case !c.Open:
			c.Stats.Damaged++
			c.Stats.Problems = append(c.Stats.Problems, record.Problem{Line: at.Line, Msg: "event " + e.Name() + " cannot be read"})
		}
	}
}

// branch finds the events that lead to the last one, leaf, and those after it: the state is written later than events are. An
// event without a parent follows the one before it. A change of the state stands beside the branch, with no event behind it.
func (c *reader) branch(list []os.DirEntry, leaf string) {
	type event struct {
		id, parent string
		beside     bool
	}
	var all []event
	parents, last := map[string]string{}, ""
	for _, e := range list {
		raw := c.Beside(filepath.Join(events, e.Name()))
		if id := jsonl.GetString(raw, "id"); id != "" {
			parents[id] = cmp.Or(jsonl.GetString(raw, "parent_id"), last)
			all = append(all, event{id, parents[id], jsonl.GetString(raw, "kind") == stateChange})
			last = id
		}
	}
	if _, known := parents[leaf]; !known {
		return
	}
	c.active = map[string]bool{}
	for id, known := leaf, true; known && !c.active[id]; {
		c.active[id] = true
		id = parents[id]
		_, known = parents[id]
	}
	after := map[string]bool{leaf: true}
	for _, e := range all {
		after[e.id] = after[e.id] || after[e.parent]
		c.active[e.id] = c.active[e.id] || after[e.id] || e.beside && c.active[e.parent]
	}
}

// number returns the number in the name of an event's file, "" for another file.
func number(name string) string {
	rest, ok := strings.CutPrefix(name, "event-")
	n, _, _ := strings.Cut(rest, "-")
	if !ok || strings.Trim(n, "0123456789") != "" {
		return ""
	}
	return n
}

func (c *reader) event(raw []byte) {
	c.Stats.Records++
	id, kind := jsonl.GetString(raw, "id"), jsonl.GetString(raw, "kind")
	key, date := c.Key(id, raw), record.Date(jsonl.Get(raw, "timestamp"))
	if key == "" {
		return
	}
	if hidden := c.active != nil && !c.active[id]; hidden != c.Hidden {
		c.Flush()
		c.Hidden = hidden
	}
	c.order = append(c.order, id)
	rest := func(but ...string) *record.Object {
		return record.NewObject(256).Rest(raw, append(but, "kind", "id", "timestamp", "parent_id")...)
	}
	switch {
	case kind == "SystemPromptEvent":
		text, _ := record.Plain(content(jsonl.Get(raw, "system_prompt")))
		c.Put(record.Entry{Kind: record.KindSystem, Keys: []string{key}, Date: date, Payload: record.With(nil, "content", text)})
		if more := rest("system_prompt", "source").OrNil(); more != nil {
			c.Put(record.Event(key+"/more", date, "system", more))
		}
	case kind == "MessageEvent":
		c.message(key, date, raw, rest("source", "llm_message", "llm_response_id").OrNil())
	case kind == "ActionEvent":
		c.action(id, key, date, raw)
	case strings.HasSuffix(kind, "Observation") || kind == "ObservationEvent" || kind == "AgentErrorEvent":
		c.result(key, date, kind, raw)
	case kind == "Condensation":
		state := record.NewObject(1024).Raw("summary", jsonl.Get(raw, "summary")).All(rest("summary", "source", "forgotten_event_ids", "llm_response_id").Done())
		if first := c.kept(jsonl.Strings(jsonl.Get(raw, "forgotten_event_ids"))); first != "" {
			state.Raw("kept", record.NewObject(64).Str("first", first).Done())
		}
		c.Put(record.Anchor(key, date, "compaction", state.Done()))
	default:
		c.Put(record.Event(key, date, cmp.Or(kind, "event"), rest().Done()))
	}
}

// kept returns the first of the events that the model still sees after others were forgotten, "" if there is none.
func (c *reader) kept(forgotten []string) (first string) {
	for _, id := range slices.Backward(c.order[:len(c.order)-1]) {
		if slices.Contains(forgotten, id) {
			return first
		}
		if c.active == nil || c.active[id] {
			first = id
		}
	}
	return ""
}

// content returns a content as OpenAI has it; of OpenHands, a picture is {type: "image", image_urls}.
func content(list []byte) []byte {
	if jsonl.IsObject(list) {
		list = record.Array([][]byte{list})
	}
	var parts [][]byte
	for part := range jsonl.Elements(list) {
		urls := jsonl.Get(part, "image_urls")
		if urls == nil {
			parts = append(parts, record.Without(part, "cache_prompt"))
			continue
		}
		for url := range jsonl.Elements(urls) {
			parts = append(parts, record.NewObject(len(url)+64).Str("type", "image_url").Raw("image_url", record.With(nil, "url", url)).Done())
		}
	}
	plain, _ := record.Plain(record.Array(parts))
	return plain
}

// thoughts emits what a model has thought.
func (c *reader) thoughts(key, date string, put func(record.Entry), of []byte) {
	if text := jsonl.Get(of, "reasoning_content"); text != nil && !record.Blank(text) {
		put(record.Event(key+"/thought", date, record.EventThinking, record.With(nil, "thinking", text)))
		return // the blocks repeat it
	}
	i := 0
	for block := range jsonl.Elements(jsonl.Get(of, "thinking_blocks")) {
		if text := jsonl.Get(block, "thinking"); text != nil && !record.Blank(text) {
			put(record.Event(record.BlockKey(key+"/thought", i), date, record.EventThinking, record.With(nil, "thinking", text)))
		}
		i++
	}
}

func (c *reader) message(key, date string, raw, extra []byte) {
	m, run := jsonl.Get(raw, "llm_message"), jsonl.GetString(raw, "llm_response_id")
	said := content(jsonl.Get(m, "content"))
	if text := jsonl.Get(m, "content"); len(text) > 0 && text[0] == '"' {
		said = record.Compact(text)
	}
	role := cmp.Or(jsonl.GetString(m, "role"), "user")
	put := c.Put
	if role == "assistant" {
		put = c.InRun(cmp.Or(run, key))
		c.thoughts(key, date, put, m)
	}
	p := record.Message(key, date, role, said)
	p.Extra = extra
	put(p)
}

func (c *reader) action(id, key, date string, raw []byte) {
	put := c.InRun(cmp.Or(jsonl.GetString(raw, "llm_response_id"), key))
	call := jsonl.Get(raw, "tool_call")
	// Several calls of an answer are events of their own; the first one has the thought.
	c.thoughts(key, date, put, raw)
	if text := content(jsonl.Get(raw, "thought")); !record.Blank(text) {
		put(record.Message(key+"/said", date, "assistant", text))
	}
	callID := cmp.Or(jsonl.GetString(raw, "tool_call_id"), jsonl.GetString(call, "id"), "call-"+id)
	c.calls[id] = callID
	input := []byte(cmp.Or(jsonl.GetString(call, "arguments"), jsonl.GetString(call, "function", "arguments")))
	if len(input) == 0 {
		input = record.NewObject(256).All(jsonl.Get(raw, "action"), "kind").Done()
	}
	c.Call(record.NewCall(callID, cmp.Or(jsonl.GetString(raw, "tool_name"), jsonl.GetString(call, "name")), input, key, date))
}

func (c *reader) result(key, date, kind string, raw []byte) {
	o := jsonl.Get(raw, "observation")
	res := record.Result{ID: cmp.Or(jsonl.GetString(raw, "tool_call_id"), c.calls[jsonl.GetString(raw, "action_id")]), Key: key, Date: date}
	extra := record.NewObject(256).Rest(o, "content", "is_error", "kind")
	switch {
	case kind == "AgentErrorEvent":
		res.Content, res.Failed = record.Compact(record.Or(jsonl.Get(raw, "error"), `""`)), true
	case o == nil:
		res.Content, res.Failed = record.Compact(record.Or(jsonl.Get(raw, "rejection_reason"), `""`)), true
	default:
		res.Content, res.Failed = content(jsonl.Get(o, "content")), string(jsonl.Get(o, "is_error")) == "true"
		if text := jsonl.Get(o, "output"); jsonl.Get(o, "content") == nil && text != nil {
			res.Content, extra = record.Compact(text), record.NewObject(256).Rest(o, "output", "is_error", "kind")
		}
	}
	c.Result(res, extra.OrNil())
}

// tokens emits the tokens and the cost of each request, which the state has. A cost is that of the request at the same
// place.
func (c *reader) tokens() {
	for _, metrics := range jsonl.Fields(jsonl.Get(c.base, "stats", "usage_to_metrics")) {
		var costs [][]byte
		for cost := range jsonl.Elements(jsonl.Get(metrics, "costs")) {
			costs = append(costs, cost)
		}
		i := -1
		for u := range jsonl.Elements(jsonl.Get(metrics, "token_usages")) {
			i++
			id := jsonl.GetString(u, "response_id")
			read, written := jsonl.Get(u, "cache_read_tokens"), jsonl.Get(u, "cache_write_tokens")
			usage := record.NewObject(160).Raw("input_tokens", record.Difference(record.Difference(jsonl.Get(u, "prompt_tokens"), read), written)).
				Raw("output_tokens", jsonl.Get(u, "completion_tokens")).Raw("cache_read_input_tokens", record.Or(read, "0")).
				Raw("cache_creation_input_tokens", record.Or(written, "0")).Raw("reasoning_output_tokens", jsonl.Get(u, "reasoning_tokens"))
			data, date := record.NewObject(256).Raw("model", jsonl.Get(u, "model")).Str("message_id", id).Raw("usage", usage.Done()), ""
			if i < len(costs) {
				data.Raw("cost", jsonl.Get(costs[i], "cost"))
				date = record.Date(jsonl.Get(costs[i], "timestamp"))
			}
			c.InRun(id)(record.Event("tokens:"+c.Counts.Key(u), date, record.EventRun, data.Done()))
		}
	}
}

// workspace returns the directory of a conversation: a path, or an object that has one.
func workspace(state []byte) []byte {
	if dir := jsonl.Get(state, "workspace"); len(dir) > 0 && dir[0] == '"' {
		return dir
	}
	return jsonl.Get(state, "workspace", "working_dir")
}

// Describe reads the state, or the first event.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	state := record.NewObject(256)
	see := func(raw []byte) bool {
		info.Began(jsonl.Get(raw, "timestamp"))
		if !isBase(record.MembersOf(raw)) {
			return info.Started == ""
		}
		info.Session = jsonl.GetString(raw, "id")
		state.Str("sessionId", info.Session).Raw("cwd", workspace(raw)).Raw("model", jsonl.Get(raw, "agent", "llm", "model"))
		for _, name := range disk.Glob(filepath.Dir(src.Name), events+"/event-00000-*.json") {
			info.Began(jsonl.Get(src.Beside(filepath.Join(events, filepath.Base(name))), "timestamp"))
		}
		return false
	}
	var err error
	if isList(src) {
		err = record.Scan(ctx, src, isRecord, func(string, []byte) {}, func(_ record.Span, raw []byte) bool { return see(raw) })
	} else {
		err = record.ScanSession(ctx, src, isRecord, see)
	}
	info.State, info.Complete = state.OrNil(), info.Started != ""
	return err
}
