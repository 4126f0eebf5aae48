//go:build unix

package acp

import (
	"os"
	"syscall"
)

const terminate = syscall.SIGTERM

func exitStatus(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}
