//go:build unix

package procplugin

import (
	"os/exec"
	"syscall"
)

// detach gives a process its own session and group, so that Ctrl-C in the terminal reaches the host only.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// kill kills a process and what it has started, its process group. It fails only if none of them runs.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
