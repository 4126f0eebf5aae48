//go:build unix

package githooks

import "syscall"

// apart gives a process its own session: what ends git or its terminal does not end it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
