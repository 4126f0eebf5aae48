//go:build !unix

package stdio

import (
	"os"
	"os/exec"
)

// RunInstead runs a program with our streams, and returns its exit code.
func RunInstead(path string, argv, env []string) (code int, err error) {
	cmd := exec.Command(path, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, env
	return RunForwarding(cmd)
}
