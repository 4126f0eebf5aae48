package pi

import (
	"cmp"
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Format is the format of pi.
var Format = record.Format{
	Name: "pi", Title: "pi", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Likeness {
		return record.Surely.If(m.Has("type", "id", "parentId", "timestamp") && m["data"] == nil ||
			m.Text("type") == "session" && m.Has("version", "id", "cwd"))
	},
	Head: func(head []byte) record.Likeness {
		return record.Likely.If(record.ContainsAll(head, `{"type":"session"`, `"version"`, `"cwd"`))
	},
	Path: func(path, _ string) bool { return strings.Contains(path, "/.pi/") },
	Files: record.Files{
		Ext: ".jsonl",
		Folders: func(user record.Where) []string {
			return []string{cmp.Or(user.Getenv("PI_CODING_AGENT_SESSION_DIR"), filepath.Join(folder(user), "sessions"))}
		},
		Directory: func(raw []byte) []byte { return jsonl.Get(raw, "cwd") },
	},
	Resume: &record.Resume{
		Program: "pi", Args: []string{"--session"}, IsID: record.IsUUID, Entry: "session", Member: "id",
		IsFile: func(stem, id string) bool { return strings.HasSuffix(stem, "_"+id) },
	},
}

func folder(w record.Where) string {
	if w.Project != "" {
		return filepath.Join(w.Project, ".pi")
	}
	return cmp.Or(w.Getenv("PI_CODING_AGENT_DIR"), filepath.Join(w.Home, ".pi", "agent"))
}
