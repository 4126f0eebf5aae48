package kiro

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// conversations are those in a database. conversations_v2 has more than one for a directory.
var conversations = record.Database{
	File: "data.sqlite3", Tables: []string{"conversations"}, Later: []string{"conversations_v2"}, JSON: []string{"value"},
	All: databases, Sessions: sessions, Write: write,
	// Newer versions write the lines, too.
	Elsewhere: func(path, id string) bool {
		return record.IsUUID(id) && record.FolderAboveHas(path, filepath.Join(".kiro", "sessions", "cli", id+".jsonl"))
	},
}

func databases(user record.Where) (out []record.DatabaseFile) {
	places := []string{cmp.Or(user.Getenv("XDG_DATA_HOME"), filepath.Join(user.Home, ".local", "share")), filepath.Join(user.Home, "Library", "Application Support")}
	if local := user.Getenv("LOCALAPPDATA"); local != "" {
		places = append(places, local)
	}
	for _, place := range places {
		for _, program := range []string{"kiro-cli", "amazon-q"} {
			out = append(out, record.DatabaseFile{Path: filepath.Join(place, program, "data.sqlite3")})
		}
	}
	return out
}

// selects returns questions for columns of the conversations, one for each table that there is.
func selects(ctx context.Context, ask record.Ask) (out []string, err error) {
	there, err := ask(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('conversations', 'conversations_v2') ORDER BY name DESC`)
	for _, row := range there {
		if jsonl.GetString(row, "name") == "conversations_v2" {
			out = append(out, `SELECT conversation_id AS id, key AS dir, created_at AS created, updated_at AS updated, CAST(value AS TEXT) AS v FROM conversations_v2 ORDER BY updated_at DESC`)
		} else {
			out = append(out, `SELECT CASE WHEN json_valid(v) THEN json_extract(v, '$.conversation_id') END AS id, dir, NULL AS created, NULL AS updated, v
				FROM (SELECT key AS dir, CAST(value AS TEXT) AS v FROM conversations)`)
		}
	}
	return out, err
}

// sessions lists the conversations. One may be in both tables, and under several directories: the newest counts.
func sessions(ctx context.Context, ask record.Ask) (out []record.KeptSession, err error) {
	questions, err := selects(ctx, ask)
	seen := map[string]bool{}
	for _, question := range questions {
		rows, err := ask(ctx, `SELECT id, dir, updated FROM (`+question+`)`)
		if err != nil {
			return out, err
		}
		for _, row := range rows {
			if id := jsonl.GetString(row, "id"); !seen[id] && id != "" {
				seen[id] = true
				out = append(out, record.KeptSession{ID: id, Dir: jsonl.GetString(row, "dir"), Changed: record.Date(record.Or(jsonl.Get(row, "updated"), "null"))})
			}
		}
	}
	return out, err
}

// write writes a conversation as one object.
func write(ctx context.Context, ask record.Ask, path, id string, w io.Writer) error {
	questions, err := selects(ctx, ask)
	if err != nil {
		return err
	}
	for _, question := range questions {
		rows, err := ask(ctx, `SELECT id, dir, created, updated, v AS value FROM (`+question+`) WHERE id = ? LIMIT 1`, id)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			continue
		}
		value := jsonl.Get(rows[0], "value")
		if !jsonl.IsObject(value) {
			return fmt.Errorf("conversation %s is not an object", id)
		}
		o := record.NewObject(len(value)).Raw("kiro", record.Without(rows[0], "value")).All(value, "kiro")
		if !strings.Contains(string(value), `"history"`) {
			o.Raw("history", []byte("[]"))
		}
		_, err = w.Write(append(o.Done(), '\n'))
		return err
	}
	return fmt.Errorf("%s has no conversation %s", path, id)
}
