//go:build unix

package tools

import (
	"os/exec"
	"syscall"
)

// groups: whether processes have groups.
const groups = true

// apart gives a command a session and group of its own: it has no terminal to ask at.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// A group that is gone needs no signal.

func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// withoutWaiting makes opening a pipe return at once.
const withoutWaiting = syscall.O_NONBLOCK
