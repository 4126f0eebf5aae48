// Package kimi reads the sessions of Kimi CLI and of Kimi Code, which followed it.
//
// Both write what happens to a file wire.jsonl, of which the first line has the version of the protocol. Kimi CLI:
// ~/.kimi/sessions/HASH/ID/wire.jsonl, where HASH is the MD5 of the directory, and kimi.json has the directories; lines
// {timestamp, message: {type, payload}}, also those of subagents. Kimi Code:
// ~/.kimi-code/sessions/PROJECT/ID/agents/AGENT/wire.jsonl, where AGENT is main or a subagent; lines {type, time, …}.
// state.json in the folder of the session has its title. Sources: src/kimi_cli/wire, session.py, session_fork.py and
// metadata.py in MoonshotAI/kimi-cli; packages/agent-core/src/agent/records and src/session/store in MoonshotAI/kimi-code;
// internal/parser/kimi.go in kenn-io/agentsview; internal/sources/kimi.go in vshulcz/deja-vu.
package kimi

import (
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // Kimi CLI names folders so
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const (
	wire           = "wire.jsonl"
	forModel       = "context.jsonl"
	mainAgent      = "main"
	subagentPrefix = "agent-"
)

// beside are roles in context.jsonl, which Kimi CLI keeps beside wire.jsonl for the model.
var beside = []string{"_system_prompt", "_checkpoint", "_usage"}

// Format is the format of Kimi.
var Format = record.Format{
	Name: "kimi", Title: "Kimi", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		typ := m.Text("type")
		return record.Certain.If(typ == "" && m.Has("timestamp") && jsonl.GetString(m["message"], "type") != "" && jsonl.IsObject(jsonl.Get(m["message"], "payload")) ||
			typ == "metadata" && m.Has("protocol_version") ||
			typ == "context.append_message" && m.Has("message") || typ == "context.append_loop_event" && m.Has("event") ||
			slices.Contains(beside, m.Text("role")) ||
			m.Has("time") && slices.Contains([]string{"turn.prompt", "config.update", "usage.record", "profile.bind", "llm.request"}, typ))
	},
	Path: func(path, _ string) bool {
		return strings.Contains(path, "/.kimi/") || strings.Contains(path, "/.kimi-code/")
	},
	Files: record.Files{
		Ext: ".jsonl",
		Folders: func(user record.Where) []string {
			return []string{filepath.Join(folder(user), "sessions"), filepath.Join(user.Folder(".kimi", "KIMI_SHARE_DIR"), "sessions")}
		},
		IsNote: isNote,
		Subagents: func(path, _ string) string {
			if agent(path) == "" {
				return "" // those of Kimi CLI are in the session's own file
			}
			return filepath.Join(sessionDir(path), "agents")
		},
		Beside:     func(path string) []string { return []string{filepath.Join(sessionDir(path), "state.json")} },
		BeginsLike: parent,
	},
	Events: events, Agent: &settings,
}

// isNote leaves out what Kimi keeps beside a session: its state; the context as the model has it, which repeats the session
// once this has a turn; and the transcripts of Kimi CLI's subagents, whose records are in the session's own, too.
func isNote(path, name string) bool {
	kimis := strings.Contains(path, "/.kimi/") || strings.Contains(path, "/.kimi-code/")
	if kimis && strings.Contains(path, "/subagents/") {
		return true
	}
	if name == forModel || isOld(path) {
		session := strings.TrimSuffix(strings.TrimSuffix(filepath.FromSlash(path), ".jsonl"), "context")
		return record.FileContains(filepath.Join(session, wire), `"TurnBegin"`)
	}
	return kimis && name != wire
}

// isOld reports whether a file is a session of the first versions of Kimi CLI, sessions/HASH/ID.jsonl: its context, and
// nothing else.
func isOld(path string) bool {
	return strings.HasSuffix(path, ".jsonl") && strings.HasSuffix(filepath.ToSlash(filepath.Dir(filepath.Dir(path))), "/.kimi/sessions")
}

// agent returns the agent of a transcript of Kimi Code; "" for one of Kimi CLI.
func agent(path string) string {
	if dir := filepath.Dir(path); filepath.Base(filepath.Dir(dir)) == "agents" {
		return filepath.Base(dir)
	}
	return ""
}

// isSubagent reports whether a transcript of Kimi Code is that of a subagent.
func isSubagent(path string) bool {
	path, err := filepath.Abs(path)
	name := agent(path)
	return err == nil && name != "" && name != mainAgent
}

// sessionDir returns the folder of the session that a transcript belongs to.
func sessionDir(path string) string {
	if agent(path) != "" {
		return filepath.Dir(filepath.Dir(filepath.Dir(path)))
	}
	return filepath.Dir(path)
}

// stateOf returns what Kimi notes about a session.
func stateOf(path string) []byte {
	raw := record.Source{Name: filepath.Join(sessionDir(path), wire)}.Beside("state.json")
	if jsonl.Valid(raw) != nil || !jsonl.IsObject(raw) {
		return nil
	}
	return raw
}

// parent returns the transcript whose history the one in a file begins with. Kimi Code names it. Kimi CLI only gives the
// fork the title "Fork: …", and copies the lines.
func parent(path string) string {
	state, dir := stateOf(path), sessionDir(path)
	if id := jsonl.GetString(state, "forkedFrom"); id != "" && filepath.Base(id) == id && agent(path) != "" {
		return filepath.Join(filepath.Dir(dir), id, "agents", agent(path), wire)
	}
	if agent(path) != "" || !isFork(state) {
		return ""
	}
	first := firstPrompt(path)
	for _, other := range disk.Glob(filepath.Dir(dir), "*/"+wire) {
		if first != "" && other != path && !isFork(stateOf(other)) && firstPrompt(other) == first {
			return other
		}
	}
	return ""
}

func isFork(state []byte) bool {
	return strings.HasPrefix(jsonl.GetString(state, "custom_title"), "Fork: ")
}

// Describe reads the beginning of a session, and what is noted beside it.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	cwd, model, asked, answered := "", "", false, false
	err := record.Scan(ctx, src, isRecord, nil, func(at record.Span, raw []byte) bool {
		answered = answered || answers(raw)
		info.Began(record.Or(jsonl.Get(raw, "time"), jsonl.Get(raw, "timestamp")))
		cwd = cmp.Or(cwd, jsonl.GetString(raw, "cwd"))
		if name := jsonl.GetString(raw, "model"); jsonl.GetString(raw, "type") == "llm.request" && !asked && name != "" {
			asked, model = true, name
		}
		model = cmp.Or(model, jsonl.GetString(raw, "modelAlias"), jsonl.GetString(raw, "model"))
		return at.Opens() && (info.Started == "" || cwd == "" || !asked)
	})
	dateless := info.Started == ""
	info.Started, info.Complete = cmp.Or(info.Started, src.Modified()), (asked || answered) && (info.Started != "" || src.Name != "-")
	state := record.NewObject(256)
	if path, err := filepath.Abs(src.Name); err == nil && src.Name != "-" {
		info.Session = filepath.Base(sessionDir(path))
		if isOld(path) {
			info.Session = src.Stem()
		}
		if name := agent(path); name != "" && name != mainAgent {
			info.Agent = subagentPrefix + strings.TrimPrefix(name, subagentPrefix)
		}
		state.Str("sessionId", info.Session)
		cwd = cmp.Or(jsonl.GetString(stateOf(path), "workDir"), jsonl.GetString(stateOf(path), "cwd"), cwd, directory(path))
		if from := parent(path); from != "" && info.Agent == "" {
			state.Str("forked_from", filepath.Base(sessionDir(from)))
		} else if from := jsonl.GetString(stateOf(path), "custom", "kimi_cli_session_id"); from != "" && info.Agent == "" {
			state.Str("forked_from", from) // kimi migrate has copied it from Kimi CLI, with other dates
		}
	}
	for _, of := range [][2]string{{"cwd", cwd}, {"model", model}} {
		if of[1] != "" {
			state.Str(of[0], of[1])
		}
	}
	if dateless {
		state.Str("dates", "of the file")
	}
	info.State = state.OrNil()
	return err
}

// answers reports whether the model has answered before a line, so that the request that names the model came before it,
// if this version writes that.
func answers(raw []byte) bool {
	return jsonl.GetString(raw, "type") == "" || slices.Contains([]string{"content.part", "tool.call", "step.end"}, jsonl.GetString(raw, "event", "type"))
}

// directory returns the directory of a session of Kimi CLI, which kimi.json has.
func directory(path string) string {
	folder := filepath.Dir(filepath.Dir(path))
	if isOld(path) {
		folder = filepath.Dir(path)
	}
	hash, top := filepath.Base(folder), record.Source{Name: filepath.Join(folder, wire)}
	for dir := range jsonl.Elements(jsonl.Get(top.Beside("../../kimi.json"), "work_dirs")) {
		sum := md5.Sum([]byte(jsonl.GetString(dir, "path"))) //nolint:gosec // no secret
		if name := hex.EncodeToString(sum[:]); name == hash || jsonl.GetString(dir, "kaos")+"_"+name == hash {
			return jsonl.GetString(dir, "path")
		}
	}
	return ""
}
