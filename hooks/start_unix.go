//go:build unix

package hooks

import "syscall"

// apart puts a process into a session of its own: what ends git, or closes its terminal,
// does not end it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
