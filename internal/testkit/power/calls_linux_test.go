//go:build extra

package power

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"tape/internal/testkit"
)

// call describes the arguments of a system call.
type call struct {
	name  string
	file  bool   // the first argument is an open file
	path  int    // index of the argument with a path, or -1
	flags uint32 // index of the argument with the flags of an open, or 0
}

// calls are the system calls that change or sync files.
var calls = sync.OnceValue(func() map[uint32]call {
	out := map[uint32]call{
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

// filter returns a program for the kernel that stops these calls for the tracer. It stops an open only if that
// may create a file.
func filter() []unix.SockFilter {
	const (
		number, flags = 0, 16 // offsets in the kernel's struct seccomp_data
		load          = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal         = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		has           = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		ret           = unix.BPF_RET | unix.BPF_K
	)
	out := []unix.SockFilter{{Code: load, K: number}}
	for nr, c := range calls() {
		if c.flags == 0 {
			out = append(out, unix.SockFilter{Code: equal, K: nr, Jf: 1})
		} else {
			out = append(out, unix.SockFilter{Code: equal, K: nr, Jf: 4},
				unix.SockFilter{Code: load, K: flags + 8*c.flags},
				unix.SockFilter{Code: has, K: unix.O_CREAT, Jt: 1},
				unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
		}
		out = append(out, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_TRACE})
	}
	return append(out, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
}

// runFiltered installs the filter, and then executes the program in its arguments.
func runFiltered() {
	runtime.LockOSThread()
	all := filter()
	program := unix.SockFprog{Len: uint16(len(all)), Filter: &all[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	}
	if err == nil {
		err = os.Unsetenv(testkit.HelperEnv)
	}
	if err == nil {
		err = syscall.Exec(os.Args[1], os.Args[2:], os.Environ())
	}
	panic(err)
}
