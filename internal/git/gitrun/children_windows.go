package gitrun

import (
	"os/exec"
	"strconv"
)

// EndWithChildren makes a cancelled command end together with what it has started.
func EndWithChildren(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		return exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
	}
}
