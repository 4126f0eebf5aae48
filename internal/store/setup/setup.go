// Package setup creates workspaces.
package setup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// InitOptions say how a workspace is created. Nil means the defaults.
type InitOptions struct {
	workspace.Options
	Tape string // the name of the first tape; "" means main
}

// Init creates the workspace in dir with its first tape, or opens an existing one, and reports whether it created
// it. It completes an interrupted Init.
func Init(ctx context.Context, dir string, o *InitOptions) (*workspace.Store, bool, error) {
	var opts InitOptions
	if o != nil {
		opts = *o
	}
	name := opts.Tape
	if name == "" {
		name = workspace.DefaultTape
	}
	if err := layout.CheckNewName("a tape", name); err != nil {
		return nil, false, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, false, err
	}
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return nil, false, layout.Invalid("name a folder", "%s is a file, not a workspace folder", dir)
	}
	gitDir := filepath.Join(dir, layout.GitDirName)
	if !workspace.IsWorkspace(dir) {
		// An Init that was cut off at its first step leaves an empty folder.
		names, err := workspace.DirNames(gitDir)
		if !errors.Is(err, fs.ErrNotExist) && (err != nil || len(names) > 0) {
			return nil, false, layout.Invalid("choose another folder: a workspace is a repository of its own",
				"%s is a git repository that holds something else", dir)
		}
	}
	s, err := workspace.Create(dir, name, &opts.Options)
	if err != nil {
		return nil, false, err
	}
	s.FirstGitSetup(ctx)
	created, err := FirstTape(ctx, s, name)
	return s, created, err
}

// FirstTape creates the first tape, unless there is a tape, and sets the current tape, unless it is set. It
// reports whether it created the tape.
func FirstTape(ctx context.Context, s *workspace.Store, name string) (bool, error) {
	branches, err := s.Git().Refs(layout.BranchPrefix)
	if err != nil {
		return false, layout.Classify(err)
	}
	if len(branches) > 0 {
		return false, s.ChooseTape("")
	}
	if _, err := writer.CreateTape(ctx, s, name); err != nil {
		return false, err
	}
	return true, s.ChooseTape(name)
}
