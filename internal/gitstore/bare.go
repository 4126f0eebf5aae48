package gitstore

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// OpenBare opens the bare repository in dir, or any git folder, to read from it as git's
// own hooks do: besides its objects it finds those that git names in the environment.
// While git receive-pack asks the pre-receive hook, what was pushed lies in a
// quarantine outside the repository's objects (git-receive-pack(1), "Quarantine
// Environment"), which only GIT_OBJECT_DIRECTORY and GIT_QUARANTINE_PATH name. What is
// written goes to the repository itself.
func OpenBare(dir string, o *Options) (*Repo, error) {
	r, err := Open(dir, o)
	if err != nil {
		return nil, err
	}
	r.extra = environmentObjects()
	return r, nil
}

// environmentObjects returns the object folders that the environment names.
func environmentObjects() []string {
	var dirs []string
	add := func(dir string) {
		if dir == "" {
			return
		}
		if abs, err := filepath.Abs(dir); err == nil && !slices.Contains(dirs, abs) {
			dirs = append(dirs, abs)
		}
	}
	add(os.Getenv("GIT_QUARANTINE_PATH"))
	add(os.Getenv("GIT_OBJECT_DIRECTORY"))
	for _, dir := range splitPaths(os.Getenv("GIT_ALTERNATE_OBJECT_DIRECTORIES")) {
		add(dir)
	}
	return dirs
}

// splitPaths takes a list of paths apart as git does: at the system's separator, where a
// path that begins with a quotation mark is quoted as in C.
func splitPaths(list string) (paths []string) {
	for list != "" {
		if list[0] != '"' {
			path, rest, _ := strings.Cut(list, string(os.PathListSeparator))
			paths, list = append(paths, path), rest
			continue
		}
		path, rest, ok := unquotePath(list[1:])
		if !ok {
			return append(paths, strings.Split(list, string(os.PathListSeparator))...)
		}
		paths, list = append(paths, path), strings.TrimPrefix(rest, string(os.PathListSeparator))
	}
	return paths
}

// unquotePath reads up to the closing quotation mark.
func unquotePath(s string) (path, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], true
		case c != '\\':
			b.WriteByte(c)
		case i+3 < len(s) && isOctal(s[i+1:i+4]):
			b.WriteByte((s[i+1]-'0')<<6 + (s[i+2]-'0')<<3 + (s[i+3] - '0'))
			i += 3
		case i+1 < len(s):
			i++
			if at := strings.IndexByte("abfnrtv", s[i]); at >= 0 {
				b.WriteByte("\a\b\f\n\r\t\v"[at])
			} else {
				b.WriteByte(s[i])
			}
		}
	}
	return "", "", false
}

func isOctal(s string) bool { return s[0] <= '3' && strings.Trim(s, "01234567") == "" }
