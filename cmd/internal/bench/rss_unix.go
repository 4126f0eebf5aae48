//go:build unix

package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
)

// shrink gives memory back. A new process is charged with what its parent had resident
// when it was forked, on Linux even with the most it ever had, unless that is reset.
func shrink() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// maxRSS is the largest memory that a finished process had, in bytes.
func maxRSS(st *os.ProcessState) int64 {
	usage, ok := st.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return usage.Maxrss
	}
	return usage.Maxrss * 1024
}
