//go:build !linux

package testkit

import (
	"os"
	"testing"
)

// memoryDir is known on Linux only.
func memoryDir() string { return "" }

// SmallDisk can be had on Linux only.
func SmallDisk(t *testing.T, _ int) string {
	t.Skip("a small file system is mounted on Linux only")
	return ""
}

// Forgets reports whether a LossyDisk can be told what a file is.
const Forgets = false

func inode(os.FileInfo) uint64 { return 0 }
