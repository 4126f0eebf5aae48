package workspace

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tape/internal/git/disk"
	"tape/internal/store/layout"
)

// A project's workspace is found by the project's path, and by git for its worktrees. Other directories belong to it only
// if the user said so, because anybody can make a folder with the same remote or the same name. Home has a note about each
// such directory, in a file that is named after its path: clones, and places where a project was before.

// linkedDir is the folder of the notes, below Home.
const linkedDir = "linked"

// link is the note about a directory.
type link struct {
	Dir       string `json:"dir"`
	Workspace string `json:"workspace"`        // its folder; "": the user was asked, and said no
	Folder    string `json:"folder,omitempty"` // folderIdentity of Dir: another folder there may be from anybody
}

func linkPath(dir string) (string, error) {
	home, err := Home()
	return filepath.Join(home, linkedDir, pathName(dir, ".json")), err
}

// readLink returns the note about a directory, whose path is resolved. ok is false if there is none, or if it is about
// another folder that was there before. A directory that is gone is still the one of the note.
func readLink(dir string) (l link, ok bool) {
	path, err := linkPath(dir)
	if err != nil {
		return l, false
	}
	raw, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(raw, &l) != nil || l.Dir != dir {
		return l, false // usually there is none
	}
	return l, IsGone(dir) || l.Folder != "" && l.Folder == identityOf(dir)
}

// identityOf returns folderIdentity, "" if it is unknown.
func identityOf(dir string) string {
	id, err := folderIdentity(dir)
	if err != nil {
		return ""
	}
	return id
}

func writeLink(l link) error {
	path, err := linkPath(l.Dir)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(l)
	if err != nil {
		return err
	}
	d := (*disk.FS)(nil)
	if err := d.MkdirAll(filepath.Dir(path)); err != nil {
		return layout.Classify(err)
	}
	return layout.Classify(d.WriteFile(path, append(raw, '\n')))
}

// linkedTo returns the workspace that the user linked a directory to, whose path is resolved; "" if there is none.
func linkedTo(dir string) string {
	if l, ok := readLink(dir); ok && l.Workspace != "" && IsWorkspace(l.Workspace) && IsOwn(l.Workspace) {
		return l.Workspace
	}
	return ""
}

// LinkClone notes that a directory belongs to a workspace whose project is elsewhere. With "", the user does not want
// it to belong to another project's workspace. Errors: ErrNotFound if there is no such directory.
func LinkClone(workspace, dir string) error {
	dir = ResolvePath(dir)
	id, err := folderIdentity(dir)
	if err != nil {
		return layout.NotFound("", "there is no directory %s", dir)
	}
	return layout.Wrap(writeLink(link{Dir: dir, Workspace: workspace, Folder: id}), "link %s", dir)
}

// Declined reports whether the user said that a directory does not belong to another project's workspace.
func Declined(dir string) bool {
	l, ok := readLink(ResolvePath(dir))
	return ok && l.Workspace == ""
}

// Unlink removes what LinkClone noted. found is false if there was nothing.
func Unlink(dir string) (found bool, err error) {
	path, err := linkPath(ResolvePath(dir))
	if err != nil {
		return false, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return true, layout.Classify((*disk.FS)(nil).Remove(path))
}

// Linked returns the directories that were linked to a workspace.
func Linked(workspace string) (dirs []string) {
	for _, l := range links() {
		if l.Workspace == workspace {
			dirs = append(dirs, l.Dir)
		}
	}
	return dirs
}

func links() (out []link) {
	home, err := Home()
	if err != nil {
		return nil
	}
	names, _ := DirNames(filepath.Join(home, linkedDir)) // usually there is none
	for _, name := range names {
		var l link
		if raw, err := os.ReadFile(filepath.Join(home, linkedDir, name)); err == nil && json.Unmarshal(raw, &l) == nil && l.Dir != "" {
			out = append(out, l)
		}
	}
	return out
}

// moveLinks makes the directories of a workspace that has moved belong to its new folder, and adds the directory in
// which its project was before.
func moveLinks(from, to string, was Project) error {
	for _, l := range links() {
		if l.Workspace == from {
			l.Workspace = to
			if err := writeLink(l); err != nil {
				return err
			}
		}
	}
	if was.Dir == "" {
		return nil
	}
	return writeLink(link{Dir: was.Dir, Workspace: to, Folder: was.Folder})
}

// SetAside moves the workspace of a directory to another path, which must not exist. With "" it does nothing.
func SetAside(dir, aside string) error {
	own, err := WorkspaceFor(dir)
	if err != nil || aside == "" {
		return err
	}
	d := (*disk.FS)(nil)
	if err := d.MkdirAll(filepath.Dir(aside)); err != nil {
		return layout.Classify(err)
	}
	return layout.Wrap(d.Rename(own, aside), "move workspace %s", own)
}

// HasSettings reports whether a workspace has settings of its own that run or send something.
func HasSettings(workspace string) bool {
	path, err := settingsFile(workspace)
	if err != nil {
		return true
	}
	_, err = os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
