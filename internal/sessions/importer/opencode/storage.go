package opencode

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Before version 1.2 opencode kept a file for each thing: storage/session/PROJECT/SESSION.json has the facts of a session,
// storage/message/SESSION/MESSAGE.json and storage/part/MESSAGE/PART.json what `opencode export` writes as one document.
// The first versions had project/NAME/storage/session/{info,message/SESSION,part/SESSION/MESSAGE}. Sources:
// packages/opencode/src/storage/storage.ts in sst/opencode; AgentWorkforce/relayhistory#168,
// Dicklesworthstone/coding_agent_session_search#8.

// isStored reports whether an object has the facts of a session in a file of its own.
func isStored(m record.Members) bool {
	return isID(m.Text("id")) && m.Has("version") && jsonl.Get(m["time"], "created") != nil && !m.Has("messages") && !m.Has("parts")
}

// folders returns the folders with files of sessions. Beside the database there are none: version 1.2 has copied them.
func folders(user record.Where) []string {
	if _, err := os.Stat(filepath.Join(data(user), "opencode.db")); err == nil {
		return nil
	}
	return append(disk.Glob(data(user), "project/*/storage/session/info"), filepath.Join(data(user), "storage", "session"))
}

// isNote reports whether a file belongs to a session in another file.
func isNote(path, name string) bool {
	switch {
	case strings.HasPrefix(name, "msg_"):
		return strings.Contains(path, "/message/ses_")
	case strings.HasPrefix(name, "prt_"):
		return strings.Contains(path, "/part/")
	case strings.HasPrefix(name, "ses_"):
		return strings.Contains(path, "/storage/session_") || strings.Contains(path, "/storage/todo/") || strings.Contains(path, "/storage/session/share/")
	}
	return strings.Contains(path, "/opencode/storage/project/")
}

// places returns the folder that has all files of a session, and where in it those of its messages, and of their parts,
// are. below is the folder of the parts of one message.
func places(file, id string) (root, messages string, below func(message string) string) {
	dir := filepath.Dir(file)
	if filepath.Base(dir) == "info" {
		return filepath.Dir(dir), "message/" + id, func(message string) string { return "part/" + id + "/" + message }
	}
	return filepath.Dir(filepath.Dir(dir)), "message/" + id, func(message string) string { return "part/" + message }
}

// beside returns the folder with a session's messages: it changes with each new one.
func beside(file string) []string {
	id := record.Source{Name: file}.Stem()
	if !isID(id) {
		return nil
	}
	root, messages, _ := places(file, id)
	return []string{filepath.Join(root, filepath.FromSlash(messages))}
}

// stored returns the facts of a session whose messages are in files of their own, nil for any other source.
func stored(src record.Source) []byte {
	head := make([]byte, min(src.Size, 4<<10))
	n, _ := src.R.ReadAt(head, 0) // at the end of the file, n is less
	head = bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte(record.ByteOrderMark)), " \t\r\n")
	if len(head) == 0 || head[0] != '{' || !isStored(record.MembersOf(head)) || src.Size > jsonl.DefaultMaxLine {
		return nil
	}
	raw := make([]byte, src.Size)
	if _, err := src.R.ReadAt(raw, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte(record.ByteOrderMark)))
	if !jsonl.IsObject(raw) || jsonl.Valid(raw) != nil {
		return nil
	}
	return raw
}

// directory returns the directory of a session. Sessions in files may not have it, and then their project does, unless it is
// that of all directories outside of git (kenn-io/agentsview#1436).
func directory(src record.Source, session []byte) []byte {
	dir, project := jsonl.Get(session, "directory"), jsonl.GetString(session, "projectID")
	if said := record.Text(record.Or(dir, `""`)); said != "" && said != "/" || project == "" || filepath.Base(project) != project {
		return dir
	}
	raw := bytes.TrimSpace(src.Beside(filepath.Join("..", "..", "project", project+".json")))
	if tree := jsonl.Get(raw, "worktree"); jsonl.Valid(raw) == nil && len(tree) > 2 && record.Text(tree) != "/" {
		return tree
	}
	return dir
}

// files reads a session with its messages from files. No link is followed out of the folder that has them.
func (c *reader) files(ctx context.Context, session []byte) error {
	c.field("info", session)
	id := jsonl.GetString(session, "id")
	if id != c.Stem() || c.Name == "-" {
		return ctx.Err() // it was copied from elsewhere, without its messages
	}
	at, messages, below := places(c.Name, id)
	root, err := os.OpenRoot(at)
	if err != nil {
		return ctx.Err()
	}
	defer root.Close()
	c.each(root, messages, "msg_", func(message string, info []byte) {
		if ctx.Err() != nil || c.Enough() {
			return
		}
		var parts [][]byte
		c.each(root, below(message), "prt_", func(_ string, part []byte) { parts = append(parts, part) })
		c.Record(record.Span{}, record.NewObject(1024).Raw("info", info).List("parts", parts).Done())
	})
	return ctx.Err()
}

// each calls use with the objects in the files of a folder, in the order of their names, which is that in which they were
// made. A file that cannot be read counts as damaged.
func (c *reader) each(root *os.Root, folder, prefix string, use func(name string, raw []byte)) {
	list, _ := fs.ReadDir(root.FS(), folder) // there need not be any
	for _, e := range list {
		name, is := strings.CutSuffix(e.Name(), ".json")
		if !is || !strings.HasPrefix(name, prefix) {
			continue
		}
		st, err := root.Stat(path.Join(folder, e.Name()))
		var raw []byte
		if err == nil && st.Mode().IsRegular() && st.Size() <= record.MaxRecord {
			raw, _ = root.ReadFile(path.Join(folder, e.Name()))
		}
		switch raw = bytes.TrimSpace(raw); {
		case jsonl.IsObject(raw) && jsonl.Valid(raw) == nil:
			use(name, record.Compact(raw))
		case !c.Open:
			c.Stats.Damaged++
			c.Stats.Problems = append(c.Stats.Problems, record.Problem{Msg: path.Join(folder, e.Name()) + " cannot be read"})
		}
	}
}
