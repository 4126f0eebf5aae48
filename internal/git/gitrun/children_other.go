//go:build !unix && !windows

package gitrun

import "os/exec"

// KillWithChildren does nothing on this system: the end of a command's context ends only the command itself.
func KillWithChildren(*exec.Cmd) {}
