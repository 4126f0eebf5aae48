package gitstore

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OpenBare opens the bare repository in dir, or any git folder, for use in git's hooks: it also reads
// objects from the folders that git names in the environment. While git receive-pack runs the
// pre-receive hook, what was pushed is in a quarantine outside the repository's objects
// (git-receive-pack(1), "Quarantine Environment"), which only GIT_OBJECT_DIRECTORY and
// GIT_QUARANTINE_PATH name. Writes go to the repository itself.
func OpenBare(dir string, o *Options) (*Repo, error) {
	r, err := Open(dir, o)
	if err != nil {
		return nil, err
	}
	r.extra = environmentObjects()
	return r, nil
}

func environmentObjects() []string {
	var dirs []string
	named := []string{os.Getenv("GIT_QUARANTINE_PATH"), os.Getenv("GIT_OBJECT_DIRECTORY")}
	for _, dir := range append(named, splitPaths(os.Getenv("GIT_ALTERNATE_OBJECT_DIRECTORIES"))...) {
		if abs, err := filepath.Abs(dir); err == nil && dir != "" {
			dirs = append(dirs, abs)
		}
	}
	return dirs
}

// splitPaths splits a list of paths at the system's separator. As in git, a path that begins with a
// quotation mark is quoted as in C, which Go reads the same way.
func splitPaths(list string) (paths []string) {
	for list != "" {
		path, rest, _ := strings.Cut(list, string(os.PathListSeparator))
		if list[0] == '"' {
			quoted, err := strconv.QuotedPrefix(list)
			if err == nil {
				path, err = strconv.Unquote(quoted)
			}
			if err != nil {
				return append(paths, strings.Split(list, string(os.PathListSeparator))...)
			}
			rest = strings.TrimPrefix(list[len(quoted):], string(os.PathListSeparator))
		}
		paths, list = append(paths, path), rest
	}
	return paths
}
