//go:build extra

package power

import "golang.org/x/sys/unix"

// olderCalls are system calls that newer processor architectures do not have.
func olderCalls() map[uint32]call {
	return map[uint32]call{
		unix.SYS_OPEN:    {name: "create", path: 0, flags: 1},
		unix.SYS_UNLINK:  {name: "unlink", path: 0},
		unix.SYS_MKDIR:   {name: "mkdir", path: 0},
		unix.SYS_RMDIR:   {name: "rmdir", path: 0},
		unix.SYS_RENAME:  {name: "rename", path: 1},
		unix.SYS_LINK:    {name: "link", path: 1},
		unix.SYS_SYMLINK: {name: "symlink", path: 1},
	}
}
