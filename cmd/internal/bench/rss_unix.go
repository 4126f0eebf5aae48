//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

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
