package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

// isFile reports whether something is there of a name, or it stands for standard input.
func isFile(name string) bool {
	_, err := os.Stat(name)
	return err == nil || name == "-"
}

// discover finds the transcripts of this project, and says what it found.
func (o *importOptions) discover(ctx context.Context) error {
	project, err := o.project()
	if err != nil {
		return err
	}
	agents := importer.All().WithFolders()
	if o.format != importer.Auto {
		agents = importer.Formats{importer.All().Find(o.format)}
	}
	var found []string
	for _, agent := range agents {
		files, err := importer.Discover(ctx, agent, project, o.Getenv)
		if err != nil {
			return err
		}
		found = append(found, some(len(files), "transcript of "+agent.Name, "transcripts of "+agent.Name)...)
		o.files = append(o.files, files...)
	}
	if len(found) == 0 {
		return layout.NotFound("name the files: tape import FILE…", "no transcripts of sessions in %s by %s", quoted(project), strings.Join(agents.Names(), ", "))
	}
	o.Tell("found %s, of sessions in %s", strings.Join(found, ", "), display.Line(project))
	return nil
}

// project is the current directory, or the one above it that the workspace belongs to.
func (o *importOptions) project() (string, error) {
	here, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	workspace, err := repo.Find(here)
	for at := here; err == nil && at != filepath.Dir(at); at = filepath.Dir(at) {
		if of, err := repo.WorkspaceFor(at); err == nil && of == workspace {
			return at, nil
		}
	}
	return here, nil
}

// transcript is a file to import.
type transcript struct {
	name     string
	fallback string // the name of its tape where it says none
	size     int64
}

// transcripts lists a file, or the files in a folder and below.
func transcripts(name string) ([]transcript, error) {
	if name == "-" {
		return []transcript{{name: name}}, nil
	}
	st, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, layout.NotFound("", "there is no file %s", quoted(name))
	}
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return []transcript{{name: name, size: st.Size()}}, nil
	}
	var out, agents []transcript
	err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() || !importer.All().IsTranscript(path) {
			return nil
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		t := transcript{path, fallbackName(name, path), st.Size()}
		if importer.All().IsSubagent(d.Name()) {
			agents = append(agents, t)
		} else {
			out = append(out, t)
		}
		return nil
	})
	// Subagents' own files come behind the sessions that tell where they belong.
	out = append(out, agents...)
	if err == nil && len(out) == 0 {
		err = layout.Invalid("", "%s has no .jsonl or .json files", quoted(name))
	}
	return out, err
}

// fallbackName tells files of one name in different folders of a folder apart.
func fallbackName(folder, file string) string {
	rel, err := filepath.Rel(folder, file)
	if err != nil || filepath.Dir(rel) == "." {
		return ""
	}
	return filepath.ToSlash(strings.TrimSuffix(rel, filepath.Ext(rel)))
}
