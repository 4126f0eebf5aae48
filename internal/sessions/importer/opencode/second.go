package opencode

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Version 2 keeps sessions in tables of the same database: a row of session_v2 has the facts, each row of session_message a
// whole message, in the order of seq. Messages get the form that version 1 exports. Sessions of version 1 are copied, under
// their ids, but not all that their messages had, and their tables stay, unless the database is new. So a session has first
// what version 1 kept, and then what is later. Source: packages/schema/src/session-message.ts in anomalyco/opencode;
// vshulcz/deja-vu#3924, Dicklesworthstone/cross_agent_session_resumer#30, vibe-cafe/vibe-usage#114.

const (
	secondSessions = "session_v2"
	secondMessages = "session_message"
)

// hasTable reports whether a database has a table.
func hasTable(ctx context.Context, ask record.Ask, name string) (bool, error) {
	rows, err := ask(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name = ?`, name)
	return len(rows) > 0, err
}

// rowsOf returns the rows of the sessions that a database has, without those that a later version has copied. where is the
// end of the questions.
func rowsOf(ctx context.Context, ask record.Ask, where string, args ...any) (rows [][]byte, err error) {
	copied := map[string]bool{}
	for _, table := range []string{secondSessions, "session"} {
		has, err := hasTable(ctx, ask, table)
		if err != nil {
			return nil, err
		}
		if !has {
			continue
		}
		found, err := ask(ctx, `SELECT * FROM `+table+` `+where, args...) // older versions lack some columns
		if err != nil {
			return nil, err
		}
		for _, row := range found {
			if id := jsonl.GetString(row, "id"); !copied[id] {
				copied[id] = true
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// second writes the messages of version 2 that are later than a time in milliseconds, each with sep before it.
func second(ctx context.Context, ask record.Ask, id string, after int64, sep string, out *bufio.Writer) error {
	if has, err := hasTable(ctx, ask, secondSessions); err != nil || !has {
		return err
	}
	rows, err := ask(ctx, `SELECT id, type, data FROM session_message WHERE session_id = ? AND time_created > ? ORDER BY seq`, id, after)
	for _, row := range rows {
		for _, message := range asFirst(jsonl.GetString(row, "id"), jsonl.GetString(row, "type"), jsonl.Get(row, "data")) {
			_, _ = fmt.Fprintf(out, "%s%s", sep, message)
			sep = ","
		}
	}
	return err
}

// asFirst returns a message of version 2 as version 1 exports it: most are one, a compaction is two.
func asFirst(id, typ string, data []byte) [][]byte {
	info := func(id, role string) *record.Object {
		return record.NewObject(512).Str("id", id).Str("role", role).Raw("time", jsonl.Get(data, "time"))
	}
	part := func(name string, i int) *record.Object {
		return record.NewObject(len(data)+64).Str("id", id+"/"+name+strconv.Itoa(i))
	}
	message := func(info *record.Object, parts ...[]byte) []byte {
		return record.NewObject(len(data)+512).Raw("info", info.Done()).List("parts", parts).Done()
	}
	rest := func(but ...string) []byte {
		return record.NewObject(len(data)).Rest(data, append(but, "id", "type", "time", "sessionID")...).Done()
	}
	switch typ {
	case "user":
		text := part("text", 0).Str("type", "text").Raw("text", jsonl.Get(data, "text")).All(rest("text", "files")).Done()
		return [][]byte{message(info(id, "user"), append([][]byte{text}, filesOf(id, data)...)...)}
	case "synthetic", "skill": // what the program tells the model
		text := part("text", 0).Str("type", "text").Raw("text", jsonl.Get(data, "text")).Raw("synthetic", []byte("true")).All(rest("text")).Done()
		return [][]byte{message(info(id, "user"), text)}
	case "assistant":
		model := jsonl.Get(data, "model")
		about := info(id, "assistant").Raw("modelID", jsonl.Get(model, "id")).Raw("providerID", jsonl.Get(model, "providerID")).
			Raw("variant", jsonl.Get(model, "variant")).All(rest("content", "model"))
		var parts [][]byte
		for i, item := range slices.Collect(jsonl.Elements(jsonl.Get(data, "content"))) {
			parts = append(parts, answered(part("", i), item))
		}
		return [][]byte{message(about, parts...)}
	case "compaction":
		asked := message(info(id+"/asked", "user"), part("", 0).Str("type", "compaction").All(rest("summary", "tokens", "cost", "model")).Done())
		model, status, used := jsonl.Get(data, "model"), jsonl.GetString(data, "status"), jsonl.Get(data, "tokens")
		done := info(id, "assistant").Raw("modelID", jsonl.Get(model, "id")).Raw("providerID", jsonl.Get(model, "providerID")).
			Raw("tokens", used).Raw("cost", jsonl.Get(data, "cost"))
		switch {
		case status == "running":
			return nil
		case status == "failed" && used == nil:
			return [][]byte{asked}
		case status == "failed": // it took tokens all the same (anomalyco/opencode#47974)
			return [][]byte{asked, message(done)}
		}
		return [][]byte{asked, message(done.Raw("summary", []byte("true")), part("text", 0).Str("type", "text").Raw("text", jsonl.Get(data, "summary")).Done())}
	}
	return [][]byte{message(info(id, "user"), part("", 0).Str("type", typ).All(rest()).Done())}
}

// answered returns an item of an answer as a part of version 1.
func answered(part *record.Object, item []byte) []byte {
	times := record.NewObject(64).As(jsonl.Get(item, "time"), map[string]string{"created": "start", "ran": "", "completed": "end"}).OrNil()
	if jsonl.GetString(item, "type") != "tool" {
		return part.All(item, "id", "time").Raw("time", times).Done()
	}
	state := jsonl.Get(item, "state")
	var texts []string
	var files [][]byte
	for _, c := range slices.Collect(jsonl.Elements(jsonl.Get(state, "content"))) {
		if jsonl.GetString(c, "type") == "text" {
			texts = append(texts, jsonl.GetString(c, "text"))
		} else {
			files = append(files, c)
		}
	}
	as := record.NewObject(len(item)).All(state, "content", "error").Raw("time", times)
	if texts != nil {
		as.Str("output", strings.Join(texts, "\n"))
	}
	if files != nil {
		as.List("attachments", files)
	}
	if failed := jsonl.Get(state, "error"); failed != nil {
		as.Raw("error", record.Or(jsonl.Get(failed, "message"), failed))
	}
	call := record.Or(jsonl.Get(item, "callID"), jsonl.Get(item, "id")) // it was callID in the first versions
	return part.Str("type", "tool").Raw("callID", call).Raw("tool", jsonl.Get(item, "name")).Raw("state", as.Done()).
		All(item, "type", "id", "callID", "name", "state", "time").Done()
}

// filesOf returns the attachments of a prompt. The content of one is its data, in base64.
func filesOf(id string, data []byte) (out [][]byte) {
	for i, file := range slices.Collect(jsonl.Elements(jsonl.Get(data, "files"))) {
		part := record.NewObject(len(file)+128).Str("id", id+"/file"+strconv.Itoa(i)).Str("type", "file").Raw("filename", jsonl.Get(file, "name"))
		if content := jsonl.Get(file, "data"); len(content) > 2 && content[0] == '"' {
			begin := record.Quote("data:" + jsonl.GetString(file, "mime") + ";base64,")
			part.Raw("url", append(begin[:len(begin)-1], content[1:]...))
		} else {
			part.Raw("url", record.Or(jsonl.Get(file, "uri"), jsonl.Get(file, "source", "uri")))
		}
		out = append(out, part.All(file, "id", "type", "name", "data", "uri").Done())
	}
	return out
}
