package importer

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/show/display"
	"tape/internal/store/layout"
)

// File is a file to import.
type File struct {
	Name     string
	Fallback string // the name of its tape if the session has none
	Size     int64  // in bytes; 0 for standard input and for sessions in databases
	Problem  error  // why a database or what a link leads to is left out
	Found    bool   // in a folder: nobody named it, so it need not be a transcript
}

// Files returns what a path names: a file, the transcripts in a folder and below it, the sessions of a database, or
// one of its sessions. "-" is standard input. Errors: ErrNotFound; ErrInvalid if a folder has no transcripts.
func Files(ctx context.Context, name string) ([]File, error) {
	if name == "-" {
		return []File{{Name: name}}, nil
	}
	if list, ok, err := All().databaseSessions(ctx, name); ok {
		return list, err
	}
	st, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, layout.NotFound("", "there is no file %s", display.Quoted(name))
	}
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return []File{{Name: name, Size: st.Size()}}, nil
	}
	var out, agents []File
	leaves := leadsOut(name)
	err = disk.Walk(name, func(path string, st fs.FileInfo, err error) error {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if leaves(path) {
			if st.IsDir() || All().IsTranscript(path) {
				out = append(out, File{Name: path, Found: true, Problem: layout.Invalid("import what the link leads to, by its name", "%s is left out: a link leads out of the folder %s", display.Quoted(path), display.Quoted(name))})
			}
			if st.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if list, ok, err := All().databaseSessions(ctx, path); ok {
			if err != nil && !errors.Is(err, ErrUnknownFormat) { // another program's may have such a name
				list = []File{{Name: path, Found: true, Problem: err}}
			}
			for i := range list {
				list[i].Found = true
			}
			out = append(out, list...)
			return ctx.Err()
		}
		if !st.Mode().IsRegular() || !All().IsTranscript(path) {
			return nil
		}
		t := File{Name: path, Fallback: fallbackName(name, path), Size: st.Size(), Found: true}
		if All().IsSubagent(filepath.Base(path)) {
			agents = append(agents, t)
		} else {
			out = append(out, t)
		}
		return nil
	})
	// Subagents' own files come after the sessions that they belong to.
	out = append(out, agents...)
	if err == nil && len(out) == 0 {
		err = layout.Invalid("", "%s has no .jsonl or .json files", display.Quoted(name))
	}
	return out, err
}

// leadsOut returns a function that reports whether links lead from a path in a folder out of that folder: whoever made the
// folder chose where. In the folders of the user's own agents, it was the user.
func leadsOut(folder string) func(path string) bool {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return func(string) bool { return false }
	}
	for _, f := range All().WithFolders() {
		for _, own := range Folders(f, os.Getenv) {
			if own, err := filepath.EvalSymlinks(own); err == nil && (own == real || disk.IsInside(real, own) || disk.IsInside(own, real)) {
				return func(string) bool { return false }
			}
		}
	}
	return func(path string) bool {
		to, err := filepath.EvalSymlinks(path)
		inside, relErr := filepath.Rel(real, to)
		return err == nil && (relErr != nil || inside != "." && !filepath.IsLocal(inside))
	}
}

// fallbackName tells files with the same name in different folders apart. It returns "" for a file in the folder itself.
func fallbackName(folder, file string) string {
	rel, err := filepath.Rel(folder, file)
	if err != nil || filepath.Dir(rel) == "." {
		return ""
	}
	return filepath.ToSlash(strings.TrimSuffix(rel, filepath.Ext(rel)))
}
