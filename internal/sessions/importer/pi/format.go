package pi

import (
	"cmp"
	_ "embed"
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer/record"
)

// plugin is an extension that calls tape: pi has no hooks that run commands.
//
//go:embed plugin.js
var plugin []byte

// Format is the format of pi.
var Format = record.Format{
	Name: "pi", Title: "pi", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Likeness {
		return record.Surely.If(m.Has("type", "id", "parentId", "timestamp") && m["data"] == nil ||
			m.Text("type") == "session" && m.Has("id", "cwd", "timestamp"))
	},
	Head: func(head []byte) record.Likeness {
		return record.Likely.If(record.ContainsAll(head, `{"type":"session"`, `"timestamp"`, `"cwd"`))
	},
	Path: func(path, _ string) bool { return strings.Contains(path, "/.pi/") || strings.Contains(path, "/.omp/") },
	Files: record.Files{
		Ext: ".jsonl",
		// omp (oh-my-pi) is made from pi, and writes the same format.
		Folders: func(user record.Where) []string {
			return []string{sessions(user), filepath.Join(user.Home, ".omp", "agent", "sessions")}
		},
	},
	Writer: &writer,
	Resume: &record.Resume{
		Program: "pi", Args: []string{"--session"}, IsID: record.IsUUID, Entry: "session", Member: "id",
		IsFile: func(stem, id string) bool { return strings.HasSuffix(stem, "_"+id) },
	},
	// The plugin gives the events these names.
	Events: []record.HookEvent{{Name: "SessionStart", Is: record.Start}, {Name: "Stop", Is: record.TurnEnd}, {Name: "SessionEnd", Is: record.End}},
	Agent:  &record.Agent{Folder: folder, Hooks: "extensions/tape.js", Plugin: func() []byte { return plugin }},
}

func folder(w record.Where) string {
	if w.Project != "" {
		return filepath.Join(w.Project, ".pi")
	}
	return cmp.Or(w.Getenv("PI_CODING_AGENT_DIR"), filepath.Join(w.Home, ".pi", "agent"))
}

func sessions(user record.Where) string {
	return cmp.Or(user.Getenv("PI_CODING_AGENT_SESSION_DIR"), filepath.Join(folder(user), "sessions"))
}
