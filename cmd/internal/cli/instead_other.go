//go:build !unix

package cli

import (
	"os"
	"os/exec"
)

// runInstead runs a program and passes its exit code on.
func runInstead(path string, argv, env []string) error {
	cmd := exec.Command(path, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, env
	code, err := runForwarding(cmd)
	if err == nil && code != exitOK {
		return silently(code)
	}
	return err
}
