package power

import (
	"sync"

	"golang.org/x/sys/unix"
)

// calls are the system calls that change a disk, or make sure of what was changed.
var calls = sync.OnceValue(func() map[uint64]call {
	out := map[uint64]call{
		unix.SYS_OPENAT:    {name: "create", path: 1, flags: 2},
		unix.SYS_UNLINKAT:  {name: "unlink", path: 1},
		unix.SYS_MKDIRAT:   {name: "mkdir", path: 1},
		unix.SYS_RENAMEAT:  {name: "rename", path: 3},
		unix.SYS_RENAMEAT2: {name: "rename", path: 3},
		unix.SYS_LINKAT:    {name: "link", path: 3},
		unix.SYS_SYMLINKAT: {name: "symlink", path: 2},
		unix.SYS_TRUNCATE:  {name: "truncate", path: 0},
		unix.SYS_FTRUNCATE: {name: "truncate", file: true, path: -1},
		unix.SYS_FALLOCATE: {name: "allocate", file: true, path: -1},
		unix.SYS_WRITE:     {name: "write", file: true, path: -1},
		unix.SYS_PWRITE64:  {name: "write", file: true, path: -1},
		unix.SYS_WRITEV:    {name: "write", file: true, path: -1},
		unix.SYS_FSYNC:     {name: "sync", file: true, path: -1},
		unix.SYS_FDATASYNC: {name: "sync", file: true, path: -1},
	}
	for nr, c := range olderCalls() {
		out[nr] = c
	}
	return out
})
