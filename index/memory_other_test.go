//go:build !linux

package index

// memoryDir is known on Linux only.
func memoryDir() string { return "" }
