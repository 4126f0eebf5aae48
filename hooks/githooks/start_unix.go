//go:build unix

package githooks

import "syscall"

// apart gives a process its own session, so that it outlives git and its terminal.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
