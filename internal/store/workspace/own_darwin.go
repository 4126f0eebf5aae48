package workspace

import (
	"os"
	"syscall"
)

// identity returns a folder's inode number, and its creation time in nanoseconds, which is 0 if the file
// system does not keep it.
func identity(dir string) (number uint64, born int64, err error) {
	st, err := os.Lstat(dir)
	if err != nil {
		return 0, 0, err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return sys.Ino, sys.Birthtimespec.Nano(), nil
	}
	return plainIdentity(dir)
}
