// Package amp reads the threads of Amp.
//
// A thread is a document {id, title, created, env, messages}, ~/.local/share/amp/threads/T-….json, and what amp threads
// export prints. Messages are in Anthropic's form, but for results: {type: "tool_result", toolUseID, run: {status, result}}.
// Newer versions keep threads on their server only. Amp is not public; read from other people's descriptions:
// internal/parser/amp.go in kenn-io/agentsview, packages/core/src/sessions/amp.rs in junhoyeo/tokscale.
package amp

import (
	"cmp"
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const thread = "T-" // begins the ids of threads

// Format is the format of Amp.
var Format = record.Format{
	Name: "amp", Title: "Amp", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(strings.HasPrefix(m.Text("id"), thread) && m["messages"] != nil && (m["messages"][0] == '[') && (m.Has("created") || m.Has("env") || m.Has("title")))
	},
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(head[0] == '{' && strings.HasPrefix(jsonl.GetString(head, "id"), thread) && record.ContainsAll(head, `"messages"`) && record.HeadHasMessages(head, "role"))
	},
	Path: func(path, stem string) bool {
		return strings.Contains(path, "/amp/threads/") && strings.HasPrefix(stem, thread)
	},
	Files: record.Files{
		Ext: ".json",
		Folders: func(user record.Where) []string {
			data := cmp.Or(user.Getenv("XDG_DATA_HOME"), filepath.Join(user.Home, ".local", "share"))
			return []string{filepath.Join(data, "amp", "threads")}
		},
	},
}

type reader struct {
	record.Conversation
	record.Once
	title string
	about *record.Object
	spent bool   // messages have their tokens
	books []byte // the ledger of older threads
	stop  bool   // the message is still being written
}

// Read makes the entries of a thread.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Conversation: record.Conversation{Reading: r}, about: record.NewObject(256)}
	err := record.Each(ctx, r.Source, isRecord, c.field, c)
	if !r.Open {
		c.ledger()
		c.Flush()
		if data := c.about.OrNil(); data != nil && !c.Has("thread:"+record.ContentKey(data, 1)) {
			c.Put(record.Event("thread:"+record.ContentKey(data, 1), "", "thread", data))
		}
		c.PutTitle(c.title)
	}
	c.End()
	return err
}

func isRecord(raw []byte) bool {
	return record.MembersOf(raw).Has("role", "content") || jsonl.Get(raw, "messages") != nil
}

// field keeps what else a thread has, but for what changes with each message.
func (c *reader) field(name string, raw []byte) {
	switch name {
	case "title":
		c.title = record.Text(raw)
	case "usageLedger":
		c.books = raw
	case "id", "v", "created", "nextMessageId", "updatedAt", "meta", "~debug", "activatedSkills":
	default:
		if !record.Blank(raw) {
			c.about.Raw(name, raw)
		}
	}
}

// Record makes the entries of a message, or of a thread that is a line.
func (c *reader) Record(at record.Span, raw []byte) {
	if messages := jsonl.Get(raw, "messages"); messages != nil {
		for name, value := range jsonl.Fields(raw) {
			if name != "messages" {
				c.field(name, record.Compact(value))
			}
		}
		for m := range jsonl.Elements(messages) {
			c.Record(at, m)
		}
		return
	}
	c.Stats.Records++
	// The last message is rewritten until it is complete.
	if c.stop = c.stop || c.Open && jsonl.GetString(raw, "state", "type") == "streaming"; c.stop {
		return
	}
	id := string(jsonl.Get(raw, "messageId"))
	if id != "" {
		id = "message:" + id
	}
	key := c.Key(id, raw)
	if key == "" {
		return
	}
	usage, content := jsonl.Get(raw, "usage"), jsonl.Get(raw, "content")
	date := cmp.Or(record.Date(jsonl.Get(raw, "meta", "sentAt")), record.Date(jsonl.Get(usage, "timestamp")))
	blocks := record.Blocks{Key: key, Date: date, Extra: record.NewObject(64).Rest(raw, "role", "content", "messageId", "usage", "state", "meta").OrNil()}
	switch role := jsonl.GetString(raw, "role"); {
	case role == "assistant":
		c.PutAnswer(content, blocks)
		c.usage(key, date, usage)
	case role == "user":
		list, summaries := c.parts(content)
		for i, s := range summaries {
			c.Put(record.Anchor(record.BlockKey(key+"/summary", i), date, "compaction", record.NewObject(1024).Raw("summary", s).Done()))
		}
		c.PutPerson(list, blocks)
	default:
		c.Put(record.Event(key, date, "message."+role, record.Compact(raw)))
	}
}

// parts returns a user's content with results as Anthropic has them, and the summaries in it.
func (c *reader) parts(content []byte) (list []byte, summaries [][]byte) {
	if len(content) == 0 || content[0] != '[' {
		return content, nil
	}
	var blocks [][]byte
	for block := range jsonl.Elements(content) {
		run := jsonl.Get(block, "run")
		switch jsonl.GetString(block, "type") {
		case "summary":
			text := record.Or(jsonl.Get(block, "summary", "summary"), string(record.Or(jsonl.Get(block, "summary"), `""`)))
			summaries = append(summaries, record.Compact(text))
			continue
		case "tool_result":
			if run == nil {
				break
			}
			status := jsonl.GetString(run, "status")
			content := record.Or(jsonl.Get(run, "result"), string(record.Or(jsonl.Get(run, "error"), string(record.Quote(status)))))
			block = record.NewObject(len(content)+128).Str("type", "tool_result").Raw("tool_use_id", jsonl.Get(block, "toolUseID")).Raw("content", record.Compact(content)).
				Raw("is_error", boolean(slices.Contains([]string{"error", "cancelled", "rejected-by-user"}, status))).Done()
		}
		blocks = append(blocks, block)
	}
	return record.Array(blocks), summaries
}

func boolean(b bool) []byte {
	if b {
		return []byte("true")
	}
	return []byte("false")
}

var names = map[string]string{"inputTokens": "input_tokens", "outputTokens": "output_tokens", "cacheCreationInputTokens": "cache_creation_input_tokens", "cacheReadInputTokens": "cache_read_input_tokens",
	"input": "input_tokens", "output": "output_tokens"}

// tokens returns a usage under Anthropic's names, and what else it has. Credits are no money.
func tokens(usage []byte) (tokens, rest []byte) {
	of, more := record.NewObject(160), record.NewObject(160)
	for name, v := range jsonl.Fields(usage) {
		switch as := names[name]; {
		case record.Blank(v):
		case as != "":
			of.Raw(as, v)
		case name != "model" && name != "timestamp" && name != "totalInputTokens":
			more.Raw(name, v)
		}
	}
	if jsonl.Get(usage, "cacheReadInputTokens") == nil && !of.Empty() {
		of.Raw("cache_read_input_tokens", []byte("0")) // the input is without what came from the cache
	}
	return of.OrNil(), more.Done()
}

func (c *reader) usage(key, date string, usage []byte) {
	if spent, rest := tokens(usage); spent != nil {
		c.spent = true
		data := record.NewObject(256).Raw("model", jsonl.Get(usage, "model")).Str("message_id", key).Raw("usage", spent).All(rest)
		c.InRun(key)(record.Event(key+"/usage", date, record.EventRun, data.Done()))
	}
}

// ledger emits the tokens of older threads, which have them beside the messages.
func (c *reader) ledger() {
	if c.spent {
		return
	}
	for e := range jsonl.Elements(jsonl.Get(c.books, "events")) {
		if spent, _ := tokens(jsonl.Get(e, "tokens")); spent != nil {
			key := "ledger:" + c.Counts.Key(e)
			data := record.NewObject(256).Raw("model", jsonl.Get(e, "model")).Str("message_id", key).Raw("usage", spent).Rest(e, "model", "timestamp", "tokens", "id")
			c.Put(record.Event(key, record.Date(jsonl.Get(e, "timestamp")), record.EventRun, data.Done()))
		}
	}
}

// Describe reads a thread: what describes it may come after the messages.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	var cwd, branch, model string
	see := func(name string, raw []byte) {
		switch name {
		case "id":
			info.Session = record.Text(raw)
		case "created":
			info.Began(raw)
		case "env":
			for tree := range jsonl.Elements(jsonl.Get(raw, "initial", "trees")) {
				if u, err := url.Parse(jsonl.GetString(tree, "uri")); err == nil && u.Scheme == "file" && cwd == "" {
					cwd = u.Path
					branch = strings.TrimPrefix(jsonl.GetString(tree, "repository", "ref"), "refs/heads/")
				}
			}
			cwd = cmp.Or(cwd, jsonl.GetString(raw, "initial", "workingDirectory"))
		}
	}
	err := record.Scan(ctx, src, isRecord, see, func(_ record.Span, raw []byte) bool {
		for name, v := range jsonl.Fields(raw) {
			see(name, v)
		}
		info.Began(jsonl.Get(raw, "meta", "sentAt"))
		model = cmp.Or(model, jsonl.GetString(raw, "usage", "model"))
		return true
	})
	if !strings.HasPrefix(info.Session, thread) {
		info.Session = ""
		if strings.HasPrefix(src.Stem(), thread) {
			info.Session = src.Stem()
		}
	}
	info.Complete = info.Session != "" && info.Started != ""
	state := record.NewObject(256)
	for _, of := range [][2]string{{"sessionId", info.Session}, {"cwd", cwd}, {"gitBranch", branch}, {"model", model}} {
		if of[1] != "" {
			state.Str(of[0], of[1])
		}
	}
	info.State = state.OrNil()
	return err
}
