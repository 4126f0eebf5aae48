//go:build !linux

package gitstore

// limitMemory does nothing where the system has no way to bound another process.
func limitMemory(int) {}
