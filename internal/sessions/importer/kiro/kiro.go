// Package kiro reads the sessions of Kiro, on the command line and in the editor, and of Amazon Q on the command line,
// from which Kiro's was made.
//
// kiro-cli keeps a session as lines {kind, data}, sessions/cli/ID.jsonl in ~/.kiro: "Prompt", "AssistantMessage" and
// "ToolResults"; ID.json beside it has the facts, and credits of each turn. Earlier versions, and Amazon Q, keep
// conversations in a SQLite database, data.sqlite3: a row has one as JSON, with turns {user, assistant}. write makes an
// object of a row, in which "kiro" has the columns. The editor keeps a session as an object with a history,
// workspace-sessions/FOLDER/ID.json in its storage, and before as files .chat, one for each execution. What its tools did
// is elsewhere, in files that are not read. Newer versions of both keep events, see events.go.
//
// Sources: crates/chat-cli/src/cli/chat/message.rs and conversation.rs in aws/amazon-q-developer-cli. Kiro is not public;
// read from other people's descriptions: internal/parser/kiro.go, kiro_sqlite.go and kiro_ide.go in kenn-io/agentsview,
// src-tauri/src/providers/kiro.rs in jhlee0409/claude-code-history-viewer, and notes on the files of agenthud.
package kiro

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Format is the format of Kiro.
var Format = record.Format{
	Name: "kiro", Title: "Kiro", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		kind := m.Text("kind")
		return record.Certain.If(m.Has("kiro", "history") || m.Has("history", "sessionId") && (m.Has("workspaceDirectory") || m.Has("workspacePath")) ||
			m.Has("version", "data") && (kind == "Prompt" || kind == "AssistantMessage" || kind == "ToolResults") || isEvent(m))
	},
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(record.ContainsAll(head, `"history"`, `"sessionId"`) && (record.ContainsAll(head, `"workspaceDirectory"`) || record.ContainsAll(head, `"workspacePath"`)))
	},
	Path: func(path, _ string) bool {
		return strings.Contains(path, "/.kiro/sessions/") || strings.Contains(path, "/kiro.kiroagent/workspace-sessions/")
	},
	Files: record.Files{
		Folders: func(user record.Where) []string {
			all := []string{filepath.Join(user.Folder(".kiro", "KIRO_HOME"), "sessions")}
			if cli := user.Getenv("KIRO_SESSIONS_DIR"); cli != "" {
				all = append([]string{cli}, all...)
			}
			return append(all, ofEditor(user, "workspace-sessions")...)
		},
		IsNote: func(path, name string) bool {
			return strings.Contains(path, "/sessions/cli/") && isFacts(path) || strings.Contains(path, "/workspace-sessions/") && name == "sessions.json" || isBesideEvents(path, name)
		},
		Beside: func(path string) []string {
			if filepath.Base(path) == events {
				return []string{filepath.Join(filepath.Dir(path), eventFacts)}
			}
			return []string{strings.TrimSuffix(path, ".jsonl") + ".json"}
		},
		Database: &conversations,
	},
}

// isFacts reports whether a file has what is known of the session in the transcript beside it.
func isFacts(path string) bool {
	session, ok := strings.CutSuffix(filepath.FromSlash(path), ".json")
	_, err := os.Lstat(session + ".jsonl")
	return ok && err == nil
}

// Chat is the format of the files that earlier versions of the editor kept.
var Chat = record.Format{
	Name: "kiro-chat", Title: "Kiro, earlier versions", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence { return record.Certain.If(m.Has("chat", "executionId")) },
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(record.ContainsAll(head, `"chat"`, `"executionId"`, `"role"`))
	},
	Path:  func(path, _ string) bool { return strings.Contains(path, "/kiro.kiroagent/") },
	Files: record.Files{Ext: ".chat", Folders: func(user record.Where) []string { return ofEditor(user) }},
}

// ofEditor returns folders in the storage of the editor's extension.
func ofEditor(user record.Where, below ...string) (out []string) {
	for _, folder := range record.EditorFolders(user, append([]string{"globalStorage", "kiro.kiroagent"}, below...)...) {
		if strings.Contains(filepath.ToSlash(folder), "/Kiro/User/") {
			out = append(out, folder)
		}
	}
	return out
}

// beside returns the facts beside a session of lines, nil if there are none.
func beside(src record.Source) []byte {
	name, id := src.Stem()+".json", "session_id"
	if filepath.Base(src.Name) == events {
		name, id = eventFacts, "id"
	}
	raw := bytes.TrimSpace(src.Beside(name))
	if !jsonl.IsObject(raw) || jsonl.Valid(raw) != nil || jsonl.Get(raw, id) == nil {
		return nil
	}
	return record.Compact(raw)
}

// Describe reads the facts of a session.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	facts, dated := []byte(nil), true
	err := record.ScanSession(ctx, src, isRecord, func(raw []byte) bool {
		m := record.MembersOf(raw)
		if m.Has("data") && m.Has("kind") {
			facts = beside(src)
			info.Began(record.Or(jsonl.Get(facts, "created_at"), "null"))
			info.Began(record.Or(jsonl.Get(m["data"], "meta", "timestamp"), "null"))
			return facts == nil && info.Started == ""
		}
		if isEvent(m) {
			facts = beside(src)
			info.Began(record.Or(jsonl.Get(facts, "createdAt"), "null"))
			info.Began(record.Or(m["timestamp"], "null"))
			if folder := filepath.Base(filepath.Dir(src.Name)); facts == nil && strings.HasPrefix(folder, eventsOf) {
				info.Session = folder
			}
			return facts == nil && info.Started == ""
		}
		facts = record.Compact(raw)
		for _, at := range [][]string{{"kiro", "created"}, {"metadata", "startTime"}, {"dateCreated"}} {
			info.Began(record.Or(jsonl.Get(facts, at...), "null"))
		}
		for turn := range jsonl.Elements(m["history"]) {
			user, _ := sides(turn)
			info.Began(record.Or(jsonl.Get(user, "timestamp"), "null"))
		}
		dated = !m.Has("history") || m.Has("kiro")
		return false
	})
	info.Complete = facts != nil
	if info.Started = cmp.Or(info.Started, src.Modified()); facts == nil {
		return err
	}
	id := cmp.Or(jsonl.GetString(facts, "session_id"), jsonl.GetString(facts, "sessionId"), jsonl.GetString(facts, "kiro", "id"), jsonl.GetString(facts, "executionId"), jsonl.GetString(facts, "id"))
	info.Session = cmp.Or(id, info.Session)
	state := record.NewObject(256)
	for _, fact := range [][2]string{{"sessionId", id}, {"model", model(facts)},
		{"cwd", directory(facts)}} {
		if fact[1] != "" {
			state.Str(fact[0], fact[1])
		}
	}
	if !dated {
		state.Str("dates", "of the file")
	}
	info.State = state.OrNil()
	if parent := jsonl.GetString(facts, "parent_session_id"); parent != "" && id != "" {
		info.Agent, info.Session = "agent-"+id, parent
	}
	return err
}

// directory returns the directory of a session, "" if it is not known.
func directory(facts []byte) string {
	for _, dir := range jsonl.Strings(jsonl.Get(facts, "workspacePaths")) {
		return dir
	}
	return cmp.Or(jsonl.GetString(facts, "cwd"), jsonl.GetString(facts, "workspaceDirectory"), jsonl.GetString(facts, "workspacePath"), jsonl.GetString(facts, "kiro", "dir"))
}

// model returns the model of a session.
func model(facts []byte) string {
	return cmp.Or(jsonl.GetString(facts, "session_state", "rts_model_state", "model_info", "model_id"), jsonl.GetString(facts, "model_info", "model_id"), jsonl.GetString(facts, "model"), jsonl.GetString(facts, "metadata", "modelId"), jsonl.GetString(facts, "modelId"))
}

func isRecord(raw []byte) bool {
	m := record.MembersOf(raw)
	return m.Has("kind", "data") || m.Has("history") || m.Has("chat") || isEvent(m)
}
