package acp

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const (
	updates     = "updates.jsonl"
	summary     = "summary.json"
	checkpoints = "compaction_checkpoints"

	said   = "user_message_chunk"
	target = "target_prompt_index"
)

// Grok is the format of xAI's Grok Build, the program grok: the updates of the protocol, with updates of its own, in
// ~/.grok/sessions/DIRECTORY/ID/updates.jsonl, as lines {timestamp, method, params}. summary.json beside it has the
// title, the model, the directory and the session that this one was forked from or is a subagent of. Sources: src/session/storage
// and src/extensions/notification.rs of xai-grok-shell in xai-org/grok-build; internal/parser/grok.go in kenn-io/agentsview;
// internal/sources/grok.go in vshulcz/deja-vu.
var Grok = record.Format{
	Name: "grok", Title: "Grok", Read: readGrok, Describe: describeGrok,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(jsonl.GetString(m["params"], "update", "sessionUpdate") != "" && !m.Has("jsonrpc"))
	},
	// What the model gets, chat_history.jsonl: the updates have all of it.
	Companion: func(m record.Members) bool {
		return m.Has("type", "content") && (m.Has("prompt_index") || m.Has("synthetic_reason") || len(m) == 2 && m.Text("type") == "system" && m.Text("content") != "")
	},
	Path: func(path, _ string) bool { return strings.Contains(path, "/.grok/sessions/") },
	Files: record.Files{
		Ext: updates,
		Folders: func(user record.Where) []string {
			return []string{filepath.Join(user.Folder(".grok", "GROK_HOME"), "sessions")}
		},
		IsNote: func(path, name string) bool { return strings.Contains(path, "/.grok/") && name != updates },
		Beside: func(path string) []string { return []string{filepath.Join(filepath.Dir(path), summary)} },
	},
	Events: grokEvents, Agent: &grokSettings,
}

type grok struct {
	reader
	summary []byte
	gone    []rewound
	index   []byte // of the prompt that goes on
	prompts int    // how many the file has
	titled  bool
	waits   bool // the first turn has ended, and the title is not known yet
}

// rewound are lines that the user went back behind.
type rewound struct{ from, to int }

func readGrok(ctx context.Context, r *record.Reading) error {
	c := &grok{reader: reader{Conversation: record.Conversation{Reading: r}, requests: map[string]request{}, calls: map[string]*call{}, ended: readable}, summary: summaryOf(r.Source)}
	if kind := jsonl.GetString(c.summary, "session_kind"); strings.Contains(kind, "fork") {
		r.Own = record.Date(jsonl.Get(c.summary, "forked_at"))
	}
	var err error
	if c.gone, c.prompts, err = rewinds(ctx, r.Source); err != nil {
		return err
	}
	err = record.Each(ctx, r.Source, isUpdate, nil, c)
	if !r.Open || r.Idle { // otherwise the last message may go on
		c.end()
		c.write()
	}
	c.End()
	if !r.Open {
		c.title()
	}
	return err
}

// title emits the title, once. Its place is the end of the first turn, so that it is the same whether a session is recorded
// or imported. Grok may write the title later than that: the rest waits for it, up to the next prompt or the session's end.
func (c *grok) title() {
	if c.titled {
		return
	}
	title := jsonl.GetString(c.summary, "generated_title")
	if !c.Open {
		title = cmp.Or(title, jsonl.GetString(c.summary, "session_summary"))
	}
	if c.waits = title == "" && c.Open && c.prompts < 2; c.waits || title == "" {
		return
	}
	hidden := c.Hidden
	c.Hidden = false
	c.PutTitle(title)
	c.Hidden, c.titled = hidden, true
}

func isUpdate(raw []byte) bool { return jsonl.Get(raw, "params", "update") != nil }

func summaryOf(src record.Source) []byte {
	raw := bytes.TrimSpace(src.Beside(summary))
	if !jsonl.IsObject(raw) || jsonl.Valid(raw) != nil {
		return nil
	}
	return raw
}

// promptOf returns the number of the prompt that a user's message belongs to, nil if it has none. is is false for
// another update.
func promptOf(update []byte) (index []byte, is bool) {
	if jsonl.GetString(update, "sessionUpdate") != said || string(jsonl.Get(update, "_meta", "hostTurn")) == "true" {
		return nil, false
	}
	return jsonl.Get(update, "_meta", "promptIndex"), true
}

// rewinds returns the lines between a prompt and the marker that says that the user went back behind it. Once a prompt
// has a number, those without one are none. It also returns how many prompts there are.
func rewinds(ctx context.Context, src record.Source) (out []rewound, prompts int, err error) {
	var starts []int
	numbered, inside, last := false, false, ""
	err = record.Scan(ctx, src, isUpdate, nil, func(at record.Span, raw []byte) bool {
		if !bytes.Contains(raw, []byte(said)) && !bytes.Contains(raw, []byte(target)) { // while a tool runs, each update has its whole output
			inside = false
			return true
		}
		update := jsonl.Get(raw, "params", "update")
		if index, is := promptOf(update); is {
			numbered = numbered || index != nil
			if (!inside || numbered && last != string(index)) && (!numbered || index != nil) {
				starts = append(starts, at.Line)
				prompts++
			}
			inside, last = true, string(index)
			return true
		}
		inside = false
		if n, err := strconv.Atoi(string(jsonl.Get(update, target))); err == nil && n >= 0 && n < len(starts) {
			out = append(out, rewound{starts[n], at.Line})
			starts = starts[:n]
		}
		return true
	})
	return out, prompts, err
}

// Record makes the entries of a line.
func (c *grok) Record(at record.Span, raw []byte) {
	c.Stats.Records++
	if c.waits {
		return
	}
	of := record.MembersOf(raw)
	params := record.MembersOf(of["params"])
	u, key := params["update"], ""
	kind := jsonl.GetString(u, "sessionUpdate")
	if kind != "tool_call_update" { // calls have ids
		key = c.Counts.Key(raw)
	}
	date := cmp.Or(record.Date(jsonl.Get(params["_meta"], "agentTimestampMs")), record.Date(of["timestamp"]))
	hidden := false
	for _, r := range c.gone {
		hidden = hidden || r.from <= at.Line && at.Line < r.to
	}
	index, prompt := promptOf(u)
	if hidden != c.Hidden || prompt && !bytes.Equal(index, c.index) {
		c.end()
	}
	if prompt {
		c.index = bytes.Clone(index)
	}
	if hidden != c.Hidden {
		c.write()
		c.Flush()
		c.Hidden = hidden
	}
	switch kind {
	case "turn_completed":
		c.end()
		c.write()
		c.spent(key, date, u)
		c.title()
	case "model_changed":
		c.use(jsonl.Get(u, "model_id"))
		c.reader.update(key, date, u)
	case "compaction_checkpoint":
		c.end()
		c.write()
		c.compaction(key, date, u)
	default:
		c.reader.update(key, date, u)
	}
}

// readable gives the fields of a call that has ended what the model saw as their content. Grok has the whole output as a
// list of bytes.
func readable(fields map[string][]byte) {
	raw := fields["rawOutput"]
	if !jsonl.IsObject(raw) {
		return
	}
	whole, seen := jsonl.Get(raw, "output"), jsonl.Get(raw, "output_for_prompt")
	if said := jsonl.Get(whole, "OkayOutput"); said != nil && said[0] == '"' && fields["content"] == nil { // of an MCP server
		whole, seen = nil, said
	}
	if seen != nil {
		block := record.NewObject(len(seen)+64).Str("type", "text").Raw("text", seen).Done()
		fields["content"] = record.Array([][]byte{record.With(nil, "content", block)})
		raw = record.NewObject(len(raw)).All(raw, "output", "output_for_prompt").Raw("output", whole).Done()
	}
	if len(whole) > 0 && whole[0] == '[' {
		var text []byte
		for e := range jsonl.Elements(whole) {
			b, err := strconv.ParseUint(string(e), 10, 8)
			if err != nil {
				return
			}
			text = append(text, byte(b))
		}
		plain := record.Quote(strings.ToValidUTF8(string(text), "\uFFFD"))
		raw = record.NewObject(len(plain)).All(raw, "output").Raw("output", plain).Done()
	}
	fields["rawOutput"] = raw
}

// spent emits the tokens and the cost of a turn, by model. The input contains what came from the cache, and what was
// written to it; 10,000,000,000 ticks are a dollar.
func (c *grok) spent(key, date string, u []byte) {
	usage, id := jsonl.Get(u, "usage"), jsonl.GetString(u, "prompt_id")
	put := func(key, model string, spent []byte, more *record.Object) {
		cached, written := jsonl.Get(spent, "cachedReadTokens"), jsonl.Get(spent, "cacheCreationTokens")
		tokens := record.NewObject(160).Raw("input_tokens", record.Difference(record.Difference(jsonl.Get(spent, "inputTokens"), cached), written)).
			Raw("output_tokens", jsonl.Get(spent, "outputTokens")).Raw("cache_read_input_tokens", record.Or(cached, "0")).
			Raw("cache_creation_input_tokens", record.Or(written, "0")).Raw("reasoning_output_tokens", jsonl.Get(spent, "reasoningTokens"))
		data := record.NewObject(256).Raw("model", record.Quote(model)).Str("message_id", id+"/"+model).Raw("usage", tokens.Done())
		if ticks, err := strconv.ParseFloat(string(jsonl.Get(spent, "costUsdTicks")), 64); err == nil {
			data.Raw("cost", strconv.AppendFloat(nil, ticks/1e10, 'f', -1, 64))
		}
		c.Put(record.Event(key, date, record.EventRun, data.All(more.Done()).Done()))
	}
	rest := record.NewObject(128).Rest(u, "sessionUpdate", "usage").Rest(usage, "inputTokens", "outputTokens", "cachedReadTokens", "cacheCreationTokens", "reasoningTokens", "totalTokens", "costUsdTicks", "modelUsage")
	models := false
	for name, spent := range jsonl.Fields(jsonl.Get(usage, "modelUsage")) {
		models = true
		put(key+"/"+name, name, spent, rest)
		rest = record.NewObject(2)
	}
	switch {
	case models:
	case jsonl.Get(usage, "inputTokens") != nil:
		put(key, cmp.Or(record.Text(c.model), jsonl.GetString(c.summary, "current_model_id")), usage, rest)
	default:
		c.Put(record.Event(key, date, record.EventRun, rest.Done()))
	}
}

// compaction emits what the model saw instead of the conversation so far, which is in a file beside.
func (c *grok) compaction(key, date string, u []byte) {
	data := record.NewObject(256).Rest(u, "sessionUpdate").Done()
	raw := c.Kept(filepath.Dir(c.Name), checkpoints, jsonl.GetString(u, "checkpoint_file"))
	var texts []string
	if jsonl.Valid(raw) == nil {
		for item := range jsonl.Elements(jsonl.Get(raw, "compacted_history")) {
			if text, plain := record.Plain(jsonl.Get(item, "content")); plain && jsonl.GetString(item, "type") == "user" {
				texts = append(texts, record.Text(text))
			}
		}
	}
	if texts == nil {
		c.Put(record.Event(key, date, "compaction_checkpoint", data))
		return
	}
	c.Put(record.Anchor(key, date, "compaction", record.NewObject(1024).Str("summary", strings.Join(texts, "\n\n")).All(data).Done()))
}

func describeGrok(ctx context.Context, src record.Source, info *record.Info) error {
	sum := summaryOf(src)
	var model []byte
	err := record.Scan(ctx, src, isUpdate, nil, func(at record.Span, raw []byte) bool {
		info.Began(jsonl.Get(raw, "params", "_meta", "agentTimestampMs"))
		info.Began(jsonl.Get(raw, "timestamp"))
		info.Session = cmp.Or(info.Session, jsonl.GetString(raw, "params", "sessionId"))
		update := jsonl.Get(raw, "params", "update")
		if _, info.Complete = promptOf(update); info.Complete {
			model = bytes.Clone(jsonl.Get(update, "_meta", "modelId"))
		}
		return at.Opens() && !info.Complete
	})
	info.Session, info.Complete = cmp.Or(jsonl.GetString(sum, "info", "id"), info.Session), info.Complete && info.Started != ""
	path, pathErr := filepath.Abs(src.Name)
	beside := pathErr == nil && src.Name != "-"
	if beside && info.Session == "" {
		info.Session = filepath.Base(filepath.Dir(path))
	}
	state := record.NewObject(256).Str("sessionId", info.Session).Raw("cwd", jsonl.Get(sum, "info", "cwd")).
		Raw("model", record.Or(model, string(jsonl.Get(sum, "current_model_id")))).Raw("gitBranch", jsonl.Get(sum, "head_branch"))
	parent, subagent := jsonl.GetString(sum, "parent_session_id"), strings.HasPrefix(jsonl.GetString(sum, "session_kind"), "subagent")
	if subagent && beside {
		parent = cmp.Or(parent, starter(path))
	}
	if parent != "" && subagent {
		info.Agent, info.Session = "agent-"+info.Session, parent
	} else if parent != "" {
		state.Str("forked_from", parent)
	}
	info.State = state.Done()
	return err
}

// starter returns the session that started the subagent whose transcript is at a path, "" if that is not known. Its folder
// has one for each of its subagents.
func starter(path string) string {
	dir := filepath.Dir(path)
	if !record.IsUUID(filepath.Base(dir)) {
		return ""
	}
	found := disk.Glob(filepath.Dir(filepath.Dir(dir)), "*/*/subagents/"+filepath.Base(dir)+"/meta.json")
	if len(found) != 1 {
		return ""
	}
	return filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(found[0]))))
}
