package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/store/layout"
)

// IndexFile is where the derived index of the workspace is.
func (s *Store) IndexFile() string { return filepath.Join(s.dir, indexFile) }

// excluded are the patterns of what lies beside the tapes' files and belongs in no commit.
func excluded() []string {
	return []string{"/" + indexFile + "*", "/" + layout.TapesDir + "/", "/" + layout.ForksDir + "/", disk.TempPrefix + "*"}
}

// Exclude makes git leave out what lies beside the tapes' files, before the first of it is made: in
// a workspace that git alone has cloned, it would be committed by git add -A.
func (s *Store) Exclude() error {
	path := filepath.Join(s.git.GitDir(), "info", "exclude")
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return layout.Classify(err)
	}
	has, text := strings.Split(string(raw), "\n"), string(raw)
	for _, pattern := range excluded() {
		if !slices.Contains(has, pattern) {
			if text != "" && !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			text += pattern + "\n"
		}
	}
	if text == string(raw) {
		return nil
	}
	err = s.fs.MkdirAll(filepath.Dir(path))
	if err == nil {
		err = s.fs.WriteFile(path, []byte(text))
	}
	return layout.Classify(err)
}

// ScratchDir is the folder, on the same disk, for files that are not yet what they are
// to be. It is made if need be.
func (s *Store) ScratchDir() (string, error) {
	dir := s.PrivatePath("tmp")
	return dir, layout.Classify(s.fs.MkdirAll(dir))
}

// LockIndex takes the lock of those who write the index, and waits for it as for any
// other lock. ErrBusy when somebody kept it for too long.
func (s *Store) LockIndex(ctx context.Context) (unlock func() error, err error) {
	return s.LockPrivate(ctx, "index.lock")
}

// LockPrivate takes a lock of the whole workspace.
func (s *Store) LockPrivate(ctx context.Context, name string) (unlock func() error, err error) {
	if err := s.fs.MkdirAll(s.PrivatePath()); err != nil {
		return nil, layout.Classify(err)
	}
	l, err := s.fs.Lock(ctx, s.PrivatePath(name), s.wait)
	if err != nil {
		return nil, layout.Classify(err)
	}
	return l.Unlock, nil
}

// Warn tells the workspace's user something, as Options.Warn says.
func (s *Store) Warn(message string) { s.warn(message) }

// NewLock is held while something is stored of a tape or fork that has no branch yet. A purge
// takes it, as it takes the locks of those that have one, before it drops what has no name.
const NewLock = "new.lock"

// FetchLock is that of a fetch.
const FetchLock = "fetch.lock"

// DirNames lists the names in a folder.
func DirNames(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}
