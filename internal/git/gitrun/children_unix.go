//go:build unix

package gitrun

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// EndWithChildren makes a cancelled command end together with what it has started. It
// is asked to: git then removes its locks.
func EndWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
