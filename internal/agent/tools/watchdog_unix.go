//go:build unix

package tools

import (
	"os/exec"
	"syscall"
)

// groups reports whether processes have groups.
const groups = true

// detach gives a command its own session and group: it has no terminal to ask on.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// A group that has ended needs no signal.

func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// nonBlocking makes opening a pipe return at once.
const nonBlocking = syscall.O_NONBLOCK
