package gitrun

import (
	"os/exec"
	"strconv"
)

// KillWithChildren makes the end of a command's context end the command and its children.
func KillWithChildren(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		return exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
	}
}
