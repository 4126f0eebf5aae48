//go:build !linux

package testkit

import (
	"os"
	"testing"
)

// memoryDir returns "": such a folder is known only on Linux.
func memoryDir() string { return "" }

// SmallDisk skips the test: a small disk can be mounted only on Linux.
func SmallDisk(t *testing.T, _ int) string {
	t.Skip("a small file system is mounted on Linux only")
	return ""
}

// HasLossyDisk reports whether a LossyDisk works on this system: it needs the numbers of inodes.
const HasLossyDisk = false

func inode(os.FileInfo) uint64 { return 0 }
