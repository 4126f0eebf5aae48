package storetest

import (
	"os"
	"syscall"
)

// inode returns the number that identifies a file under all its names.
func inode(st os.FileInfo) uint64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return sys.Ino
	}
	return 0
}

// HasLossyDisk reports whether a LossyDisk works on this system: it needs the numbers of inodes.
const HasLossyDisk = true
