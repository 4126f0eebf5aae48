package importer

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/sessions/walk"
	"tape/internal/show/display"
	"tape/internal/store/layout"
)

// File is a file to import.
type File struct {
	Name     string
	Fallback string // the name of its tape if the session has none
	Size     int64  // in bytes; 0 for standard input and for sessions in databases
	Problem  error  // why the sessions of a database cannot be listed
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
	err = walk.Files(name, func(path string, st fs.FileInfo, err error) error {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if list, ok, err := All().databaseSessions(ctx, path); ok {
			if err != nil {
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

// fallbackName tells files with the same name in different folders apart. It returns "" for a file in the folder itself.
func fallbackName(folder, file string) string {
	rel, err := filepath.Rel(folder, file)
	if err != nil || filepath.Dir(rel) == "." {
		return ""
	}
	return filepath.ToSlash(strings.TrimSuffix(rel, filepath.Ext(rel)))
}
