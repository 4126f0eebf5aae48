package opencode

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Since version 1.2 opencode keeps sessions in a database: a row of "session" has the facts, "message" and "part" have
// ids and, as JSON in "data", the rest of what `opencode export` writes. Source: packages/opencode/src/session/session.sql.ts
// in sst/opencode; seen with version 1.18.
var kept = record.Database{
	File: databaseFile, Tables: []string{"session", "message", "part"}, OrTables: []string{secondSessions, secondMessages},
	JSON: []string{"data", "part", "revert"}, All: databases, Sessions: sessions, Write: writeSession,
}

const databaseFile = "opencode*.db"

// databases returns opencode's database. There are others for other release channels.
func databases(user record.Where) (out []record.DatabaseFile) {
	files := disk.Glob(data(user), databaseFile)
	if own := user.Getenv("OPENCODE_DB"); filepath.IsAbs(own) && !slices.Contains(files, own) {
		files = append(files, own)
	}
	for _, file := range files {
		out = append(out, record.DatabaseFile{Path: file})
	}
	return out
}

// data returns the folder with opencode's data, the same on all systems.
func data(user record.Where) string {
	return filepath.Join(cmp.Or(user.Getenv("XDG_DATA_HOME"), filepath.Join(user.Home, ".local", "share")), "opencode")
}

// sessions lists the sessions of a database, those of subagents after the others.
func sessions(ctx context.Context, ask record.Ask) (out []record.KeptSession, err error) {
	rows, err := rowsOf(ctx, ask, `ORDER BY time_created, id`)
	slices.SortStableFunc(rows, func(a, b []byte) int {
		return strings.Compare(jsonl.GetString(a, "parent_id"), jsonl.GetString(b, "parent_id"))
	})
	for _, row := range rows {
		out = append(out, record.KeptSession{ID: jsonl.GetString(row, "id"), Parent: jsonl.GetString(row, "parent_id"),
			Dir: jsonl.GetString(row, "directory"), Changed: record.Date(jsonl.Get(row, "time_updated"))})
	}
	return out, err
}

// columns are the names that a session's facts have in an export, by column.
var columns = map[string]string{
	"project_id": "projectID", "workspace_id": "workspaceID", "parent_id": "parentID",
	"share_url": "", "time_created": "", "time_updated": "", "time_compacting": "", "time_archived": "",
	"summary_additions": "", "summary_deletions": "", "summary_files": "", "summary_diffs": "", "permission": "",
}

// writeSession writes a session as `opencode export` does.
func writeSession(ctx context.Context, ask record.Ask, path, id string, w io.Writer) error {
	all, err := rowsOf(ctx, ask, `WHERE id = ?`, id)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("%s has no session %s", path, id)
	}
	rows, err := first(ctx, ask, id)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w) // its last Flush returns the first error
	times := record.NewObject(64).Raw("created", jsonl.Get(all[0], "time_created")).Raw("updated", jsonl.Get(all[0], "time_updated")).Done()
	info := record.NewObject(512).As(record.NewObject(512).Rest(all[0]).Done(), columns).Raw("time", times).Done()
	_, _ = fmt.Fprintf(out, `{"info":%s,"messages":[`, info)
	last, end, sep, until := "", "", "", int64(0)
	for _, row := range rows {
		message, comma := jsonl.GetString(row, "id"), ","
		if message != last {
			if last != "" {
				_, _ = out.WriteString("]},")
			}
			last, comma, end, sep, until = message, "", "]}", ",", max(until, number(row, "time_created"))
			_, _ = fmt.Fprintf(out, `{"info":%s,"parts":[`, joined(jsonl.Get(row, "data"), "id", message, "sessionID", id))
		}
		if part := jsonl.GetString(row, "part_id"); part != "" {
			_, _ = fmt.Fprintf(out, "%s%s", comma, joined(jsonl.Get(row, "part"), "id", part, "sessionID", id, "messageID", message))
		}
	}
	_, _ = out.WriteString(end)
	if err := second(ctx, ask, id, until, sep, out); err != nil {
		return err
	}
	_, _ = out.WriteString("]}")
	return out.Flush()
}

// first returns the messages of a session that version 1 keeps, a row for each part.
func first(ctx context.Context, ask record.Ask, id string) ([][]byte, error) {
	if has, err := hasTable(ctx, ask, "message"); err != nil || !has {
		return nil, err
	}
	return ask(ctx, `SELECT m.id, m.time_created, m.data, p.id AS part_id, p.data AS part FROM message m LEFT JOIN part p ON p.message_id = m.id
		WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id`, id)
}

// number returns a whole number of a row; 0 for anything else.
func number(row []byte, column string) int64 {
	n, _ := strconv.ParseInt(string(jsonl.Get(row, column)), 10, 64)
	return n
}

// joined returns the JSON of a row with its ids, names and values in turn.
func joined(data []byte, ids ...string) []byte {
	o := record.NewObject(len(data) + 128)
	for i := 0; i < len(ids); i += 2 {
		o.Str(ids[i], ids[i+1])
	}
	if !jsonl.IsObject(data) {
		return o.Str("type", "unreadable").Raw("data", data).Done()
	}
	return o.All(data, "id", "sessionID", "messageID").Done()
}
