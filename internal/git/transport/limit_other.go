//go:build !linux

package transport

// limitMemory does nothing where the system has no way to bound another process.
func limitMemory(int) {}
