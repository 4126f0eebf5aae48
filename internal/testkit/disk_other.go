//go:build !linux

package testkit

import "testing"

// memoryDir returns "": such a folder is known only on Linux.
func memoryDir() string { return "" }

// SmallDisk skips the test: a small disk can be mounted only on Linux.
func SmallDisk(t *testing.T, _ int) string {
	t.Skip("a small file system is mounted on Linux only")
	return ""
}
