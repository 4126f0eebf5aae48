package writer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
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
	if st, err := os.Stat(filepath.Dir(dir)); err == nil && !st.IsDir() {
		return nil, false, layout.Invalid("name a folder, for example by TAPE_HOME", "%s is a file, so there can be no workspace in it", filepath.Dir(dir))
	}
	if err := workspace.CheckSeparated(dir); err != nil {
		return nil, false, err
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
	name, former, err := found(dir, name, opts.Tape != "")
	if err != nil {
		return nil, false, err
	}
	s, err := workspace.Create(dir, name, &opts.Options)
	if err != nil {
		return nil, false, err
	}
	s.FirstGitSetup(ctx)
	created, err := FirstTape(ctx, s, name)
	if created && err == nil && len(disk.Glob(dir, layout.ForksDir+"/*/*/"+layout.AnchorsDir)) > 0 {
		s.Warn(filepath.Join(dir, layout.ForksDir) + " has files of forks that git does not know; they stay there, in case you need them")
	}
	for _, other := range former {
		if err == nil {
			err = TakeOver(ctx, s, other)
		}
	}
	return s, created, err
}

// found looks for the files of a workspace whose repository is gone, such as a backup without .git. It returns the name
// of the tape in the folder itself, otherwise name, and those of the tapes below. If there is something else where a
// tape would write, it refuses. Errors: ErrConflict.
func found(dir, name string, wanted bool) (first string, others []string, err error) {
	if branches := gitstore.HasRefs(filepath.Join(dir, layout.GitDirName), layout.BranchPrefix); branches {
		return name, nil, nil
	}
	_, statErr := os.Lstat(filepath.Join(dir, layout.TapeFile))
	if statErr == nil || HasEntries(dir) {
		f, err := ReadFirst(dir)
		if err != nil {
			return "", nil, err
		}
		if wanted && f.Name() != name {
			return "", nil, layout.Conflict("leave out the name, or move them away", "%s has the files of the tape %q", dir, f.Name())
		}
		name = f.Name()
	}
	folders, _ := workspace.DirNames(filepath.Join(dir, layout.TapesDir))
	for _, slug := range folders {
		below := filepath.Join(dir, layout.TapesDir, slug)
		if f, err := ReadFirst(below); err == nil && layout.TapeSlug(f.Name()) == slug {
			others = append(others, f.Name())
		}
	}
	return name, others, nil
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
	if _, err := CreateTape(ctx, s, name); err != nil {
		return false, err
	}
	return true, s.ChooseTape(name)
}
