package gitrun

import (
	"errors"
	"os/exec"
)

// ErrNoGit says that the git program is not installed, or not in PATH.
var ErrNoGit = errors.New("this needs the git program, which is not installed or not in PATH")

// CheckGit returns ErrNoGit if there is no git program in PATH.
func CheckGit() error {
	if _, err := exec.LookPath("git"); err != nil {
		return ErrNoGit
	}
	return nil
}
