package importer

import (
	"context"
	"strconv"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// withCommit completes the event of a commit with its full id and its changed files, if the session's
// directory is on this machine and its git has the commit.
func (in *intake) withCommit(ctx context.Context, item record.Item) record.Item {
	if item.Entry.Kind != record.KindEvent || item.Line != nil || jsonl.GetString(item.Entry.Payload, "name") != record.EventCommit {
		return item
	}
	data := jsonl.Get(item.Entry.Payload, "data")
	c, ok := in.git.Resolve(ctx, in.sessionDir(ctx), jsonl.GetString(data, "id"))
	if !ok {
		return item
	}
	files := make([][]byte, len(c.Files))
	for i, f := range c.Files {
		files[i] = record.Quote(f)
	}
	full := record.NewObject(len(data)+64*len(files)).Str("id", c.ID).All(data, "id").Raw("files", record.Array(files))
	if c.More > 0 {
		full.Raw("more", strconv.AppendInt(nil, int64(c.More), 10))
	}
	item.Entry.Payload = record.Event("", "", record.EventCommit, full.Done()).Payload
	return item
}

// sessionDir returns the session's directory, "" if it is unknown. If the beginning of the file was not read, the
// tape's first entry has it.
func (in *intake) sessionDir(ctx context.Context) string {
	if in.info.State != nil {
		return jsonl.GetString(in.info.State, "cwd")
	}
	tape, err := in.store.Tape(ctx, in.res.Tape)
	if err != nil {
		return "" // it does not exist yet
	}
	for e, err := range tape.Entries(ctx, repo.Query{Limit: repo.N(1)}) {
		if err == nil {
			return jsonl.GetString(e.Payload, "state", "cwd")
		}
	}
	return ""
}
