package claudecode

import (
	"cmp"
	"path/filepath"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
)

const desktopFolder = "local-agent-mode-sessions"

// desktop returns the folders with transcripts of Claude Desktop's agent mode, which it calls Cowork. It starts Claude Code
// for each task, with a configuration folder of the task's own. audit.jsonl, beside that folder, has the same messages again,
// with the tokens of their beginnings only (docs/formats/cowork.md in skillsynchq/txcript, kenn-io/agentsview#681,
// farion1231/cc-switch#4979).
func desktop(user record.Where) (out []string) {
	apps := []string{
		filepath.Join(user.Home, "Library", "Application Support", "Claude"),
		filepath.Join(cmp.Or(user.Getenv("XDG_CONFIG_HOME"), filepath.Join(user.Home, ".config")), "Claude"),
	}
	if data := user.Getenv("APPDATA"); data != "" {
		apps = append(apps, filepath.Join(data, "Claude"))
	}
	if data := user.Getenv("LOCALAPPDATA"); data != "" { // where the app is from the store
		apps = append(apps, filepath.Join(data, "Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming", "Claude"))
	}
	for _, app := range apps {
		for _, task := range []string{"local_*", "agent/local_*"} { // below an organization and an account
			out = append(out, disk.Glob(app, desktopFolder+"/*/*/"+task+"/.claude/projects")...)
		}
	}
	return out
}

// refused says why Claude Code does not resume the sessions in a folder: it looks in its own configuration folder.
func refused(folder string) string {
	if strings.Contains(filepath.ToSlash(folder), "/"+desktopFolder+"/") {
		return "it belongs to Claude Desktop"
	}
	return ""
}
