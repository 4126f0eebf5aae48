package cursor

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// The editor keeps its sessions, "composers", in the table cursorDiskKV of globalStorage/state.vscdb: composerData:ID has
// the facts and the order of the messages, "bubbles", and bubbleId:ID:BUBBLE each of them; of the first version, the facts
// have the bubbles. Unlike transcripts, they have calls with results, dates, and in some versions tokens and the cost. A
// bubble that the order does not name was taken back. write makes lines of a composer; "cursor" says what is on each.
// Sources: docs/registry/cursor.md in vshulcz/deja-vu, src-tauri/src/providers/cursor.rs in
// jhlee0409/claude-code-history-viewer; seen in a database of version 1.4.
var composers = record.Database{
	File: "state.vscdb", Tables: []string{"cursorDiskKV"}, JSON: []string{"value"}, Unwatched: true,
	All: databases, Sessions: sessions, Write: write, Elsewhere: hasTranscript,
}

func databases(user record.Where) (out []record.DatabaseFile) {
	for _, folder := range record.EditorFolders(user, "globalStorage") {
		if strings.Contains(filepath.ToSlash(folder), "/Cursor/User/") {
			out = append(out, record.DatabaseFile{Path: filepath.Join(folder, "state.vscdb")})
		}
	}
	return out
}

// hasTranscript reports whether the agent keeps a transcript of a session, in the home directory that the database is in.
func hasTranscript(path, id string) bool {
	place := filepath.Join(".cursor", "projects", "*", transcripts)
	return record.IsUUID(id) && (record.FolderAboveHas(path, filepath.Join(place, id+".jsonl")) || record.FolderAboveHas(path, filepath.Join(place, id, id+".jsonl")))
}

// sessions lists the composers that have a bubble, those of subagents after the others.
func sessions(ctx context.Context, ask record.Ask) (out []record.KeptSession, err error) {
	of := func(member string) string { return `json_extract(v, '$.` + member + `')` }
	rows, err := ask(ctx, `SELECT id, CASE WHEN json_valid(v) THEN json_object('updated', `+of("lastUpdatedAt")+`, 'created', `+of("createdAt")+`, 'parent', `+of("subagentInfo.parentComposerId")+`,
		'dir', `+of("workspaceIdentifier.uri.fsPath")+`, 'first', COALESCE(`+of("fullConversationHeadersOnly[0].bubbleId")+`, `+of("conversation[0].bubbleId")+`)) END AS value
		FROM (SELECT rowid AS n, substr(key, 14) AS id, CAST(value AS TEXT) AS v FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;') ORDER BY n`)
	var agents []record.KeptSession
	for _, row := range rows {
		facts := record.Or(jsonl.Get(row, "value"), "{}")
		if jsonl.GetString(facts, "first") == "" {
			continue
		}
		s := record.KeptSession{ID: jsonl.GetString(row, "id"), Parent: jsonl.GetString(facts, "parent"), Dir: jsonl.GetString(facts, "dir"), Changed: record.Date(record.Or(jsonl.Get(facts, "updated"), "null"))}
		if s.Parent != "" {
			agents = append(agents, s)
		} else {
			out = append(out, s)
		}
	}
	return append(out, agents...), err
}

// write writes a composer as lines: its facts, the bubbles in their order, and those that were taken back.
func write(ctx context.Context, ask record.Ask, path, id string, w io.Writer) error {
	all, err := ask(ctx, `SELECT value FROM cursorDiskKV WHERE key = ?`, "composerData:"+id)
	if err != nil {
		return err
	}
	if len(all) == 0 || !jsonl.IsObject(jsonl.Get(all[0], "value")) {
		return fmt.Errorf("%s has no session %s", path, id)
	}
	rows, err := ask(ctx, `SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY rowid`, "bubbleId:"+id+":", "bubbleId:"+id+";")
	if err != nil {
		return err
	}
	facts, bubbles := jsonl.Get(all[0], "value"), map[string][]byte{}
	for _, row := range rows {
		if v := jsonl.Get(row, "value"); jsonl.IsObject(v) {
			bubbles[jsonl.GetString(row, "key")] = v
		}
	}
	out := bufio.NewWriter(w) // its last Flush returns the first error
	put := func(kind string, o []byte) {
		_, _ = out.Write(append(record.NewObject(len(o)).Str("cursor", kind).All(o, "cursor", "conversation").Done(), '\n'))
	}
	put("composer", facts)
	for bubble := range jsonl.Elements(jsonl.Get(facts, "conversation")) {
		put("bubble", bubble)
	}
	for header := range jsonl.Elements(jsonl.Get(facts, "fullConversationHeadersOnly")) {
		key := "bubbleId:" + id + ":" + jsonl.GetString(header, "bubbleId")
		if bubble := bubbles[key]; bubble != nil {
			put("bubble", bubble)
			delete(bubbles, key)
		}
	}
	for _, row := range rows {
		if bubble := bubbles[jsonl.GetString(row, "key")]; bubble != nil {
			put("left", bubble)
		}
	}
	return out.Flush()
}

// fromComposer makes the entries of a line that write has made.
func (c *reader) fromComposer(kind string, raw []byte) {
	switch kind {
	case storeMessage:
		c.fromStore(raw)
	case storeLost:
		c.Put(record.Event(c.Counts.Key(raw), c.date, "import.damaged", record.NewObject(64).Str("reason", "messages that cannot be read").Rest(raw, "cursor").Done()))
	case storeFacts, "composer":
		c.facts = record.Compact(raw)
		c.date = record.Date(record.Or(jsonl.Get(raw, "createdAt"), "null"))
	case "left":
		c.Flush()
		c.Hidden = true
		c.bubble(raw)
	default:
		c.bubble(raw)
	}
}

// shownOnly are members of a bubble that are about the window, and those that other entries have.
var shownOnly = []string{"cursor", "_v", "type", "bubbleId", "text", "richText", "thinking", "isThought", "toolFormerData", "tokenCount", "capabilityStatuses", "capabilities", "capabilityType", "supportedTools",
	"unifiedMode", "serverBubbleId", "usageUuid", "requestId", "checkpointId", "afterCheckpointId", "isAgentic", "editToolSupportsSearchAndReplace", "createdAt", "timestamp", "timingInfo", "images",
	"modelInfo", "isCapabilityIteration", "intermediateChunks", "contextWindowStatusAtCreation", "symbolLinks", "existedSubsequentTerminalCommand", "existedPreviousTerminalCommand"}

// bubble makes the entries of a bubble.
func (c *reader) bubble(raw []byte) {
	raw = record.Compact(raw)
	key := c.Key(jsonl.GetString(raw, "bubbleId"), raw)
	if key == "" {
		return
	}
	for _, at := range [][]string{{"createdAt"}, {"timestamp"}, {"timingInfo", "clientRpcSendTime"}} {
		if date := record.Date(record.Or(jsonl.Get(raw, at...), "null")); date != "" {
			c.date = date
			break
		}
	}
	put, text := c.InRun(key), record.Or(jsonl.Get(raw, "text"), `""`)
	if string(jsonl.Get(raw, "type")) == "1" {
		blocks := [][]byte{record.NewObject(len(text)).Str("type", "text").Raw("text", text).Done()}
		for picture := range jsonl.Elements(jsonl.Get(raw, "images")) {
			if strings.HasPrefix(record.Text(picture), "data:image/") {
				blocks = append(blocks, record.NewObject(len(picture)).Str("type", "image_url").Raw("image_url", picture).Done())
			} else {
				blocks = append(blocks, record.NewObject(len(picture)).Str("type", "image").Raw("image", picture).Done())
			}
		}
		content, _ := record.Plain(record.Array(blocks))
		c.Put(record.Message(key, c.date, "user", content))
		put = c.Put
	} else {
		if string(jsonl.Get(raw, "isThought")) == "true" {
			raw, text = record.With(raw, "thinking", record.With(nil, "text", text)), []byte(`""`)
		}
		if thought := jsonl.Get(raw, "thinking", "text"); thought != nil && !record.Blank(thought) {
			put(record.Event(key+"/thinking", c.date, record.EventThinking, record.With(nil, "thinking", thought)))
		}
		if !record.Blank(text) {
			put(record.Message(key, c.date, "assistant", text))
		}
		c.call(key, jsonl.Get(raw, "toolFormerData"))
	}
	if more := record.Remainder(record.NewObject(1024).Rest(raw, shownOnly...).Done(), text, nil); more != nil {
		put(record.Event(key+"/context", c.date, "context", more))
	}
	usage := record.NewObject(64)
	for _, of := range [][2]string{{"inputTokens", "input_tokens"}, {"outputTokens", "output_tokens"}} {
		if n := jsonl.Get(raw, "tokenCount", of[0]); n != nil && string(n) != "0" {
			usage.Raw(of[1], n)
		}
	}
	if model := cmp.Or(jsonl.GetString(raw, "modelInfo", "modelName"), model(c.facts)); !usage.Empty() {
		put(record.Event(key+"/run", c.date, record.EventRun, record.NewObject(128).Str("model", model).Raw("usage", usage.Done()).Done()))
	}
}

// call makes the call and the result of a tool. The result is what the editor got: of an object with the tool's output,
// that is shown, and the rest is a detail.
func (c *reader) call(key string, tool []byte) {
	name := jsonl.GetString(tool, "name")
	if name == "" {
		return
	}
	id := cmp.Or(jsonl.GetString(tool, "toolCallId"), "call-"+key)
	input := record.Inside(jsonl.Get(tool, "rawArgs"))
	if input == nil {
		input = record.Inside(jsonl.Get(tool, "params"))
	}
	if !jsonl.IsObject(input) {
		input = record.NewObject(64).Raw("arguments", jsonl.Get(tool, "rawArgs")).Done()
	}
	c.Call(record.NewCall(id, name, record.Compact(input), key+"/call", c.date))
	result, detail := record.Or(jsonl.Get(tool, "result"), record.Or(jsonl.Get(tool, "error"), `""`)), record.NewObject(512)
	if inside := record.Inside(result); jsonl.IsObject(inside) {
		for _, member := range []string{"output", "contents", "result", "clientVisibleErrorMessage"} {
			if text := jsonl.Get(inside, member); len(text) > 0 && text[0] == '"' && !record.Blank(text) {
				result = text
				break
			}
		}
		detail.Raw("result", record.Compact(inside))
	}
	for _, member := range []string{"params", "additionalData", "userDecision", "attachments", "error"} {
		if v := jsonl.Get(tool, member); v != nil && !record.Blank(v) {
			if inside := record.Inside(v); inside != nil {
				v = record.Compact(inside)
			}
			detail.Raw(member, v)
		}
	}
	status := jsonl.GetString(tool, "status")
	detail.Str("status", status)
	if record.Blank(result) && status != "completed" && status != "error" {
		if more := record.Remainder(detail.Done(), result, input); more != nil {
			c.Put(record.Event(key+"/detail", c.date, record.EventToolDetail, record.NewObject(len(more)).Str("call_id", id).All(more).Done()))
		}
		return // the person stopped it
	}
	c.Result(record.Result{ID: id, Key: key + "/result", Date: c.date, Content: result, Failed: status == "error"}, detail.Done())
}

// ofComposer are facts of a composer that say something about the session.
var ofComposer = []string{"unifiedMode", "forceMode", "modelConfig", "contextTokensUsed", "contextTokenLimit", "isBestOfNSubcomposer", "subagentInfo", "createdOnBranch", "activeBranch", "branches"}

// end emits the facts of a composer at its end.
func (c *reader) end() {
	if c.facts == nil || c.Open {
		return
	}
	c.Hidden = false
	facts, last := record.NewObject(256), record.Date(record.Or(jsonl.Get(c.facts, "lastUpdatedAt"), "null"))
	for _, name := range ofComposer {
		if v := jsonl.Get(c.facts, name); v != nil && !record.Blank(v) {
			facts.Raw(name, v)
		}
	}
	if data := facts.OrNil(); data != nil {
		c.Put(record.Event("composer", last, "composer", data))
	}
	// Of several sums with the same id, as the session goes on, what is more counts.
	for name, used := range jsonl.Fields(jsonl.Get(c.facts, "usageData")) {
		if cents, err := strconv.ParseFloat(string(jsonl.Get(used, "costInCents")), 64); err == nil && cents > 0 {
			data := record.NewObject(128).Str("model", name).Str("message_id", jsonl.GetString(c.facts, "composerId")+"/"+name).Raw("cost", strconv.AppendFloat(nil, cents/100, 'f', -1, 64)).Rest(used, "costInCents").Done()
			c.Put(record.Event("usage:"+record.ContentKey(data, 1), last, record.EventRun, data))
		}
	}
	if summary := jsonl.Get(c.facts, "latestConversationSummary", "summary"); summary != nil && !record.Blank(summary) {
		c.Put(record.Event("summary:"+record.ContentKey(summary, 1), last, "session.summary", record.With(nil, "summary", summary)))
	}
	if name := jsonl.GetString(c.facts, "name"); name != "" && name != "New Agent" {
		c.Put(record.Event("title:"+name, last, "tape.title", record.NewObject(64).Str("title", name).Done()))
	}
}

func model(facts []byte) string {
	return cmp.Or(jsonl.GetString(facts, "modelConfig", "modelName"), jsonl.GetString(facts, "lastUsedModel"))
}

// describeComposer takes the facts of a composer, and the directory of the first bubble that has one. It reports whether
// more lines are needed.
func describeComposer(raw []byte, info *record.Info) (more bool) {
	if kind := jsonl.GetString(raw, "cursor"); kind == "composer" || kind == storeFacts {
		info.Session, info.Complete = cmp.Or(jsonl.GetString(raw, "composerId"), jsonl.GetString(raw, "agentId")), true
		info.Began(record.Or(jsonl.Get(raw, "createdAt"), "null"))
		state := record.NewObject(256).Str("sessionId", info.Session)
		if model := model(raw); model != "" {
			state.Str("model", model)
		}
		for _, branch := range []string{jsonl.GetString(raw, "createdOnBranch"), jsonl.GetString(raw, "activeBranch", "branchName")} {
			if branch != "" {
				state.Str("gitBranch", branch)
				break
			}
		}
		if dir := cmp.Or(jsonl.GetString(raw, "workspaceIdentifier", "uri", "fsPath"), jsonl.GetString(raw, "cwd")); dir != "" {
			state.Str("cwd", dir)
		}
		if kind == storeFacts {
			state.Str("dates", "of the session")
		}
		info.State = state.Done()
		if parent := jsonl.GetString(raw, "subagentInfo", "parentComposerId"); parent != "" {
			info.Agent, info.Session = subagentPrefix+info.Session, parent
		}
		return jsonl.Get(info.State, "cwd") == nil
	}
	dir := jsonl.GetString(raw, "workspaceProjectDir")
	for uri := range jsonl.Elements(jsonl.Get(raw, "workspaceUris")) {
		if at, err := url.Parse(record.Text(uri)); err == nil && at.Scheme == "file" {
			dir = cmp.Or(dir, at.Path)
		}
	}
	if dir != "" {
		info.State = record.With(info.State, "cwd", record.Quote(dir))
	}
	return dir == ""
}
