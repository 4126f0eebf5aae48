//go:build unix

package gitrun

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// KillWithChildren makes the end of a command's context end the command and its children. They
// get SIGTERM: git then removes its locks.
func KillWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
