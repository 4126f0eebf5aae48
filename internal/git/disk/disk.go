// Package disk is the one place where the program changes files.
//
// Every write, fsync, rename, truncate and removal goes through an [FS], so that a test can make
// the N-th of them fail and check that nothing acknowledged is lost. Production code uses the
// zero FS (or nil), which calls the operating system.
//
// Nothing is durable by itself: the content of a file needs [File.Sync]; a new, renamed or
// removed name needs [FS.SyncDir] of its folder. [FS.Unsynced] leaves both to [FS.SyncTree].
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Op names an operation that changes the disk, for [FS.Fault].
type Op string

// The operations a fault can be injected into.
const (
	OpOpen     Op = "open"
	OpWrite    Op = "write"
	OpSync     Op = "sync"
	OpSyncDir  Op = "syncdir"
	OpTruncate Op = "truncate"
	OpRename   Op = "rename"
	OpRemove   Op = "remove"
	OpMkdir    Op = "mkdir"
)

// DirPerm and FilePerm are the modes of everything the program creates in a workspace. Only the
// owner has access: sessions hold what people and agents said.
const (
	DirPerm  fs.FileMode = 0o700
	FilePerm fs.FileMode = 0o600
)

// FS performs file operations. The zero value and nil use the operating system.
type FS struct {
	// Fault, if set, is called before each operation. If it returns an error, the operation fails
	// with it; an OpWrite first writes half of its bytes, as on a full disk.
	Fault func(op Op, path string) error

	// shared holds the permissions of group and others that new files and folders get too.
	shared fs.FileMode

	unsynced bool // see Unsynced
}

// WithPermissionsOf returns an FS whose new files and folders get the group and other permissions of an
// existing folder: in a repository that several people push to, all can use what one adds. If the
// folder cannot be read, it returns nil.
func WithPermissionsOf(dir string) *FS {
	st, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	return &FS{shared: st.Mode() & (0o077 | fs.ModeSetgid)}
}

// mode adds to the owner's permissions what group and others get.
func (d *FS) mode(perm fs.FileMode) fs.FileMode {
	if d == nil || d.shared.Perm() == 0 {
		return perm
	}
	extra := d.shared.Perm()
	if perm&0o200 == 0 {
		extra &^= 0o022
	}
	if perm&0o100 == 0 {
		extra &^= 0o011
	}
	return perm | extra
}

func (d *FS) fault(op Op, path string) error {
	if d == nil || d.Fault == nil {
		return nil
	}
	if err := d.Fault(op, path); err != nil {
		return &fs.PathError{Op: string(op), Path: path, Err: err}
	}
	return nil
}

// File is an open file whose writes go through the FS's Fault.
type File struct {
	*os.File
	fs *FS
}

// OpenFile opens a file as os.OpenFile does, but does not follow a link to write: somebody else's
// repository could have one that leads to a file of the user's.
func (d *FS) OpenFile(path string, flag int, perm fs.FileMode) (*File, error) {
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 {
		if err := d.fault(OpOpen, path); err != nil {
			return nil, err
		}
	}
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		flag |= noFollow
	}
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	out := &File{File: f, fs: d}
	if flag&os.O_CREATE != 0 && perm&0o200 != 0 && d.mode(perm) != perm {
		_ = out.Chmod(perm) // fails on an existing file of another user, which is right
	}
	return out, nil
}

// CreateTemp creates a file with a fresh name in dir, as os.CreateTemp does.
func (d *FS) CreateTemp(dir, pattern string) (*File, error) {
	if err := d.fault(OpOpen, filepath.Join(dir, pattern)); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return &File{File: f, fs: d}, nil
}

// Chmod sets the owner's permissions, with those of group and others that [WithPermissionsOf] adds.
func (f *File) Chmod(perm fs.FileMode) error { return f.File.Chmod(f.fs.mode(perm)) }

// Write writes p at the file's position.
func (f *File) Write(p []byte) (int, error) {
	if err := f.fs.fault(OpWrite, f.Name()); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

// WriteAt writes p at offset off.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.fault(OpWrite, f.Name()); err != nil {
		n, _ := f.File.WriteAt(p[:len(p)/2], off)
		return n, err
	}
	return f.File.WriteAt(p, off)
}

// Sync makes the file's content durable.
func (f *File) Sync() error {
	if f.fs != nil && f.fs.unsynced {
		return nil
	}
	if err := f.fs.fault(OpSync, f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

// Truncate cuts or extends the file to size bytes.
func (f *File) Truncate(size int64) error {
	if err := f.fs.fault(OpTruncate, f.Name()); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Rename moves a file to another name atomically, replacing what is there.
func (d *FS) Rename(from, to string) error {
	if err := d.fault(OpRename, to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// Link gives a file a second name. Fault sees it as a rename. Errors: fs.ErrExist if the name is
// taken.
func (d *FS) Link(from, to string) error {
	if err := d.fault(OpRename, to); err != nil {
		return err
	}
	return os.Link(from, to)
}

// Remove deletes a file or an empty folder. A missing one is not an error.
func (d *FS) Remove(path string) error {
	if err := d.fault(OpRemove, path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveAll deletes a tree. A missing one is not an error.
func (d *FS) RemoveAll(path string) error {
	if err := d.fault(OpRemove, path); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// Mkdir creates one folder.
func (d *FS) Mkdir(path string) error {
	if err := d.fault(OpMkdir, path); err != nil {
		return err
	}
	if err := os.Mkdir(path, DirPerm); err != nil || d.mode(DirPerm) == DirPerm {
		return err
	}
	return os.Chmod(path, d.mode(DirPerm)|d.shared&fs.ModeSetgid)
}

// MkdirAll creates a folder and its parents, and makes each new name durable.
func (d *FS) MkdirAll(path string) error {
	if st, err := os.Stat(path); err == nil {
		if !st.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: path, Err: errors.New("a file is in the way")}
		}
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := d.MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := d.Mkdir(path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	if err := d.SyncDir(parent); err != nil {
		_ = d.Remove(path) // others assume that the name of an existing folder is durable
		return err
	}
	return nil
}

// SyncDir makes the names in a folder durable. On Windows it does nothing: the system does that
// by itself.
func (d *FS) SyncDir(path string) error {
	if d != nil && d.unsynced {
		return nil
	}
	if err := d.fault(OpSyncDir, path); err != nil {
		return err
	}
	return syncDir(path)
}

// Truncate cuts a file back to size bytes, durably. A file that is not longer, or missing, is left alone.
func (d *FS) Truncate(path string, size int64) error {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && st.Size() <= size {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := d.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return err
	}
	return f.Sync()
}

// TempPrefix begins the names of the temporary files that WriteFile has not renamed yet.
const TempPrefix = ".tmp-"

// WriteFile replaces path with data, durably: after a crash the file holds either
// what it held before or all of data.
func (d *FS) WriteFile(path string, data []byte) error { return d.WriteFileMode(path, data, FilePerm) }

// WriteFileMode is like [FS.WriteFile], with other permissions.
func (d *FS) WriteFileMode(path string, data []byte, perm fs.FileMode) (err error) {
	tmp, err := d.CreateTemp(filepath.Dir(path), TempPrefix+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(data)
	if err == nil && d.mode(perm) != FilePerm {
		err = tmp.Chmod(perm)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err == nil {
		err = tmp.Close()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := d.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return d.SyncDir(filepath.Dir(path))
}
