//go:build !amd64 && extra

package power

// olderCalls are system calls that newer processor architectures do not have.
func olderCalls() map[uint32]call { return nil }
