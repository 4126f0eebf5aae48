//go:build unix

package stdio

import "syscall"

// RunInstead replaces this process by a program. It returns only if that fails.
func RunInstead(path string, argv, env []string) (code int, err error) {
	return 0, syscall.Exec(path, argv, env)
}
