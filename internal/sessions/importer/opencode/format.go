package opencode

import (
	"bytes"
	"cmp"
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// plugin calls tape: opencode has no hooks that run commands.
//
//go:embed plugin.js
var plugin []byte

// Format is the format of opencode.
var Format = record.Format{
	Name: "opencode", Title: "opencode", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		return max(record.High.If(jsonl.IsObject(m["info"]) && m.HasMessages("parts")), record.Certain.If(isStored(m)))
	},
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(bytes.HasPrefix(bytes.TrimLeft(head[1:], " \t\r\n"), []byte(`"info"`)) &&
			(record.ContainsAll(head, `"messages"`) || record.ContainsAll(head, `"ses_`)) || head[0] == '{' && isStored(record.MembersOf(head)))
	},
	Files:  record.Files{Database: &kept, Folders: folders, IsNote: isNote, Beside: beside},
	Writer: &writer,
	Resume: &record.Resume{
		Program: "opencode", Args: []string{"--session"}, IsID: isID, Entry: "session", Member: "id", Has: has,
	},
	// The plugin gives the events these names.
	Events: []record.HookEvent{{Name: "Stop", Is: record.TurnEnd}, {Name: "SessionEnd", Is: record.End}},
	Agent: &record.Agent{
		Folder: folder, Hooks: "plugin/tape.js", MCPFile: settings,
		Plugin: func() []byte { return plugin },
		MCP: func(program string) (string, any) {
			return "mcp", struct {
				Type    string   `json:"type"`
				Command []string `json:"command"`
				Enabled bool     `json:"enabled"`
			}{"local", []string{program, "mcp"}, true}
		},
	},
}

// isID reports whether a text is the id of a session.
func isID(id string) bool {
	rest, ok := strings.CutPrefix(id, "ses_")
	return ok && rest != "" && len(rest) < 64 && !strings.ContainsFunc(rest, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// has returns here if opencode's database has a session. It looks for the id among the database's bytes: opencode
// itself would need two seconds, and run the plugins of the directory in which it is started.
func has(user record.Where, id, here string) string {
	if slices.ContainsFunc(disk.Glob(data(user), databaseFile+"*"), func(file string) bool { return record.FileContains(file, id) }) {
		return here
	}
	return ""
}

func folder(w record.Where) string {
	if w.Project != "" {
		return filepath.Join(w.Project, ".opencode")
	}
	return filepath.Join(cmp.Or(w.Getenv("XDG_CONFIG_HOME"), filepath.Join(w.Home, ".config")), "opencode")
}

// settings returns the file with opencode's MCP servers.
func settings(w record.Where) string {
	dir := cmp.Or(w.Project, folder(w))
	file := filepath.Join(dir, "opencode.jsonc")
	if _, err := os.Lstat(file); err == nil {
		return file
	}
	return filepath.Join(dir, "opencode.json")
}
