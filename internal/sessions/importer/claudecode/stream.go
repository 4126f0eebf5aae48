package claudecode

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Stream is the format of what `claude -p --output-format stream-json` prints, and of the array of the same messages that
// `--output-format json --verbose` and GitHub's claude-code-action keep.
//
// The messages are those of the Agent SDK (https://docs.claude.com/en/docs/agent-sdk/typescript#message-types): "system"
// with the subtype "init" has the facts, "assistant" and "user" have messages in Anthropic's form, "result" ends a turn
// with the sums of the session. The prompt is printed only with --replay-user-messages. Answers have the usage with which
// they began, so the sums count, and the answers' only if the session has no end. There are no dates in most versions.
var Stream = record.Format{
	Name: "claude-stream", Title: "Claude Code's stream-json", Read: readStream, Describe: describeStream,
	Record: func(m record.Members) record.Confidence {
		switch typ := m.Text("type"); {
		case !m.Has("session_id"):
		case typ == "system" && m.Has("subtype"), typ == "result" && m.Has("subtype", "num_turns"),
			(typ == "assistant" || typ == "user") && m.Has("message", "parent_tool_use_id"):
			return record.Certain
		}
		return record.NoMatch
	},
	Head: func(head []byte) record.Confidence {
		return record.High.If(head[0] == '[' && record.ContainsAll(head, `"session_id"`, `"subtype"`, `"system"`))
	},
}

type streamReader struct {
	*record.Forked
	record.Once
	usage map[string]streamUsage // of the answers that no result counts, by message
	sums  map[string][]byte      // of the last result, by model
	order []string               // of messages in usage
}

type streamUsage struct{ model, usage []byte }

// readStream makes the entries of a session. Subagents are forks.
func readStream(ctx context.Context, r *record.Reading) error {
	c := &streamReader{Forked: record.NewForked(r), usage: map[string]streamUsage{}, sums: map[string][]byte{}}
	err := record.Each(ctx, r.Source, isMessage, func(string, []byte) {}, c)
	if !r.Open {
		for _, id := range c.order {
			u := c.usage[id]
			for _, other := range record.Attempts(u.model, u.usage) {
				n := "/" + strconv.Itoa(other.N)
				c.In("").Put(record.Event(id+"/run"+n, "", record.EventRun, record.NewObject(256).Raw("model", other.Model).Str("message_id", id+n).Raw("usage", other.Usage).Done()))
			}
			c.In("").Put(record.Event(id+"/run", "", record.EventRun, record.NewObject(256).Raw("model", u.model).Str("message_id", id).Raw("usage", u.usage).Done()))
		}
	}
	c.End()
	return err
}

func isMessage(raw []byte) bool { return record.MembersOf(raw).Has("type", "session_id") }

// Record makes the entries of a line.
func (c *streamReader) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	typ := jsonl.GetString(raw, "type")
	key := c.Key(jsonl.GetString(raw, "uuid"), raw)
	if key == "" || typ == "stream_event" { // parts of a message that follows
		return
	}
	agent := ""
	if id := jsonl.GetString(raw, "parent_tool_use_id"); id != "" {
		agent = "agent-" + id
	}
	t, date := c.In(agent), record.Date(jsonl.Get(raw, "timestamp"))
	message := jsonl.Get(raw, "message")
	blocks := record.Blocks{Key: key, Date: date, Run: jsonl.GetString(message, "id")}
	switch typ {
	case "user":
		if string(jsonl.Get(raw, "isSynthetic")) == "true" { // the summary of a compaction, or what a hook says
			blocks.Extra = record.NotTyped(nil)
		}
		t.PutPerson(jsonl.Get(message, "content"), blocks)
	case "assistant":
		t.PutAnswer(jsonl.Get(message, "content"), blocks)
		id := cmp.Or(blocks.Run, key)
		if _, known := c.usage[id]; !known {
			c.order = append(c.order, id)
		}
		c.usage[id] = streamUsage{slices.Clone(jsonl.Get(message, "model")), record.Compact(record.Or(jsonl.Get(message, "usage"), "{}"))}
	case "result":
		c.result(key, date, raw)
	default:
		name := strings.Trim(typ+"."+jsonl.GetString(raw, "subtype"), ".")
		t.Put(record.Event(key, date, name, record.NewObject(512).Rest(raw, "type", "subtype", "uuid", "session_id", "timestamp").Done()))
	}
}

// result emits the end of a turn, and what each model was used for since the last one: the sums are of the session.
func (c *streamReader) result(key, date string, raw []byte) {
	t := c.In("")
	t.Put(record.Event(key, date, "result", record.NewObject(512).Rest(raw, "type", "uuid", "session_id", "result", "modelUsage").Done()))
	models := record.MembersOf(jsonl.Get(raw, "modelUsage"))
	if c.anew(models) {
		clear(c.sums)
	}
	for _, model := range slices.Sorted(maps.Keys(models)) {
		sums, before := models[model], c.sums[model]
		if all := jsonl.Get(raw, "usage"); len(models) == 1 { // older versions do not note all of it for each model
			o := record.NewObject(256).All(sums)
			for _, of := range [][2]string{{"cacheReadInputTokens", "cache_read_input_tokens"}, {"cacheCreationInputTokens", "cache_creation_input_tokens"}} {
				if jsonl.Get(sums, of[0]) == nil {
					o.Raw(of[0], jsonl.Get(all, of[1]))
				}
			}
			if jsonl.Get(sums, "costUSD") == nil {
				o.Raw("costUSD", jsonl.Get(raw, "total_cost_usd"))
			}
			sums = o.Done()
		}
		usage := record.NewObject(160)
		for _, of := range [][2]string{{"inputTokens", "input_tokens"}, {"outputTokens", "output_tokens"}, {"cacheReadInputTokens", "cache_read_input_tokens"}, {"cacheCreationInputTokens", "cache_creation_input_tokens"}} {
			usage.Raw(of[1], record.Difference(jsonl.Get(sums, of[0]), jsonl.Get(before, of[0])))
		}
		if jsonl.Get(sums, "cacheReadInputTokens") == nil {
			usage.Raw("cache_read_input_tokens", []byte("0")) // input has none of the cache's tokens
		}
		data := record.NewObject(256).Str("model", model).Raw("usage", usage.Done()).Raw("cost", record.Difference(jsonl.Get(sums, "costUSD"), jsonl.Get(before, "costUSD")))
		t.Put(record.Event(key+"/run/"+model, date, record.EventRun, data.Done()))
		c.sums[model] = slices.Clone(sums)
	}
	if len(models) > 0 {
		clear(c.usage)
		c.order = nil
	}
}

// anew reports whether the sums of a result are those of another process than the last ones, which went on with the session:
// one is less.
func (c *streamReader) anew(models record.Members) bool {
	number := func(v []byte) float64 {
		n, _ := strconv.ParseFloat(string(v), 64) // none is 0
		return n
	}
	for model, before := range c.sums {
		for _, name := range []string{"inputTokens", "outputTokens", "cacheReadInputTokens", "costUSD"} {
			if number(jsonl.Get(models[model], name)) < number(jsonl.Get(before, name)) && jsonl.Get(models[model], name) != nil {
				return true
			}
		}
	}
	return false
}

// describeStream reads the facts of the session.
func describeStream(ctx context.Context, src record.Source, info *record.Info) error {
	return record.Scan(ctx, src, isMessage, func(string, []byte) {}, func(at record.Span, raw []byte) bool {
		info.Began(jsonl.Get(raw, "timestamp"))
		info.Session = cmp.Or(info.Session, jsonl.GetString(raw, "session_id"))
		if jsonl.GetString(raw, "subtype") == "init" {
			info.State = record.NewObject(256).Str("sessionId", info.Session).Raw("cwd", jsonl.Get(raw, "cwd")).Raw("model", jsonl.Get(raw, "model")).
				Raw("version", jsonl.Get(raw, "claude_code_version")).Done()
			info.Complete = true
		}
		if info.Complete || !at.Opens() {
			info.Started = cmp.Or(info.Started, src.Modified())
			return false
		}
		return true
	})
}
