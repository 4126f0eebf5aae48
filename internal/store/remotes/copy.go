package remotes

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Copy clones the first remote that can be cloned, for a repair that looks for lost objects there. It returns the copy's git
// folder, "" if the workspace has no remote, and a function that removes the copy.
func Copy(ctx context.Context, s *workspace.Store) (gitDir string, done func(), err error) {
	all, err := Remotes(ctx, s)
	if err != nil || len(all) == 0 {
		return "", func() {}, err
	}
	dir, err := s.ScratchDir()
	if err == nil {
		dir, err = os.MkdirTemp(dir, "copy-*")
	}
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(dir) } // otherwise tape gc removes it
	for _, r := range all {
		_, _, cloneErr := Clone(ctx, r.URL, filepath.Join(dir, r.Name), nil)
		if cloneErr == nil {
			return filepath.Join(dir, r.Name, layout.GitDirName), done, nil
		}
		err = errors.Join(err, cloneErr)
	}
	done()
	return "", nil, err
}
