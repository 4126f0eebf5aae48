// Package goose reads the sessions of Goose.
//
// Since version 1.10 Goose keeps them in a SQLite database, sessions/sessions.db in its data folder: "sessions" has the
// facts, "messages" a list of typed parts for each message, "usage_ledger", since schema 15, the tokens and the cost of
// each request. Before, a session was a file of lines: its facts, then the messages. write makes such lines of a
// database; "goose" says what is on each. An export, `goose session export --format json`, is one object with the facts
// and a list "conversation".
//
// Sources: crates/goose/src/session/session_manager.rs and legacy.rs, crates/goose/src/conversation/message.rs in
// block/goose (now aaif-goose/goose); internal/parser/goose.go in kenn-io/agentsview, internal/sources/goose.go in
// vshulcz/deja-vu.
package goose

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Format is the format of Goose.
var Format = record.Format{
	Name: "goose", Title: "Goose", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(m.Has("goose") || m.Has("working_dir", "conversation") || m.Has("working_dir", "message_count") && !m.Has("role") ||
			m.Has("role", "created", "content") && !m.Has("type") && m["content"][0] == '[')
	},
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(record.ContainsAll(head, `"working_dir"`, `"extension_data"`, `"session_type"`))
	},
	Path: func(path, _ string) bool {
		return strings.Contains(path, "/goose/") && strings.Contains(path, "/sessions/")
	},
	Files: record.Files{Folders: folders, Database: &kept},
	Resume: &record.Resume{
		Program: "goose", Args: []string{"session", "--resume", "--session-id"}, IsID: isID, Entry: "session/start", Member: "sessionId",
		Has: func(user record.Where, id, here string) string {
			for _, db := range databases(user) {
				if record.FileContains(db.Path, id) || record.FileContains(db.Path+"-wal", id) {
					return here
				}
			}
			return ""
		},
	},
}

// isID reports whether a text is the id of a session, such as 20260724_3.
func isID(id string) bool {
	day, n, ok := strings.Cut(id, "_")
	return ok && len(day) == 8 && n != "" && strings.Trim(day+n, "0123456789") == ""
}

type reader struct {
	record.Conversation
	record.Once
	facts    []byte // of the session
	archived bool   // the last message is kept for the person, and the model does not see it any more
	counted  bool   // tokens were noted
}

// Read makes the entries of a session.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Conversation: record.Conversation{Reading: r}}
	err := record.EachSession(ctx, r.Source, isRecord, c)
	if !r.Open {
		c.end()
	}
	c.End()
	return err
}

func isRecord(raw []byte) bool {
	m := record.MembersOf(raw)
	return m.Has("goose") || m.Has("role", "content") || m.Has("working_dir")
}

// Record makes the entries of a line.
func (c *reader) Record(_ record.Span, raw []byte) {
	if m := record.MembersOf(raw); m.Text("goose") == "usage" {
		c.Stats.Records++
		c.usage(raw)
	} else if m.Has("role", "content") {
		c.Stats.Records++
		c.message(raw)
	} else if m.Has("working_dir") {
		c.Stats.Records++
		c.session(raw)
		for message := range jsonl.Elements(m["conversation"]) {
			c.Record(record.Span{}, message)
		}
	} else if key := c.Key("", raw); key != "" {
		c.Stats.Records++
		c.Put(record.Event(key, "", "record", record.Compact(raw)))
	}
}

// changing are the facts of a session that change as it goes on, and what other entries say.
var changing = []string{"goose", "id", "name", "description", "user_set_name", "working_dir", "created_at", "updated_at", "archived_at", "extension_data",
	"message_count", "conversation", "usage_ledger", "total_tokens", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
	"accumulated_total_tokens", "accumulated_input_tokens", "accumulated_output_tokens", "accumulated_cache_read_tokens", "accumulated_cache_write_tokens", "accumulated_cost", "usage", "accumulated_usage"}

// session emits the facts of the session.
func (c *reader) session(raw []byte) {
	c.facts = record.Compact(raw)
	id, created := jsonl.GetString(raw, "id"), record.Date(record.Or(jsonl.Get(raw, "created_at"), "null"))
	if _, n, _ := strings.Cut(id, "_"); len(n) < 6 && jsonl.Get(raw, "goose") != nil {
		// A copy of a session has its messages (Goose's copy_session). Older sessions, whose id is a time, were moved to
		// the database with the date of their file.
		c.Own = created
	}
	if data := record.NewObject(256).Rest(c.facts, changing...).OrNil(); data != nil {
		c.Put(record.Event(c.Key("session", raw), created, "session", data))
	}
}

// message makes the entries of a message.
func (c *reader) message(raw []byte) {
	id := jsonl.GetString(raw, "id")
	if strings.HasPrefix(id, "msg_"+jsonl.GetString(c.facts, "id")+"_") {
		id = "" // the database made it up for a message without one, when it was written
	}
	role, created, content := jsonl.GetString(raw, "role"), jsonl.Get(raw, "created"), jsonl.Get(raw, "content")
	key := c.Key(id, slices.Concat([]byte(role), record.Or(created, ""), record.Compact(content)))
	if key == "" {
		return
	}
	date, meta := record.Date(record.Or(created, "null")), record.Compact(record.Or(jsonl.Get(raw, "metadata"), "{}"))
	unseen := string(jsonl.Get(meta, "agentVisible")) == "false"
	if only := string(jsonl.Get(meta, "userVisible")) == "false"; only && !unseen && c.archived {
		// After a compaction, the model sees a summary, and only the person what was before.
		if text, plain := record.Plain(record.Array(blocks(content))); plain {
			c.archived = false
			c.Put(record.Anchor(key, date, "compaction", record.NewObject(len(text)).Raw("summary", text).Done()))
			return
		}
	}
	list := blocks(content)
	if !slices.ContainsFunc(list, func(b []byte) bool { return jsonl.GetString(b, "type") == "systemNotification" }) {
		c.archived = unseen
	}
	of := record.Blocks{Key: key, Date: date, Detail: detail, Extra: record.NewObject(64).All(meta, "usage", "inference").OrNil()}
	if string(of.Extra) == `{"userVisible":true,"agentVisible":true}` {
		of.Extra = nil
	}
	if role == "assistant" {
		c.PutAnswer(record.Array(list), of)
	} else {
		c.person(list, of)
	}
	c.run(key, date, meta)
}

// person emits a message of a person. What is neither said nor a result, such as a permission, is an event.
func (c *reader) person(list [][]byte, of record.Blocks) {
	said := slices.Clone(list)
	for i, b := range list {
		switch typ := jsonl.GetString(b, "type"); typ {
		case "text", "image", "tool_result":
		default:
			c.Put(record.Event(of.Key+"/"+typ+record.BlockKey("", i), of.Date, "part."+typ, record.NewObject(len(b)).Rest(b, "type").Done()))
			said[i] = nil
		}
	}
	if said = slices.DeleteFunc(said, func(b []byte) bool { return b == nil }); len(said) > 0 {
		c.PutPerson(record.Array(said), of)
	}
}

// blocks returns the parts of a message in Anthropic's form.
func blocks(content []byte) (out [][]byte) {
	if content[0] == '"' { // a row that is not JSON
		return [][]byte{record.NewObject(len(content)).Str("type", "text").Raw("text", content).Done()}
	}
	var thinks thoughts
	for part := range jsonl.Elements(record.Compact(content)) {
		o := record.NewObject(len(part) + 64)
		switch call, result := jsonl.Get(part, "toolCall"), jsonl.Get(part, "toolResult"); jsonl.GetString(part, "type") {
		case "toolRequest", "frontendToolRequest":
			if jsonl.Get(call, "value", "name") == nil {
				break // the model's call could not be read
			}
			o.Str("type", "tool_use").Raw("id", jsonl.Get(part, "id")).Raw("name", jsonl.Get(call, "value", "name"))
			part = o.Raw("input", arguments(jsonl.Get(call, "value", "arguments"))).Done()
		case "toolResponse":
			shown, failed := jsonl.Get(result, "value", "content"), string(jsonl.Get(result, "value", "isError")) == "true"
			if shown == nil {
				shown = jsonl.Get(result, "value") // in older versions
			}
			if e := jsonl.Get(result, "error"); e != nil {
				shown, failed = e, true
			}
			o.Str("type", "tool_result").Raw("tool_use_id", jsonl.Get(part, "id")).Raw("content", forModel(shown, true))
			if failed {
				o.Raw("is_error", []byte("true"))
			}
			o.Raw("structuredContent", jsonl.Get(result, "value", "structuredContent"))
			part = o.Raw("shown", forModel(shown, false)).Done()
		case "image":
			source := record.NewObject(len(part)).Str("type", "base64").Raw("media_type", jsonl.Get(part, "mimeType")).Raw("data", jsonl.Get(part, "data")).Done()
			part = o.Str("type", "image").Raw("source", source).Done()
		case "thinking":
			out = thinks.add(out, part)
			continue
		}
		thinks.end(out)
		out = append(out, part)
	}
	thinks.end(out)
	return out
}

// thoughts joins what the model thought. Before version 1.46, each token is a part of its own (aaif-goose/goose#11305). The
// first part gets the whole text, and the others become blank, so that what follows keeps its place and its key.
type thoughts struct {
	first     int      // where the first part is
	texts     [][]byte // without quotes
	signature string
}

// add adds a part.
func (t *thoughts) add(out [][]byte, part []byte) [][]byte {
	text, signature := jsonl.Get(part, "thinking"), jsonl.GetString(part, "signature")
	switch {
	case len(text) < 2 || text[0] != '"':
		t.end(out)
		return append(out, record.Without(part, "signature"))
	case t.texts != nil && (t.signature == "" || t.signature == signature):
		t.texts, t.signature = append(t.texts, text[1:len(text)-1]), signature
		return append(out, []byte(blank))
	}
	t.end(out)
	*t = thoughts{first: len(out), texts: [][]byte{text[1 : len(text)-1]}, signature: signature}
	return append(out, record.Without(part, "signature"))
}

// end joins the parts of a thought.
func (t *thoughts) end(out [][]byte) {
	if len(t.texts) > 1 {
		text := slices.Concat([]byte(`"`), bytes.Join(t.texts, nil), []byte(`"`))
		out[t.first] = record.NewObject(len(text)+64).All(out[t.first], "thinking").Raw("thinking", text).Done()
	}
	*t = thoughts{}
}

// blank is a part without a word, which makes no entry.
const blank = `{"type":"thinking","thinking":""}`

// arguments returns the arguments of a call, an object.
func arguments(raw []byte) []byte {
	if raw == nil || raw[0] != '{' {
		return []byte("{}")
	}
	return raw
}

// forModel returns the parts of a result that are meant for the model, or those that are only shown to the person; nil if
// there are none of these.
func forModel(shown []byte, model bool) []byte {
	if len(shown) == 0 || shown[0] != '[' {
		if model {
			return record.Or(shown, "null")
		}
		return nil
	}
	var out [][]byte
	for part := range jsonl.Elements(shown) {
		to := jsonl.Strings(jsonl.Get(part, "annotations", "audience"))
		if (len(to) == 0 || slices.Contains(to, "assistant")) != model {
			continue
		}
		if data := jsonl.Get(part, "data"); jsonl.GetString(part, "type") == "image" && data != nil {
			source := record.NewObject(len(data)).Str("type", "base64").Raw("media_type", jsonl.Get(part, "mimeType")).Raw("data", data).Done()
			part = record.NewObject(len(data)).Str("type", "image").Raw("source", source).Done()
		}
		out = append(out, part)
	}
	if !model && out == nil {
		return nil
	}
	return record.Array(out)
}

// detail returns what a result has that the model did not see.
func detail(block []byte) []byte {
	return record.NewObject(256).Rest(block, "type", "tool_use_id", "content", "is_error").OrNil()
}

// run emits the model and the tokens of an answer, if the message has them and no ledger does.
func (c *reader) run(key, date string, meta []byte) {
	used, by := jsonl.Get(meta, "usage"), jsonl.Get(meta, "inference")
	if jsonl.Get(c.facts, "usage_ledger") != nil || used == nil && by == nil {
		return
	}
	data := record.NewObject(256)
	if model := cmp.Or(jsonl.GetString(by, "resolvedModel"), jsonl.GetString(by, "requestedModel")); model != "" {
		data.Str("model", model)
	}
	usage := record.NewObject(128).Raw("input_tokens", jsonl.Get(used, "inputTokens")).Raw("output_tokens", jsonl.Get(used, "outputTokens")).Raw("total_tokens", jsonl.Get(used, "totalTokens")).
		Raw("cached_input_tokens", jsonl.Get(used, "cacheReadTokens")).Raw("cache_write_input_tokens", jsonl.Get(used, "cacheWriteTokens"))
	c.counted = c.counted || !usage.Empty()
	data.Raw("usage", usage.OrNil()).Raw("cost", jsonl.Get(used, "cost")).Rest(by, "resolvedModel", "requestedModel")
	c.InRun(key)(record.Event(key+"/run", date, record.EventRun, data.Done()))
}

// usage emits a row of the ledger.
func (c *reader) usage(raw []byte) {
	data := record.NewObject(256).Raw("model", present(raw, "model")).Raw("usage", tokens(raw, "")).Raw("cost", present(raw, "cost"))
	data.Rest(raw, "goose", "id", "session_id", "created_timestamp", "model", "cost", "input_tokens", "output_tokens", "total_tokens", "cache_read_tokens", "cache_write_tokens")
	if key := c.Key("usage:"+string(jsonl.Get(raw, "id")), raw); key != "" {
		c.counted = true
		c.InRun(key)(record.Event(key, record.Date(record.Or(jsonl.Get(raw, "created_timestamp"), "null")), record.EventRun, data.Done()))
	}
}

// present returns a member that is not null.
func present(raw []byte, name string) []byte {
	if v := jsonl.Get(raw, name); string(v) != "null" {
		return v
	}
	return nil
}

// tokens returns numbers of tokens. The input counts those in the cache, as Goose does.
func tokens(raw []byte, prefix string) []byte {
	o := record.NewObject(128)
	for _, of := range [][2]string{{"input_tokens", "input_tokens"}, {"output_tokens", "output_tokens"}, {"total_tokens", "total_tokens"}, {"cache_read_tokens", "cached_input_tokens"}, {"cache_write_tokens", "cache_write_input_tokens"}} {
		o.Raw(of[1], present(raw, prefix+of[0]))
	}
	return o.OrNil()
}

// end emits what is known at the end: the tokens of the whole session, if no message has any, and the title. Of several
// sums with the session's id, as it goes on, what is more counts.
func (c *reader) end() {
	date := record.Date(record.Or(jsonl.Get(c.facts, "updated_at"), "null"))
	usage := tokens(c.facts, "accumulated_")
	if all := jsonl.Get(c.facts, "accumulated_usage"); usage == nil && jsonl.IsObject(all) { // in exports since version 1.46
		usage = record.NewObject(128).As(all, map[string]string{"input_tokens": "input_tokens", "output_tokens": "output_tokens", "total_tokens": "total_tokens",
			"cache_read_input_tokens": "cached_input_tokens", "cache_write_input_tokens": "cache_write_input_tokens"}).OrNil()
	}
	if usage != nil && !c.counted {
		data := record.NewObject(256)
		if model := model(c.facts); model != "" {
			data.Str("model", model)
		}
		data.Str("message_id", cmp.Or(jsonl.GetString(c.facts, "id"), c.Stem())).Raw("usage", usage).Raw("cost", present(c.facts, "accumulated_cost"))
		all := data.Done()
		c.Put(record.Event("usage:"+record.ContentKey(all, 1), date, record.EventRun, all))
	}
	// The list of extensions has their settings, and keys may be among them.
	if states := record.NewObject(256).Rest(jsonl.Get(c.facts, "extension_data"), "enabled_extensions.v0").OrNil(); states != nil {
		c.Put(record.Event("extensions:"+record.ContentKey(states, 1), date, "session.extensions", states))
	}
	title := cmp.Or(jsonl.GetString(c.facts, "name"), jsonl.GetString(c.facts, "description"))
	for _, unnamed := range []string{"CLI Session", "ACP Session", "New Chat", "New session"} {
		if strings.HasPrefix(title, unnamed) {
			title = "" // Goose has not found one yet
		}
	}
	if title != "" {
		c.Put(record.Event("title:"+title, date, "tape.title", record.NewObject(64).Str("title", title).Done()))
	}
}

// model returns the model of a session.
func model(facts []byte) string {
	return cmp.Or(jsonl.GetString(facts, "model_config_json", "model_name"), jsonl.GetString(facts, "model_config", "model_name"))
}

// Describe reads the facts of a session, and the date of its first message.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	var facts []byte
	err := record.ScanSession(ctx, src, isRecord, func(raw []byte) bool {
		info.Began(record.Or(jsonl.Get(raw, "created_at"), record.Or(jsonl.Get(raw, "created"), "null")))
		if m := record.MembersOf(raw); facts == nil && m.Has("working_dir") && !m.Has("role") {
			facts = record.Compact(raw)
		}
		return info.Started == ""
	})
	info.Complete = info.Started != ""
	id := jsonl.GetString(facts, "id")
	if id == "" && isID(src.Stem()) {
		id = src.Stem()
	}
	info.Session = cmp.Or(id, info.Session)
	state := record.NewObject(256)
	if id != "" {
		state.Str("sessionId", id)
	}
	state.Raw("cwd", present(facts, "working_dir"))
	if model := model(facts); model != "" {
		state.Str("model", model)
	}
	state.Raw("provider", present(facts, "provider_name"))
	info.State = state.OrNil()
	if parent := jsonl.GetString(facts, "parent_session_id"); parent != "" && id != "" {
		info.Agent, info.Session = "agent-"+id, parent
	}
	return err
}
