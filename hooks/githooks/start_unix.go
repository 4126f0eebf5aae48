//go:build unix

package githooks

import "syscall"

// detach gives a process its own session, so that it outlives git and its terminal.
func detach() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
