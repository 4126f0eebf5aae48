package cline

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const (
	taskMessages = "api_conversation_history.json"
	taskShown    = "ui_messages.json"
	taskFacts    = "history_item.json"
	taskModels   = "task_metadata.json"
)

// editorExtensions are the folders of the extensions in the editor's storage.
var editorExtensions = []string{"saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline", "rooveterinaryinc.roo-code-nightly", "kilocode.kilo-code"}

// Tasks is the format of the tasks of Cline, Roo Code and Kilo Code in Visual Studio Code.
//
// A task is a folder, whose name is its id. api_conversation_history.json has the messages, in Anthropic's form, in most
// versions with a date, ts. ui_messages.json has what was shown; of that, "api_req_started" has the tokens and the cost of
// a request. Roo and Kilo keep the task's facts in history_item.json, Cline the models in task_metadata.json. Older
// versions have calls and results as texts. Sources: src/core/storage/disk.ts in cline/cline, src/core/task-persistence in
// RooCodeInc/Roo-Code.
var Tasks = record.Format{
	Name: "cline-vscode", Title: "Cline, Roo or Kilo in VS Code", Read: readTask, Describe: describeTask,
	Record: func(record.Members) record.Confidence { return record.NoMatch }, // a message is like those of others
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(head[0] == '[' && record.ContainsAll(head, `"role"`, `"content"`) &&
			(record.ContainsAll(head, "<task>") || record.ContainsAll(head, "<environment_details>")))
	},
	Path:  func(path, _ string) bool { return strings.HasSuffix(path, taskMessages) },
	Named: func(head []byte) bool { return head[0] == '[' && record.ContainsAll(head, `"role"`) },
	Files: record.Files{
		Ext: taskMessages,
		Folders: func(user record.Where) (out []string) {
			for _, name := range editorExtensions {
				out = append(out, record.EditorFolders(user, "globalStorage", name, "tasks")...)
			}
			// Roo's command line runs the extension without an editor (vshulcz/deja-vu#413).
			return append(out, filepath.Join(user.Home, ".cline", "data", "tasks"), filepath.Join(user.Home, ".vscode-mock", "global-storage", "tasks"))
		},
		IsNote: func(_, name string) bool { return name == taskShown || name == taskFacts || name == taskModels },
		Beside: func(path string) []string {
			dir := filepath.Dir(path)
			return []string{filepath.Join(dir, taskShown), filepath.Join(dir, taskFacts), filepath.Join(dir, taskModels)}
		},
	},
}

type taskReader struct {
	record.Conversation
	record.Once
	requests []taskRequest
	model    string // as task_metadata.json has it
}

// taskRequest is a request to the model, as ui_messages.json shows it.
type taskRequest struct {
	date, key string
	data      []byte
}

// readTask makes the entries of a task.
func readTask(ctx context.Context, r *record.Reading) error {
	c := &taskReader{Conversation: record.Conversation{Reading: r}}
	for m := range jsonl.Elements(jsonl.Get(object(r.Source, taskModels), "model_usage")) {
		c.model = jsonl.GetString(m, "model_id")
	}
	for m := range jsonl.Elements(r.Source.Beside(taskShown)) {
		c.request(m)
	}
	err := record.Each(ctx, r.Source, isRecord, func(string, []byte) {}, c)
	if !r.Open {
		c.pass("")
	}
	c.End()
	return err
}

// object returns a document beside the messages, which is an object.
func object(src record.Source, name string) []byte {
	if raw := bytes.TrimSpace(src.Beside(name)); jsonl.IsObject(raw) && jsonl.Valid(raw) == nil {
		return raw
	}
	return nil
}

// request notes the usage of a request. One that was not answered has none.
func (c *taskReader) request(m []byte) {
	if jsonl.GetString(m, "say") != "api_req_started" {
		return
	}
	info := record.Inside(jsonl.Get(m, "text"))
	if jsonl.Get(info, "tokensIn") == nil && jsonl.Get(info, "cost") == nil {
		return
	}
	usage := record.NewObject(128)
	for _, of := range [][2]string{{"tokensIn", "input_tokens"}, {"tokensOut", "output_tokens"}, {"cacheReads", "cache_read_input_tokens"}, {"cacheWrites", "cache_creation_input_tokens"}} {
		usage.Raw(of[1], record.Or(jsonl.Get(info, of[0]), "0"))
	}
	data := record.NewObject(256)
	if model := cmp.Or(jsonl.GetString(m, "modelInfo", "modelId"), c.model); model != "" {
		data.Str("model", model)
	}
	data.Raw("usage", usage.Done()).Raw("cost", jsonl.Get(info, "cost")).Rest(info, "request", "tokensIn", "tokensOut", "cacheReads", "cacheWrites", "cost")
	date := record.Date(jsonl.Get(m, "ts"))
	c.requests = append(c.requests, taskRequest{date, "request:" + cmp.Or(string(jsonl.Get(m, "ts")), record.ContentKey(m, 1)), data.Done()})
}

// pass emits the requests that began before a date; all of them if date is "".
func (c *taskReader) pass(date string) {
	for len(c.requests) > 0 && (date == "" || c.requests[0].date <= date) {
		r := c.requests[0]
		c.requests = c.requests[1:]
		c.Put(record.Event(r.key, r.date, record.EventRun, r.data))
	}
}

// Record makes the entries of a message.
func (c *taskReader) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	key, date := c.Key(jsonl.GetString(raw, "id"), raw), record.Date(jsonl.Get(raw, "ts"))
	if key == "" {
		return
	}
	if date != "" {
		c.pass(date)
	}
	var notes []record.Entry
	blocks := record.Blocks{Key: key, Date: date, Extra: record.NewObject(64).Rest(raw, "role", "content", "ts", "id").OrNil()}
	role, content := jsonl.GetString(raw, "role"), jsonl.Get(raw, "content")
	switch {
	case string(jsonl.Get(raw, "isSummary")) == "true": // Roo's condensed context
		text, _ := record.Plain(content)
		c.Put(record.Anchor(key, date, "compaction", record.With(nil, "summary", text)))
	case role == "user":
		blocks.Text = func(text []byte) []byte {
			said, note := split(record.Text(text))
			for name, value := range jsonl.Fields(note) {
				data := record.NewObject(len(value)+64).Raw(name, value)
				if dir := directory(record.Text(value)); dir != "" && name == "environment" {
					data.Str("cwd", dir)
				}
				notes = append(notes, record.Event(key+"/"+name+record.ContentKey(value, 1), date, name, data.Done()))
			}
			if said == "" {
				return nil
			}
			return record.Quote(said)
		}
		c.PutPerson(content, blocks)
	case role == "assistant":
		c.PutAnswer(content, blocks)
	default:
		c.Put(record.Event(key, date, "message."+role, record.Compact(raw)))
	}
	for _, n := range notes {
		c.Put(n)
	}
}

// split takes a text of a user's message apart: what a person said, without the element that the program puts around it,
// and what the program said, as an object with a member "environment" or "tool.text".
func split(text string) (said string, note []byte) {
	text = strings.TrimSpace(text)
	o := record.NewObject(64)
	if at := strings.Index(text, "<environment_details>"); at >= 0 {
		if end := strings.Index(text, "</environment_details>"); end > at {
			o.Str("environment", text[at+len("<environment_details>"):end])
			text = strings.TrimSpace(text[:at] + text[end+len("</environment_details>"):])
		}
	}
	first, _, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(first, "[") && strings.HasSuffix(first, "] Result:") {
		return "", o.Str("tool.text", text).Done()
	}
	for _, name := range []string{"task", "user_message", "feedback", "answer"} {
		inside, ok := strings.CutPrefix(text, "<"+name+">")
		if inside, closed := strings.CutSuffix(inside, "</"+name+">"); ok && closed {
			text = strings.TrimSpace(inside)
		}
	}
	return text, o.OrNil()
}

// directory returns the directory that the details of the environment name.
func directory(details string) string {
	for _, begin := range []string{"# Current Workspace Directory (", "# Current Working Directory ("} {
		if _, rest, ok := strings.Cut(details, begin); ok {
			dir, _, _ := strings.Cut(rest, ") Files")
			if !strings.Contains(dir, "\n") {
				return dir
			}
		}
	}
	return ""
}

// describeTask reads the beginning of a task, and its facts.
func describeTask(ctx context.Context, src record.Source, info *record.Info) error {
	item, cwd := object(src, taskFacts), ""
	err := record.Scan(ctx, src, isRecord, func(string, []byte) {}, func(at record.Span, raw []byte) bool {
		info.Began(jsonl.Get(raw, "ts"))
		for block := range jsonl.Elements(jsonl.Get(raw, "content")) {
			cwd = cmp.Or(cwd, directory(jsonl.GetString(block, "text")))
		}
		info.Complete = info.Complete || info.Started != ""
		return at.Opens() && cwd == ""
	})
	if path, err := filepath.Abs(src.Name); err == nil && src.Name != "-" {
		info.Session = filepath.Base(filepath.Dir(path))
	}
	state := record.NewObject(256).Str("task", info.Session)
	if dir := cmp.Or(jsonl.GetString(item, "workspace"), cwd); dir != "" {
		state.Str("cwd", dir)
	}
	info.State = state.Done()
	return err
}
