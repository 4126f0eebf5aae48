package qwen

import (
	"cmp"
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const (
	subagentPrefix = "agent-"
	timeout        = 5 // s: Qwen Code waits for its hooks, and a disk may hang
)

// Format is the format of Qwen Code.
var Format = record.Format{
	Name: "qwen", Title: "Qwen Code", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(m.Has("sessionId", "type") && jsonl.Get(m["message"], "parts") != nil || m.Has("uuid", "parentUuid", "sessionId") &&
			(m.Has("systemPayload") || m.Has("toolCallResult") || m.Has("provenance") || jsonl.Get(m["message"], "parts") != nil))
	},
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(record.ContainsAll(head, `"parentUuid"`, `"sessionId"`, `"parts"`))
	},
	Path: func(path, _ string) bool { return strings.Contains(path, "/.qwen/") },
	Files: record.Files{
		Ext: ".jsonl",
		Folders: func(user record.Where) []string {
			return []string{filepath.Join(cmp.Or(user.Getenv("QWEN_RUNTIME_DIR"), folder(user)), "projects")}
		},
		Subagents: func(path, session string) string {
			return filepath.Join(filepath.Dir(filepath.Dir(path)), "subagents", session)
		},
		SubagentPrefix: subagentPrefix,
		IsNote:         func(_, name string) bool { return strings.HasSuffix(name, ".meta.json") }, // beside a subagent's transcript
	},
	Writer: &writer,
	Resume: &record.Resume{
		Program: "qwen", Args: []string{"--resume"}, IsID: record.IsUUID, Entry: "session/start", Member: "sessionId",
		IsFile: func(stem, id string) bool { return stem == id },
	},
	Events: []record.HookEvent{ // headless runs have no SessionEnd
		{Name: "SessionStart", Is: record.Start, Timeout: timeout}, {Name: "UserPromptSubmit", Timeout: timeout},
		{Name: "Stop", Is: record.TurnEnd, Timeout: timeout}, {Name: "SubagentStop", Timeout: timeout},
		{Name: "PreCompact", Timeout: timeout}, {Name: "PostCompact", Timeout: timeout},
		{Name: "SessionEnd", Is: record.End, Timeout: timeout},
	},
	Agent: &record.Agent{
		ProjectVariable: "QWEN_PROJECT_DIR", Folder: folder, Hooks: "settings.json", MCP: record.MCPServer,
		AnswerPrefix: `{"text":"`, // telemetry has the text, too, in an earlier line
	},
}

func folder(w record.Where) string { return w.Folder(".qwen", "QWEN_HOME") }
