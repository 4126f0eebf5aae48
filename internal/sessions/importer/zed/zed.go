// Package zed reads the threads of Zed's own agent.
//
// A thread is a row of the table "threads" in threads/threads.db in Zed's data folder: its title, its folders, and all of
// it as one JSON object, since 2025 compressed by zstd. Messages are {"User": …}, {"Agent": …} with the results of its
// calls, {"Compaction": …} or "Resume"; in threads that an older version has written, objects with a role and segments.
// They have no dates. write makes an object of a row: "zed" has the columns, and the rest is as in the row. Threads with
// agents of others, such as Claude Code, are not in it: these agents keep them.
//
// Sources: crates/agent/src/db.rs, thread.rs and legacy_thread.rs in zed-industries/zed; docs/registry/zed.md in
// vshulcz/deja-vu, internal/parser/zed.go in kenn-io/agentsview, src-tauri/src/providers/zed.rs in
// jhlee0409/claude-code-history-viewer.
package zed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Format is the format of Zed.
var Format = record.Format{
	Name: "zed", Title: "Zed", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(m.Has("zed", "messages") || m.Has("messages", "updated_at", "version") && (m.Has("title") || m.Has("summary")))
	},
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(record.ContainsAll(head, `"messages"`, `"User"`, `"Text"`) && bytes.Contains(head, []byte(`"title"`)))
	},
	Files: record.Files{Database: &record.Database{File: file, Tables: []string{"threads"}, Compressed: true, All: databases, Sessions: sessions, Write: write}},
}

const file = "threads.db"

// databases returns the places of Zed's database: on macOS, on Linux, also as a Flatpak, and on Windows.
func databases(user record.Where) (out []record.DatabaseFile) {
	data := []string{filepath.Join(user.Home, "Library", "Application Support", "Zed"),
		filepath.Join(cmp.Or(user.Getenv("XDG_DATA_HOME"), filepath.Join(user.Home, ".local", "share")), "zed"),
		filepath.Join(cmp.Or(user.Getenv("FLATPAK_XDG_DATA_HOME"), filepath.Join(user.Home, ".var", "app", "dev.zed.Zed", "data")), "zed")}
	if local := user.Getenv("LOCALAPPDATA"); local != "" {
		data = append(data, filepath.Join(local, "Zed"))
	}
	for _, dir := range data {
		out = append(out, record.DatabaseFile{Path: filepath.Join(dir, "threads", file)})
	}
	return out
}

// columns are those that an older version of the table has, and those that were added.
var columns = []string{"id", "summary", "updated_at", "parent_id", "folder_paths", "created_at"}

// facts asks for the columns that the table has, without the threads themselves.
func facts(ctx context.Context, ask record.Ask, rest string, args ...any) ([][]byte, error) {
	there, err := ask(ctx, `SELECT name FROM pragma_table_info('threads')`)
	if err != nil {
		return nil, err
	}
	var named []string
	for _, row := range there {
		if name := jsonl.GetString(row, "name"); slices.Contains(columns, name) {
			named = append(named, name)
		}
	}
	if len(named) < 3 {
		return nil, fmt.Errorf("the table %q is not Zed's", "threads")
	}
	return ask(ctx, `SELECT `+strings.Join(named, ", ")+` FROM threads `+rest, args...)
}

// sessions lists the threads of a database, those of subagents after the others.
func sessions(ctx context.Context, ask record.Ask) (out []record.KeptSession, err error) {
	rows, err := facts(ctx, ask, `ORDER BY updated_at, id`)
	var agents []record.KeptSession
	for _, row := range rows {
		s := record.KeptSession{ID: jsonl.GetString(row, "id"), Parent: jsonl.GetString(row, "parent_id"), Dir: folder(row, nil), Changed: record.Date(record.Or(jsonl.Get(row, "updated_at"), "null"))}
		if s.Parent != "" {
			agents = append(agents, s)
		} else {
			out = append(out, s)
		}
	}
	return append(out, agents...), err
}

// write writes a thread as one object.
func write(ctx context.Context, ask record.Ask, path, id string, w io.Writer) error {
	rows, err := facts(ctx, ask, `WHERE id = ?`, id)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("%s has no thread %s", path, id)
	}
	kept, err := ask(ctx, `SELECT data_type, CASE data_type WHEN 'zstd' THEN hex(data) ELSE CAST(data AS TEXT) END AS data FROM threads WHERE id = ?`, id)
	if err != nil {
		return err
	}
	thread := []byte(record.Text(record.Or(jsonl.Get(kept[0], "data"), `""`)))
	if jsonl.GetString(kept[0], "data_type") == "zstd" {
		packed, err := hex.DecodeString(string(thread))
		if err != nil {
			return err
		}
		if thread, err = record.Unpack(packed); err != nil {
			return fmt.Errorf("thread %s: %w", id, err)
		}
	}
	if !jsonl.IsObject(thread) || jsonl.Valid(thread) != nil {
		return fmt.Errorf("thread %s is not an object", id)
	}
	_, err = w.Write(append(record.NewObject(len(thread)).Raw("zed", rows[0]).All(record.Compact(thread), "zed").Done(), '\n'))
	return err
}

// folder returns the first folder of a thread. If the columns do not say it, the project's state at its beginning does.
func folder(row, thread []byte) string {
	first, _, _ := strings.Cut(jsonl.GetString(row, "folder_paths"), "\n")
	for tree := range jsonl.Elements(jsonl.Get(thread, "initial_project_snapshot", "worktree_snapshots")) {
		first = cmp.Or(first, jsonl.GetString(tree, "worktree_path"))
	}
	return first
}

// Describe reads the facts of a thread.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	return record.ScanSession(ctx, src, isThread, func(raw []byte) bool {
		row := record.Or(jsonl.Get(raw, "zed"), "{}")
		info.Began(record.Or(jsonl.Get(row, "created_at"), "null"))
		info.Began(record.Or(jsonl.Get(raw, "updated_at"), "null"))
		id := jsonl.GetString(row, "id")
		info.Session, info.Complete = cmp.Or(id, info.Session), true
		state := record.NewObject(256)
		if id != "" {
			state.Str("sessionId", id)
		}
		if dir := folder(row, raw); dir != "" {
			state.Str("cwd", dir)
		}
		for tree := range jsonl.Elements(jsonl.Get(raw, "initial_project_snapshot", "worktree_snapshots")) {
			if branch := jsonl.GetString(tree, "git_state", "current_branch"); branch != "" {
				state.Str("gitBranch", branch)
				break
			}
		}
		if model := jsonl.GetString(raw, "model", "model"); model != "" {
			state.Str("model", model).Raw("provider", jsonl.Get(raw, "model", "provider"))
		}
		info.State = state.Str("dates", "of the thread").Done()
		if parent := cmp.Or(jsonl.GetString(row, "parent_id"), jsonl.GetString(raw, "subagent_context", "parent_thread_id")); parent != "" && id != "" {
			info.Agent, info.Session = "agent-"+id, parent
		}
		return false
	})
}

func isThread(raw []byte) bool { return record.MembersOf(raw).Has("messages") }
