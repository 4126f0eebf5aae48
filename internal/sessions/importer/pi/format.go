package pi

import (
	"cmp"
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// plugin is an extension that calls tape: pi has no hooks that run commands.
//
//go:embed plugin.js
var plugin []byte

// Format is the format of pi.
var Format = record.Format{
	Name: "pi", Title: "pi", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(m.Has("type", "id", "parentId", "timestamp") && m["data"] == nil ||
			m.Text("type") == "session" && m.Has("id", "cwd", "timestamp"))
	},
	Head: func(head []byte) record.Confidence {
		return record.High.If(record.ContainsAll(head, `{"type":"session"`, `"timestamp"`, `"cwd"`))
	},
	Path: func(path, _ string) bool { return strings.Contains(path, "/.pi/") || strings.Contains(path, "/.omp/") },
	Files: record.Files{
		Ext: ".jsonl",
		// omp (oh-my-pi) is made from pi, and writes the same format.
		Folders: func(user record.Where) []string {
			usual := filepath.Join(folder(user), "sessions")
			return slices.Compact([]string{sessions(user), usual, filepath.Join(user.Home, ".omp", "agent", "sessions")})
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

// sessions returns the folder to which pi writes sessions. A setting may name another one than the usual, which keeps those
// that are there (packages/coding-agent/docs/settings.md in earendil-works/pi, svkozak/pi-acp#16, QoderAI/better-harness#25).
func sessions(user record.Where) string {
	named := user.Getenv("PI_CODING_AGENT_SESSION_DIR")
	if named == "" {
		settings, _ := os.ReadFile(filepath.Join(folder(user), "settings.json")) // usually there is no such setting
		named = jsonl.GetString(settings, "sessionDir")
	}
	if rest, ok := strings.CutPrefix(named, "~/"); ok {
		named = filepath.Join(user.Home, rest)
	}
	if !filepath.IsAbs(named) {
		return filepath.Join(folder(user), "sessions")
	}
	return named
}
