package record

import (
	"cmp"
	"path/filepath"
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
