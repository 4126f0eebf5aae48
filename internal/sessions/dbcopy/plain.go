package dbcopy

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"tape/internal/store/layout"
)

// maxSize is the greatest size of a database together with its log, in bytes.
const maxSize = 4 << 30

// checkSize refuses a database that is too large to be copied. Nothing is read.
func checkSize(path string) error {
	var size int64
	for _, name := range []string{path, path + wal} {
		st, err := plain(name)
		switch {
		case err != nil:
			return err
		case st != nil:
			size += st.Size()
		case name == path:
			return layout.NotFound("", "there is no file %s", path)
		}
	}
	if size > maxSize {
		return layout.Invalid("", "%s is too large: a database may have %d GiB, with its log", path, maxSize>>30)
	}
	return nil
}

// plain returns what is at a path; nil if there is nothing. It refuses everything but a file that has only this name.
func plain(path string) (fs.FileInfo, error) {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case st.Mode()&fs.ModeSymlink != 0:
		return nil, layout.Invalid("name the file that the link leads to", "%s is a link, and a database is read only in its own place", path)
	case !st.Mode().IsRegular():
		return nil, layout.Invalid("", "%s is not a file", path)
	case linked(st):
		return nil, layout.Invalid("copy the file, and name the copy", "%s has another name elsewhere (a hard link), and a database is read only in its own place", path)
	}
	return st, nil
}

// open opens a file as plain does; nil if there is none. It does not wait if a pipe takes the file's place meanwhile.
func open(path string) (*os.File, error) {
	before, err := plain(path)
	if before == nil || err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !os.SameFile(before, st) {
		return nil, errors.Join(err, f.Close(), &layout.Error{Class: layout.ErrBusy, Msg: path + " is being replaced; try again later"})
	}
	return f, nil
}
