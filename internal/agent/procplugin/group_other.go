//go:build !unix

package procplugin

import "os/exec"

func apart(*exec.Cmd) {}

// kill ends a process. One that is gone needs no end.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
