package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// Home has a note about each known workspace, in a file of its own. The note says whether the workspace is
// the user's own; only then do the settings and hooks of its repository count. The file is named after the
// .git folder's inode number and creation time: an archive contains neither, and both stay when a workspace
// is moved or renamed.

// ownDir is the folder of the notes, below Home.
const ownDir = "own"

// note is the content of the file for a .git folder.
type note struct {
	Dir          string   `json:"dir"`              // path of the workspace
	Own          bool     `json:"own"`              // the user's own
	Hidden       bool     `json:"hidden,omitempty"` // a copy that a program keeps: in no list
	GoneReported bool     `json:"gone,omitempty"`   // the user was told that the workspace is no longer in Dir
	Reported     []string `json:"told,omitempty"`   // ignored settings that the user was warned of
}

// notePath returns the path of the note about a .git folder.
func notePath(gitDir string) (string, error) {
	home, err := Home()
	if err != nil {
		return "", err
	}
	name, err := folderIdentity(gitDir)
	return filepath.Join(home, ownDir, name), err
}

// folderIdentity returns a folder's inode number and creation time. Numbers are reused, so where the file
// system keeps no creation time, the path takes its place. If dir is a link, it is not followed: a stranger's
// folder may have a link to a workspace of the user.
func folderIdentity(dir string) (string, error) {
	above, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return "", err
	}
	real := filepath.Join(above, filepath.Base(dir))
	number, born, err := identity(real)
	if err != nil {
		return "", err
	}
	if born == 0 {
		sum := sha256.Sum256([]byte(real))
		return fmt.Sprintf("%d-%s", number, hex.EncodeToString(sum[:8])), nil
	}
	return fmt.Sprintf("%d-%d", number, born), nil
}

func readNote(gitDir string) (n note) {
	noteOldWorkspaces()
	if path, err := notePath(gitDir); err == nil {
		n = noteIn(path)
	}
	return n
}

// noteIn reads the note in a file; if the file cannot be read, the note is empty.
func noteIn(path string) (n note) {
	if raw, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(raw, &n)
	}
	return n
}

func writeNote(gitDir string, n note) error {
	noteOldWorkspaces()
	path, err := notePath(gitDir)
	if err != nil {
		return err
	}
	n.Dir = folderAround(gitDir)
	return keepNote(path, n)
}

func keepNote(path string, n note) error {
	d := (*disk.FS)(nil).Unsynced() // not synced: what a crash loses can be noted again
	if err := d.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return d.WriteFile(path, append(raw, '\n'))
}

// folderAround returns the workspace's folder for a .git folder; for a bare repository, the repository.
func folderAround(gitDir string) string {
	if filepath.Base(gitDir) == layout.GitDirName {
		return filepath.Dir(gitDir)
	}
	return gitDir
}

// noteOldWorkspaces makes notes, once, for workspaces of versions that had no notes: those below Home are the
// user's own.
func noteOldWorkspaces() {
	home, err := Home()
	if err != nil {
		return
	}
	dir := filepath.Join(home, ownDir)
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if _, err := os.Lstat(home); err != nil {
		return
	}
	all, err := Workspaces()
	if err != nil {
		return
	}
	// The folder appears with all notes at once: from then on, a workspace without a note is not the user's
	// own.
	tmp, err := os.MkdirTemp(home, disk.TempPrefix+"own-*")
	if err != nil {
		return // Home is read-only
	}
	defer os.RemoveAll(tmp)
	for _, ws := range all {
		name, err := folderIdentity(filepath.Join(ws, layout.GitDirName))
		if err != nil {
			continue
		}
		raw, err := json.Marshal(note{Dir: ws, Own: true})
		if err == nil {
			err = os.WriteFile(filepath.Join(tmp, name), append(raw, '\n'), disk.FilePerm)
		}
		if err != nil {
			return
		}
	}
	_ = os.Rename(tmp, dir) // fails if another process was first
}

// LeftOut is a workspace that OwnWorkspaces leaves out: it is somebody else's, or gone.
type LeftOut struct {
	Dir  string
	Gone bool   // the user's own, but no longer in Dir
	note string // if gone: the path of the note about it
}

// Told notes that the user was told of a workspace that is gone; OwnWorkspaces does not return it again.
func (w LeftOut) Told() {
	if n := noteIn(w.note); w.Gone && n.Own {
		n.GoneReported = true
		_ = keepNote(w.note, n) // if that fails, the user is told again
	}
}

// Hide keeps the workspace, which is not below Home, out of OwnWorkspaces: it is a copy that a program keeps for itself.
func (s *Store) Hide() error {
	n := readNote(s.git.GitDir())
	if n.Hidden {
		return nil
	}
	n.Hidden = true
	return writeNote(s.git.GitDir(), n)
}

// OwnWorkspaces returns the folders of the user's own workspaces, below Home and elsewhere. others are the
// workspaces below Home that are somebody else's, and the user's own that are gone, unless the user was told
// so.
func OwnWorkspaces() (dirs []string, others []LeftOut, err error) {
	below, err := Workspaces()
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for _, dir := range below {
		gitDir := filepath.Join(dir, layout.GitDirName)
		if isOwn(gitDir) {
			dirs = append(dirs, dir)
		} else {
			others = append(others, LeftOut{Dir: dir})
		}
		if name, err := folderIdentity(gitDir); err == nil {
			seen[name] = true
		}
	}
	home, err := Home()
	if err != nil {
		return nil, nil, err
	}
	names, err := DirNames(filepath.Join(home, ownDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, layout.Wrap(err, "list your workspaces")
	}
	for _, name := range names {
		path := filepath.Join(home, ownDir, name)
		n := noteIn(path)
		if seen[name] || !n.Own || n.Hidden {
			continue
		}
		id, err := folderIdentity(filepath.Join(n.Dir, layout.GitDirName))
		there := err == nil && id == name
		switch {
		case there:
			dirs = append(dirs, n.Dir)
		case !n.GoneReported:
			others = append(others, LeftOut{Dir: n.Dir, Gone: true, note: path})
		}
		if n.GoneReported && there { // the workspace is back
			n.GoneReported = false
			_ = keepNote(path, n)
		}
	}
	slices.Sort(dirs)
	return dirs, others, nil
}

// IsOwn reports whether a workspace is the user's own: created by the user's tape, or trusted.
func IsOwn(dir string) bool { return isOwn(filepath.Join(dir, layout.GitDirName)) }

func isOwn(gitDir string) bool { return readNote(gitDir).Own }

// UsersPath is PrivatePath for files that are acted on when they are read: messages that wait for an
// answer, grants of a server. If the workspace is not the user's own, somebody else may have put them
// there; then the path is below Home, derived from the workspace's path.
func (s *Store) UsersPath(elem ...string) string {
	if isOwn(s.git.GitDir()) {
		return s.PrivatePath(elem...)
	}
	home, err := Home()
	if err != nil {
		home = os.DevNull // writes will fail
	}
	return filepath.Join(append([]string{home, "private", pathName(ResolvePath(s.dir), "")}, elem...)...)
}

// Trust notes whether a workspace is the user's own. Errors: ErrNotFound if dir has no .git folder.
func Trust(dir string, own bool) error {
	gitDir := filepath.Join(dir, layout.GitDirName)
	if st, err := os.Stat(gitDir); err != nil || !st.IsDir() {
		return layout.NotFound("", "%s is not a workspace", dir)
	}
	return layout.Wrap(writeNote(gitDir, note{Own: own}), "note whether the workspace %s is yours", dir)
}

// makeOwn creates the .git folder of a workspace if it is missing, and notes that the workspace is the user's
// own. It does not note that for an existing folder, which may be from anybody.
func (s *Store) makeOwn() error {
	gitDir := filepath.Join(s.dir, layout.GitDirName)
	if _, err := os.Lstat(gitDir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.fs.MkdirAll(gitDir); err != nil {
		return err
	}
	if err := writeNote(gitDir, note{Own: true}); err != nil {
		s.warn("it cannot be noted that the workspace is yours: " + err.Error())
	}
	return nil
}

func (s *Store) gitOptions() *gitstore.Options {
	o := options(s.warn)
	o.FS, o.LockWait = s.fs, min(s.wait, defaultLockWait)
	return o
}

// OpenGit opens the repository of a .git folder with the options of a workspace.
func OpenGit(gitDir string) (*gitstore.Repo, error) {
	return gitstore.Open(gitDir, options(func(string) {}))
}

func options(warn func(string)) *gitstore.Options {
	return &gitstore.Options{Own: isOwn, OnWait: warn, OnIgnored: func(gitDir string, names []string) {
		n := readNote(gitDir)
		// Which settings are ignored depends on the command; each is reported once.
		all := slices.Concat(n.Reported, names)
		slices.Sort(all)
		if all = slices.Compact(all); len(all) == len(n.Reported) {
			return
		}
		n.Reported = all
		slices.Sort(names)
		names = slices.Compact(names)
		_ = writeNote(gitDir, n) // if that fails, they are reported again
		warn(fmt.Sprintf("the repository in %s did not come from your own tape, so its own git settings do not count: %s; if it is yours: %s",
			folderAround(gitDir), strings.Join(names, ", "), gitstore.TrustCommand(gitDir)))
	}}
}
