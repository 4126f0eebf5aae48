//go:build unix

package workspace

import (
	"os"
	"syscall"
)

// plainIdentity is identity without the creation time.
func plainIdentity(dir string) (number uint64, born int64, err error) {
	st, err := os.Lstat(dir)
	if err != nil {
		return 0, 0, err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		number = uint64(sys.Ino) //nolint:unconvert // its width depends on the system
	}
	return number, 0, nil
}
