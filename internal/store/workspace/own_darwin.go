package workspace

import (
	"os"
	"syscall"
)

// identity is the number of a folder, and when it was made; 0 where that is not kept.
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
