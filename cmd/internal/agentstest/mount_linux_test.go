//go:build extra

package agentstest

import "syscall"

// mount puts a small disk onto a folder.
func mount(dir string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m,mode=0700") }

func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
