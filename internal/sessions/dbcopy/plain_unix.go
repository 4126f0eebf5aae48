//go:build unix

package dbcopy

import (
	"io/fs"
	"syscall"
)

// linked reports whether a file has several names.
func linked(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && sys.Nlink > 1
}
