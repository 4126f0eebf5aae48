//go:build unix

package cli

import "syscall"

// runInstead runs a program in the place of this process.
func runInstead(path string, argv, env []string) error { return syscall.Exec(path, argv, env) }
