package repair

import (
	"os"
	"path/filepath"

	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// strange lists what is in the place of a tape's files and folders in a working tree, but is a link, or a folder in the
// place of a file, or the other way round.
func strange(dir string) (out []string) {
	if dir == "" {
		return nil
	}
	is := func(folder bool, elem ...string) bool {
		path := filepath.Join(append([]string{dir}, elem...)...)
		st, err := os.Lstat(path)
		if err != nil {
			return false
		}
		if folder && st.IsDir() || !folder && st.Mode().IsRegular() {
			return true
		}
		out = append(out, path)
		return false
	}
	for _, name := range layout.RootFiles() {
		is(false, name)
	}
	if !is(true, layout.AnchorsDir) {
		return out
	}
	for _, folder := range namesIn(dir, layout.AnchorsDir) {
		if _, _, ok := layout.ParseFolder(folder); !ok || !is(true, layout.AnchorsDir, folder) {
			continue
		}
		for _, name := range namesIn(dir, layout.AnchorsDir, folder) {
			_, _, segment := layout.ParseSegment(name)
			switch {
			case segment || name == layout.AnchorFile:
				is(false, layout.AnchorsDir, folder, name)
			case name == layout.ArtifactsDir && is(true, layout.AnchorsDir, folder, name):
				for _, artifact := range namesIn(dir, layout.AnchorsDir, folder, name) {
					if layout.IsArtifactName(artifact) {
						is(false, layout.AnchorsDir, folder, name, artifact)
					}
				}
			}
		}
	}
	return out
}

func namesIn(elem ...string) []string {
	names, _ := workspace.DirNames(filepath.Join(elem...))
	return names
}
