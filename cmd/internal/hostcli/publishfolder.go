package hostcli

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"tape/internal/git/disk"
	"tape/internal/store/layout"
)

// publishFolder is a folder on disk. A file is written beside its place and renamed, so that a full disk or an interruption
// leaves the old one or the new one. Files are for a web server, so others may read them.
type publishFolder struct {
	path string
	root *os.Root        // no name leads out of the folder, not even through a link
	made map[string]bool // folders that exist
	dirs map[string]bool // folders to sync
}

func openDir(name string) (*publishFolder, error) {
	if err := os.MkdirAll(name, 0o755); err != nil { //nolint:gosec // for a web server
		return nil, layout.Classify(err)
	}
	root, err := os.OpenRoot(name)
	return &publishFolder{path: name, root: root, made: map[string]bool{}, dirs: map[string]bool{}}, err
}

func (d *publishFolder) close() { _ = d.root.Close() }

func (d *publishFolder) Read(name string) ([]byte, error) {
	return d.root.ReadFile(filepath.FromSlash(name))
}

func (d *publishFolder) Size(name string) (int64, error) {
	st, err := d.root.Stat(filepath.FromSlash(name))
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (d *publishFolder) Write(name string, data []byte) error {
	in := path.Dir(name)
	if !d.made[in] {
		if err := d.root.MkdirAll(filepath.FromSlash(in), 0o755); err != nil {
			return layout.Classify(err)
		}
		d.made[in] = true
	}
	d.dirs[in] = true
	temp := filepath.FromSlash(path.Join(in, ".new-"+path.Base(name)))
	err := d.root.WriteFile(temp, data, 0o644)
	if err == nil {
		err = d.root.Rename(temp, filepath.FromSlash(name))
	}
	if err != nil {
		_ = d.root.Remove(temp)
	}
	return layout.Classify(err)
}

func (d *publishFolder) Remove(name string) error {
	err := d.root.Remove(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if in := path.Dir(name); err == nil && in != "." {
		_ = d.root.Remove(filepath.FromSlash(in)) // if nothing else is in it
	}
	return err
}

// Sync syncs the folders. Files are not synced one by one: the list has their sizes, so that a file that a power
// cut has emptied is written again.
func (d *publishFolder) Sync() error {
	var fsys *disk.FS
	for in := range d.dirs {
		if err := fsys.SyncDir(filepath.Join(d.path, filepath.FromSlash(in))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return layout.Classify(err)
		}
	}
	clear(d.dirs)
	return nil
}
