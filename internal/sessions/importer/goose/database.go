package goose

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const file = "sessions.db"

var kept = record.Database{
	File: file, Tables: []string{"sessions", "messages", "schema_version"}, Later: []string{ledger},
	JSON: []string{"content_json", "metadata_json", "model_config_json", "recipe_json", "user_recipe_values_json", "extension_data"},
	All:  databases, Sessions: sessions, Write: write,
}

// ledger is the table with the tokens of each request.
const ledger = "usage_ledger"

// places returns the folders that may have Goose's sessions. On Linux and macOS it follows XDG; an older version on macOS
// did not.
func places(user record.Where) (out []string) {
	if root := user.Getenv("GOOSE_PATH_ROOT"); root != "" {
		return []string{filepath.Join(root, "data", "sessions")}
	}
	data := cmp.Or(user.Getenv("XDG_DATA_HOME"), filepath.Join(user.Home, ".local", "share"))
	out = []string{filepath.Join(data, "goose", "sessions"), filepath.Join(user.Home, "Library", "Application Support", "Block", "goose", "sessions")}
	if data := user.Getenv("APPDATA"); data != "" {
		out = append(out, filepath.Join(data, "Block", "goose", "data", "sessions"))
	}
	return out
}

func databases(user record.Where) (out []record.DatabaseFile) {
	for _, place := range places(user) {
		out = append(out, record.DatabaseFile{Path: filepath.Join(place, file)})
	}
	return out
}

// folders returns the folders with files of sessions. Beside a database, they are in it, too: Goose has moved them there.
func folders(user record.Where) (out []string) {
	for _, place := range places(user) {
		if _, err := os.Lstat(filepath.Join(place, file)); err != nil {
			out = append(out, place)
		}
	}
	return out
}

// sessions lists the sessions of a database in which something was said, those of subagents after the others. Those that
// the user did not want to keep (`goose run --no-session`) are hidden, and left out.
func sessions(ctx context.Context, ask record.Ask) (out []record.KeptSession, err error) {
	rows, err := ask(ctx, `SELECT * FROM sessions s WHERE EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id) ORDER BY created_at, id`)
	var agents []record.KeptSession
	for _, row := range rows {
		s := record.KeptSession{ID: jsonl.GetString(row, "id"), Parent: jsonl.GetString(row, "parent_session_id"),
			Dir: jsonl.GetString(row, "working_dir"), Changed: record.Date(record.Or(jsonl.Get(row, "updated_at"), "null"))}
		switch {
		case jsonl.GetString(row, "session_type") == "hidden":
		case s.Parent != "":
			agents = append(agents, s)
		default:
			out = append(out, s)
		}
	}
	return append(out, agents...), err
}

// write writes a session as lines: the facts, and the messages with the rows of the ledger between them.
func write(ctx context.Context, ask record.Ask, path, id string, w io.Writer) error {
	all, err := ask(ctx, `SELECT * FROM sessions WHERE id = ?`, id)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("%s has no session %s", path, id)
	}
	rows, err := ask(ctx, `SELECT * FROM messages WHERE session_id = ? ORDER BY id`, id)
	if err != nil {
		return err
	}
	var used [][]byte
	if there, err := ask(ctx, `SELECT name FROM sqlite_schema WHERE name = ?`, ledger); err != nil {
		return err
	} else if len(there) > 0 {
		if used, err = ask(ctx, `SELECT * FROM usage_ledger WHERE session_id = ? ORDER BY id`, id); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(w) // its last Flush returns the first error
	put := func(o *record.Object) { _, _ = out.Write(append(o.Done(), '\n')) }
	facts := record.NewObject(512).Str("goose", "session").All(all[0])
	if used != nil {
		facts.Raw(ledger, []byte("true"))
	}
	put(facts)
	for _, row := range rows {
		at := record.Date(record.Or(jsonl.Get(row, "created_timestamp"), "null"))
		for len(used) > 0 && record.Date(record.Or(jsonl.Get(used[0], "created_timestamp"), "null")) < at {
			put(record.NewObject(256).Str("goose", "usage").All(used[0]))
			used = used[1:]
		}
		put(record.NewObject(len(row)).Str("goose", "message").Raw("id", present(row, "message_id")).Raw("role", jsonl.Get(row, "role")).
			Raw("created", jsonl.Get(row, "created_timestamp")).Raw("content", jsonl.Get(row, "content_json")).Raw("metadata", present(row, "metadata_json")))
	}
	for _, row := range used {
		put(record.NewObject(256).Str("goose", "usage").All(row))
	}
	return out.Flush()
}
