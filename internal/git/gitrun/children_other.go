//go:build !unix && !windows

package gitrun

import "os/exec"

func KillWithChildren(*exec.Cmd) {}
