package crush

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// file is the name of Crush's databases.
const file = "crush.db"

// Format is the format of Crush.
var Format = record.Format{
	Name: "crush", Title: "Crush", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence { return record.Certain.If(m.Has("crush")) },
	Files:  record.Files{Database: &record.Database{File: file, Tables: []string{"sessions", "messages"}, JSON: []string{"parts"}, All: databases, Sessions: sessions, Write: write}},
	Resume: &record.Resume{
		Program: "crush", Args: []string{"--session"}, IsID: record.IsUUID, Entry: "session/start", Member: "sessionId",
		Has: func(user record.Where, id, _ string) string {
			for _, kept := range databases(user) {
				if record.FileContains(kept.Path, id) || record.FileContains(kept.Path+"-wal", id) {
					return kept.Dir
				}
			}
			return ""
		},
	},
	Agent: &record.Agent{Folder: folder, MCPFile: settings, MCP: server},
}

// folder returns the folder of the user's settings, or that of a project.
func folder(w record.Where) string {
	if w.Project != "" {
		return w.Project
	}
	config := cmp.Or(w.Getenv("XDG_CONFIG_HOME"), filepath.Join(w.Home, ".config"))
	return cmp.Or(w.Getenv("CRUSH_GLOBAL_CONFIG"), filepath.Join(config, "crush"))
}

// settings returns the file with the MCP servers. A project's may be hidden.
func settings(w record.Where) string {
	if hidden := filepath.Join(w.Project, ".crush.json"); w.Project != "" {
		if _, err := os.Lstat(hidden); err == nil {
			return hidden
		}
	}
	return filepath.Join(folder(w), "crush.json")
}

func server(program string) (member string, value any) {
	return "mcp", struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{"stdio", program, []string{"mcp"}}
}

// databases returns the databases of all projects in which Crush was started.
func databases(user record.Where) (out []record.DatabaseFile) {
	raw, err := os.ReadFile(list(user))
	if err != nil {
		return nil // usually Crush was never started
	}
	for p := range jsonl.Elements(jsonl.Get(raw, "projects")) {
		dir := jsonl.GetString(p, "path")
		data := cmp.Or(jsonl.GetString(p, "data_dir"), ".crush")
		if !filepath.IsAbs(data) {
			data = filepath.Join(dir, data)
		}
		if filepath.IsAbs(dir) {
			out = append(out, record.DatabaseFile{Path: filepath.Join(data, file), Dir: dir})
		}
	}
	return out
}

// list returns the path of Crush's list of projects.
func list(user record.Where) string {
	data := cmp.Or(user.Getenv("CRUSH_GLOBAL_DATA"), filepath.Join(cmp.Or(user.Getenv("XDG_DATA_HOME"), filepath.Join(user.Home, ".local", "share")), "crush"))
	return filepath.Join(data, "projects.json")
}

// projectOf returns the project of a database: DIR for DIR/.crush/crush.db, "" for a database elsewhere.
func projectOf(path string) string {
	dir := filepath.Dir(path)
	if !filepath.IsAbs(dir) || filepath.Base(dir) != ".crush" {
		return ""
	}
	return strings.TrimSuffix(dir, string(filepath.Separator)+".crush")
}
