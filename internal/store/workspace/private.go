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

// IndexFile is the path of the workspace's derived index.
func (s *Store) IndexFile() string { return filepath.Join(s.dir, indexFile) }

// excluded returns the patterns of files in the working tree that git must not commit.
func excluded() []string {
	return []string{"/" + indexFile + "*", "/" + layout.TapesDir + "/", "/" + layout.ForksDir + "/", disk.TempPrefix + "*"}
}

// Exclude adds the patterns of excluded to git's exclude file. It must be called before the first such file is
// created: in a workspace cloned by git alone, git add -A would otherwise commit the file.
func (s *Store) Exclude() error {
	path := filepath.Join(s.git.GitDir(), "info", "exclude")
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return layout.Classify(err)
	}
	lines, text := strings.Split(string(raw), "\n"), string(raw)
	for _, pattern := range excluded() {
		if !slices.Contains(lines, pattern) {
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

// ScratchDir returns a folder for temporary files on the workspace's disk, and creates it if missing.
func (s *Store) ScratchDir() (string, error) {
	dir := s.PrivatePath("tmp")
	return dir, layout.Classify(s.fs.MkdirAll(dir))
}

// LockIndex takes the lock for writing the index. Errors: ErrBusy.
func (s *Store) LockIndex(ctx context.Context) (unlock func() error, err error) {
	return s.LockPrivate(ctx, "index.lock")
}

// LockPrivate takes a lock of the whole workspace. Errors: ErrBusy.
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

// Warn passes a message to Options.Warn.
func (s *Store) Warn(message string) { s.warn(message) }

// NewLock is held while something is stored for a tape or fork that has no branch yet. A purge takes it, and
// the locks of all tapes and forks that have a branch, before it deletes unreachable objects.
const NewLock = "new.lock"

// FetchLock is held during a fetch, and during a purge, which drops objects that no ref leads to yet.
const FetchLock = "fetch.lock"

// DirNames lists the names in a folder, in any order.
func DirNames(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// CheckNoLink refuses a folder in a working tree that is a link: whoever made the repository may have put it
// there, and files written into it would go elsewhere. A missing folder is not a link.
func CheckNoLink(dir string) error {
	if st, err := os.Lstat(dir); err == nil && st.Mode()&os.ModeSymlink != 0 {
		return &layout.CorruptError{File: dir, Msg: "this is a link to elsewhere", Fix: "put the folder itself there, or remove the link, and try again"}
	}
	return nil
}

// PrivatePath returns a path in tape's own folder inside .git.
func (s *Store) PrivatePath(elem ...string) string {
	return filepath.Join(append([]string{s.git.GitDir(), layout.PrivateDir}, elem...)...)
}
