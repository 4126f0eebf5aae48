package gitstore

import (
	"os/exec"
	"strconv"
)

// endWithChildren makes a cancelled command end together with what it has started.
func endWithChildren(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		return exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
	}
}
