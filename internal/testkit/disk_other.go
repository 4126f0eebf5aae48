//go:build !linux

package testkit

import "testing"

// memoryDir is known on Linux only.
func memoryDir() string { return "" }

// SmallDisk can be had on Linux only.
func SmallDisk(t *testing.T, _ int) string {
	t.Skip("a small file system is mounted on Linux only")
	return ""
}
