//go:build !unix

package procplugin

import "os/exec"

func detach(*exec.Cmd) {}

// kill kills a process. It fails only if the process has ended already.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
