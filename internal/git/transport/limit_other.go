//go:build !linux

package transport

// limitMemory does nothing: the system cannot limit another process.
func limitMemory(int) {}
