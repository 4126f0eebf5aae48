package transport

import "golang.org/x/sys/unix"

// limitMemory bounds the memory of a process, and of each that it starts: a remote that
// tells of refs without end must not take all that the machine has.
func limitMemory(pid int) {
	limit := &unix.Rlimit{Cur: gitMemory, Max: gitMemory}
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, limit, nil) // where it may not have that much, it has less
}
