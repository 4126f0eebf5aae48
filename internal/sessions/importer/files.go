package importer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/show/display"
	"tape/internal/store/layout"
)

// File is a file to import.
type File struct {
	Name     string
	Fallback string // the name of its tape if the session has none
	Size     int64  // in bytes; 0 for standard input and for sessions in databases
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
	err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if list, ok, err := All().databaseSessions(ctx, path); ok {
			out = append(out, list...)
			return err
		}
		if !d.Type().IsRegular() || !All().IsTranscript(path) {
			return nil
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		t := File{path, fallbackName(name, path), st.Size()}
		if All().IsSubagent(d.Name()) {
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
