//go:build unix

package stdio

import "syscall"

// RunInstead runs a program in the place of this process.
func RunInstead(path string, argv, env []string) (code int, err error) {
	return 0, syscall.Exec(path, argv, env)
}
