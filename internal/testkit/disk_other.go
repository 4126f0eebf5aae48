//go:build !linux

package testkit

import (
	"os"
	"testing"
)

// memoryDir returns "": only on Linux is such a folder known.
func memoryDir() string { return "" }

// SmallDisk skips the test: only on Linux can a small disk be mounted.
func SmallDisk(t *testing.T, _ int) string {
	t.Skip("a small file system is mounted on Linux only")
	return ""
}

// HasLossyDisk reports whether a LossyDisk works on this system: it needs the numbers of inodes.
const HasLossyDisk = false

func inode(os.FileInfo) uint64 { return 0 }
