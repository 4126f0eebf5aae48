//go:build !amd64

package power

// olderCalls are those that newer kinds of machines do not have.
func olderCalls() map[uint32]call { return nil }
