package stdio

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tape/internal/git/disk"
)

// ReplaceFile replaces a file atomically and durably: it writes and syncs a file beside it,
// renames that, and syncs the folder. If name is a link, the link's target is replaced. If it is a
// pipe or a device, write writes to it.
func ReplaceFile(d *disk.FS, name string, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	st, statErr := os.Stat(name)
	if statErr == nil && !st.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		return errors.Join(buffered(f, write), f.Close())
	}
	dir := filepath.Dir(name)
	f, err := d.CreateTemp(dir, "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Remove(f.Name()))
		}
	}()
	err = buffered(f, write)
	if err == nil && statErr == nil {
		err = f.Chmod(st.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := d.Rename(f.Name(), name); err != nil {
		return err
	}
	return d.SyncDir(dir)
}

func buffered(f io.Writer, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 64<<10)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}
