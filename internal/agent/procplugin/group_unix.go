//go:build unix

package procplugin

import (
	"os/exec"
	"syscall"
)

// apart gives a process a session and group of its own: Ctrl-C in the terminal is the host's.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// kill ends a process and what it has started. One that is gone needs no signal.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
