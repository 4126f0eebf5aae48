//go:build !linux

package repo

// memoryDir is known on Linux only.
func memoryDir() string { return "" }
