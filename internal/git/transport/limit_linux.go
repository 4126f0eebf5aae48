package transport

import "golang.org/x/sys/unix"

// limitMemory limits the memory of a process, and of each that it starts: a remote with an endless
// list of refs must not take all that the machine has.
func limitMemory(pid int) {
	limit := &unix.Rlimit{Cur: gitMemory, Max: gitMemory}
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, limit, nil) // fails only if a lower limit is set already
}
