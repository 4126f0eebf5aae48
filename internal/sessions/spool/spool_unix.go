//go:build unix

package spool

import (
	"io/fs"
	"os"
	"syscall"
)

// private reports whether a folder belongs to this user, and nobody else may write to it.
func private(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Getuid() && st.Mode().Perm()&0o022 == 0
}
