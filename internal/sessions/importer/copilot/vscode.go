package copilot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// VSCode is the format of the sessions of the chat in Visual Studio Code, which Copilot and others answer.
//
// A session is a file workspaceStorage/HASH/chatSessions/ID.json, one JSON object with a list of requests; workspace.json
// beside that folder has the directory. Newer versions write ID.jsonl, a log of changes of that object: kind 0 has the
// object, 1 sets a value at a path, 2 cuts a list to a length and adds to it, 3 removes a value. The calls of tools and
// their results are in the result's metadata; without that, what was shown is read. Sources: chatModel.ts and
// objectMutationLog.ts in src/vs/workbench/contrib/chat/common/model of microsoft/vscode,
// src/extension/prompt/common/toolCallRound.ts in microsoft/vscode-copilot-chat.
var VSCode = record.Format{
	Name: "vscode-chat", Title: "VS Code Chat", Read: readChat, Describe: describeChat,
	Record: func(m record.Members) record.Confidence {
		switch kind := string(m["kind"]); {
		case isChat(m), kind == "0" && isChat(record.MembersOf(m["v"])):
			return record.Certain
		case (kind == "1" || kind == "2" || kind == "3") && len(m["k"]) > 0 && m["k"][0] == '[':
			return record.High
		}
		return record.NoMatch
	},
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(record.ContainsAll(head, `"requests"`) && (record.ContainsAll(head, `"responderUsername"`) || record.ContainsAll(head, `"requesterUsername"`) || record.ContainsAll(head, `"requestId"`, `"message"`)))
	},
	Path: func(path, _ string) bool { return strings.Contains(path, "/chatSessions/") },
	Files: record.Files{
		Folders: func(user record.Where) (out []string) {
			for _, folder := range record.EditorFolders(user, "workspaceStorage") {
				out = append(out, disk.Glob(folder, "*/chatSessions")...)
			}
			return append(out, record.EditorFolders(user, "globalStorage", "emptyWindowChatSessions")...)
		},
		// Copilot Chat's transcript, which is there before VS Code has saved the session.
		Former: func(path, other string) bool {
			stem := record.Source{Name: path}.Stem()
			return other == filepath.Join(filepath.Dir(path), "..", "GitHub.copilot-chat", "transcripts", stem+".jsonl")
		},
	},
}

func isChat(m record.Members) bool {
	return m.Has("requests") && (m.Has("sessionId") || m.Has("responderUsername") || m.Has("requesterUsername"))
}

// chatSession returns the session in a source as one object, nil if there is none.
func chatSession(ctx context.Context, src record.Source, damaged func(record.Span, string)) ([]byte, error) {
	l := &chatLog{damaged: damaged}
	err := record.EachSession(ctx, src, isChatRecord, l)
	if !l.changed {
		return l.first, err
	}
	raw, failed := json.Marshal(l.state)
	if failed != nil {
		return l.first, err
	}
	return raw, err
}

func isChatRecord(raw []byte) bool { m := record.MembersOf(raw); return m.Has("kind") || isChat(m) }

// chatLog puts a session together.
type chatLog struct {
	first   []byte
	state   any
	changed bool
	damaged func(record.Span, string)
}

// Record takes the session, or a change of it.
func (l *chatLog) Record(_ record.Span, raw []byte) {
	kind := string(jsonl.Get(raw, "kind"))
	if kind == "" || kind == "0" {
		l.first, l.changed = bytes.Clone(record.Or(jsonl.Get(raw, "v"), raw)), kind == "0"
		l.state = decoded(l.first)
		return
	}
	path, _ := decoded(jsonl.Get(raw, "k")).([]any)
	l.changed = true // also if the object itself is missing (microsoft/vscode#317478)
	l.state = change(l.state, path, func(old any) any {
		switch kind {
		case "1":
			return decoded(jsonl.Get(raw, "v"))
		case "2":
			list, _ := old.([]any)
			if n, err := json.Number(jsonl.Get(raw, "i")).Int64(); err == nil && n >= 0 && int(n) < len(list) {
				list = list[:n]
			}
			more, _ := decoded(jsonl.Get(raw, "v")).([]any)
			return append(list, more...)
		}
		return nil
	})
}

func decoded(raw []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v) // what is no JSON stays nil
	return v
}

// change returns a value in which f has changed what is at a path. A path that leads nowhere changes nothing.
func change(v any, path []any, f func(any) any) any {
	if len(path) == 0 {
		return f(v)
	}
	switch at := v.(type) {
	case map[string]any:
		if name, ok := path[0].(string); ok {
			at[name] = change(at[name], path[1:], f)
		}
	case []any:
		n, ok := path[0].(json.Number)
		i, err := n.Int64()
		if ok && err == nil && i >= 0 && int(i) < len(at) {
			at[i] = change(at[i], path[1:], f)
		} else if ok && err == nil && int(i) == len(at) {
			return append(at, change(nil, path[1:], f))
		}
	case nil:
		if name, ok := path[0].(string); ok {
			return map[string]any{name: change(nil, path[1:], f)}
		}
	}
	return v
}

// Damaged gets a line that cannot be read.
func (l *chatLog) Damaged(at record.Span, reason string) {
	if l.damaged != nil {
		l.damaged(at, reason)
	}
}

// Unfinished gets a last line that is being written.
func (l *chatLog) Unfinished(record.Span) {}

// Enough reports that all lines are read.
func (l *chatLog) Enough() bool { return false }

// readChat makes the entries of a session.
func readChat(ctx context.Context, r *record.Reading) error {
	c := &chatReader{Conversation: record.Conversation{Reading: r}}
	type bad struct {
		at     record.Span
		reason string
	}
	var lost []bad
	whole, err := chatSession(ctx, r.Source, func(at record.Span, reason string) { lost = append(lost, bad{at, reason}) })
	for request := range jsonl.Elements(jsonl.Get(whole, "requests")) {
		if r.Open && jsonl.Get(request, "result") == nil {
			break // it is being answered
		}
		r.Stats.Records++
		c.request(request)
	}
	for _, b := range lost {
		c.Damaged(b.at, b.reason)
	}
	if title := jsonl.GetString(whole, "customTitle"); title != "" && !r.Open {
		c.Put(record.Event("title:"+title, "", "tape.title", record.NewObject(64).Str("title", title).Done()))
	}
	c.End()
	return err
}

// describeChat reads the facts of a session.
func describeChat(ctx context.Context, src record.Source, info *record.Info) error {
	whole, err := chatSession(ctx, src, nil)
	if err != nil || whole == nil {
		return err
	}
	info.Session, info.Complete = cmp.Or(jsonl.GetString(whole, "sessionId"), info.Session), true
	info.Began(record.Or(jsonl.Get(whole, "creationDate"), "null"))
	for request := range jsonl.Elements(jsonl.Get(whole, "requests")) {
		info.Began(record.Or(jsonl.Get(request, "timestamp"), "null"))
	}
	state := record.NewObject(128)
	if info.Session != "" {
		state.Str("sessionId", info.Session)
	}
	if dir := record.EditorWorkspace(src, ".."); dir != "" {
		state.Str("cwd", dir)
	}
	info.State = state.OrNil()
	return nil
}
