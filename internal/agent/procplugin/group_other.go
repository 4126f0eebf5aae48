//go:build !unix

package procplugin

import "os/exec"

func detach(*exec.Cmd) {}

// kill ends a process; one that has ended already stays so.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
