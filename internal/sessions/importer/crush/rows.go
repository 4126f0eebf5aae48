package crush

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// sessions lists the sessions of a database.
func sessions(ctx context.Context, ask record.Ask) (out []record.KeptSession, err error) {
	rows, err := ask(ctx, `SELECT s.id, MAX(s.updated_at, COALESCE((SELECT MAX(m.updated_at) FROM messages m WHERE m.session_id = s.id), 0)) AS changed
		FROM sessions s WHERE COALESCE(s.parent_session_id, '') = '' ORDER BY s.rowid`)
	for _, raw := range rows {
		out = append(out, record.KeptSession{ID: jsonl.GetString(raw, "id"), Changed: record.Date(jsonl.Get(raw, "changed"))})
	}
	return out, err
}

// tree selects the ids of a session and of its subagents' sessions.
const tree = `WITH RECURSIVE tree(id) AS (VALUES(?) UNION SELECT s.id FROM sessions s JOIN tree t ON s.parent_session_id = t.id) `

// write writes a session and its subagents as lines: the facts, the rows in the order in which they were made, the
// title after the first turn, and the usage at the end.
func write(ctx context.Context, ask record.Ask, path, id string, w io.Writer) error {
	all, err := ask(ctx, `SELECT * FROM sessions WHERE id = ?`, id)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("%s has no session %s", path, id)
	}
	rows, err := ask(ctx, tree+`SELECT m.* FROM messages m JOIN tree t ON m.session_id = t.id ORDER BY m.rowid`, id)
	if err != nil {
		return err
	}
	session := all[0]
	out := &lines{w: w}
	out.put(record.NewObject(256).Str("crush", "session").Str("id", id).Raw("created_at", jsonl.Get(session, "created_at")).Str("cwd", projectOf(path)))
	asked := false
	for i, row := range rows {
		sessionID := jsonl.GetString(row, "session_id")
		if asked && sessionID == id && jsonl.GetString(row, "role") == "user" {
			out.title(session, false)
		}
		asked = asked || sessionID == id
		o := record.NewObject(len(row)+64).Str("crush", "message")
		if sessionID != id {
			o.Str("agent", subagent(sessionID))
		}
		if parts, open := settled(row, rows[i+1:]); open {
			out.put(o.Raw("open", []byte("true")).All(row, "parts").Raw("parts", parts))
		} else {
			out.put(o.All(row))
		}
	}
	out.title(session, true)
	out.put(record.NewObject(128).Str("crush", "usage").Raw("date", jsonl.Get(session, "updated_at")).Raw("prompt_tokens", jsonl.Get(session, "prompt_tokens")).
		Raw("completion_tokens", jsonl.Get(session, "completion_tokens")).Raw("cost", jsonl.Get(session, "cost")))
	return out.err
}

// subagent returns the name of a subagent. The id of its session is MESSAGE$$CALL.
func subagent(id string) string { return "agent-" + strings.ReplaceAll(id, "$$", "-") }

// abandoned is the time without a change after which an answer counts as cut off: Crush was killed.
const abandoned = time.Hour

// settled returns the parts of a message that will not change any more. open reports whether more may come: Crush
// updates the row while the model speaks, and adds a part "finish" at the end. If there is a later message but no
// "finish", Crush was killed. If open is false, parts is nil, and the row is settled as a whole.
func settled(row []byte, later [][]byte) (parts []byte, open bool) {
	if jsonl.GetString(row, "role") != "assistant" {
		return nil, false
	}
	var done [][]byte
	last := false
	for part := range jsonl.Elements(jsonl.Get(row, "parts")) {
		data := jsonl.Get(part, "data")
		switch jsonl.GetString(part, "type") {
		case "finish":
			return nil, false
		case "tool_call":
			last = string(jsonl.Get(data, "finished")) == "true"
		default:
			last = false
		}
		done = append(done, part)
	}
	for _, r := range later {
		if jsonl.GetString(r, "role") != "tool" && jsonl.GetString(r, "session_id") == jsonl.GetString(row, "session_id") {
			return nil, false
		}
	}
	at, err := time.Parse(time.RFC3339, record.Date(jsonl.Get(row, "updated_at")))
	if err == nil && time.Since(at) > abandoned {
		return nil, false
	}
	if !last && len(done) > 0 {
		done = done[:len(done)-1]
	}
	return record.Array(done), true
}

// lines writes the lines of a session.
type lines struct {
	w      io.Writer
	titled bool
	err    error
}

func (l *lines) put(o *record.Object) {
	if l.err == nil {
		_, l.err = l.w.Write(append(o.Done(), '\n'))
	}
}

// title writes the session's title, if there is one. Crush asks the model for it during the first turn. A title line at
// the end is marked "last", and skipped while the session is recorded: it will stand after the first turn.
func (l *lines) title(session []byte, last bool) {
	title := jsonl.GetString(session, "title")
	if l.titled || title == "" || title == "New Session" || title == "Untitled Session" {
		return
	}
	l.titled = true
	o := record.NewObject(128).Str("crush", "title").Str("title", title)
	if last {
		o.Raw("last", []byte("true"))
	}
	l.put(o)
}
