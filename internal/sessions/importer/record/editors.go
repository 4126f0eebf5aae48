package record

import (
	"cmp"
	"net/url"
	"path/filepath"

	"tape/internal/text/jsonl"
)

// editors are the names of the folders of Visual Studio Code and the programs that are made from it.
var editors = []string{"Code", "Code - Insiders", "Code - OSS", "VSCodium", "Cursor", "Windsurf", "Positron", "Trae", "Kiro"}

// EditorFolders returns a folder below the folder "User" of each editor that is made from Visual Studio Code: where it is
// on Linux, macOS and Windows, and on a machine that somebody works on from elsewhere. The folders need not exist.
func EditorFolders(user Where, below ...string) (out []string) {
	config := cmp.Or(user.Getenv("XDG_CONFIG_HOME"), filepath.Join(user.Home, ".config"))
	places := []string{config, filepath.Join(user.Home, "Library", "Application Support")}
	if data := user.Getenv("APPDATA"); data != "" {
		places = append(places, data)
	}
	add := func(folder string) { out = append(out, filepath.Join(append([]string{folder, "User"}, below...)...)) }
	for _, place := range places {
		for _, name := range editors {
			add(filepath.Join(place, name))
		}
	}
	for _, server := range []string{".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server"} {
		add(filepath.Join(user.Home, server, "data"))
	}
	return out
}

// EditorWorkspace returns the directory of the workspace in whose storage a file is; "" if it is on another machine, or not
// known. up leads from the folder of the file to that of the workspace.
func EditorWorkspace(src Source, up string) string {
	at, err := url.Parse(jsonl.GetString(src.Beside(filepath.Join(up, "workspace.json")), "folder"))
	if err != nil || at.Scheme != "file" || at.Host != "" {
		return ""
	}
	if path := at.Path; len(path) > 2 && path[2] == ':' { // /c:/src
		return filepath.FromSlash(path[1:])
	}
	return at.Path
}
