//go:build !linux

package testkit

// memoryDir is known on Linux only.
func memoryDir() string { return "" }
