//go:build extra

package power

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"tape/internal/testkit"
)

// trace runs a program with all its child processes, and stops them before each operation on files. A filter in
// the kernel selects these operations, so everything else runs at full speed.
type trace struct {
	below  string                   // only operations below this folder count
	before func(n int, what string) // called before the n-th operation; may call kill
	ops    int
	tids   map[int]bool // threads and processes; false if they have ended
	killed bool
}

// spec describes a program to run.
type spec struct {
	path   string
	args   []string
	env    []string
	dir    string
	stdin  *os.File
	output *os.File
}

// run runs a program, and returns its exit code, or -1 if a signal ended it.
func (tr *trace) run(s spec) (code int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // only the thread that started a traced process can trace it; it ends with this goroutine
		code, err = tr.loop(s)
	}()
	<-done
	return code, err
}

// kill kills all processes.
func (tr *trace) kill() {
	tr.killed = true
	for tid, runs := range tr.tids {
		if runs {
			_ = syscall.Kill(tid, syscall.SIGKILL)
		}
	}
}

// wait waits until all processes are gone: git checks whether the process whose number is in a lock still exists,
// and a killed one does until its parent has collected it.
func (tr *trace) wait() {
	for tid := range tr.tids {
		testkit.Eventually(func() bool { return syscall.Kill(tid, 0) != nil })
	}
}

func (tr *trace) loop(s spec) (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return -1, err
	}
	root, err := syscall.ForkExec(self, append([]string{self, s.path}, s.args...), &syscall.ProcAttr{
		Dir: s.dir, Env: append(s.env, testkit.HelperEnv+"=filtered"), Files: []uintptr{s.stdin.Fd(), s.output.Fd(), s.output.Fd()},
		Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	if err != nil {
		return -1, err
	}
	tr.tids = map[int]bool{root: true}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(root, &ws, 0, nil); err != nil {
		return -1, err
	}
	const options = unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK |
		unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL
	if err := errors.Join(syscall.PtraceSetOptions(root, options), syscall.PtraceCont(root, 0)); err != nil {
		return -1, err
	}
	code = -1
	for {
		// Do not wait for the children of other threads.
		tid, err := syscall.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD, nil)
		if errors.Is(err, syscall.ECHILD) {
			return code, nil
		}
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return -1, err
		}
		if !ws.Stopped() {
			tr.tids[tid] = false
			if tid == root && ws.Exited() {
				code = ws.ExitStatus()
			}
			continue
		}
		tr.stopped(tid, ws)
	}
}

// stopped handles a stop of a thread, and lets the thread continue.
func (tr *trace) stopped(tid int, ws syscall.WaitStatus) {
	known, signal := tr.tids[tid], ws.StopSignal()
	tr.tids[tid] = true
	if tr.killed {
		_ = syscall.Kill(tid, syscall.SIGKILL)
	}
	switch {
	case ws.TrapCause() == unix.PTRACE_EVENT_SECCOMP:
		if what := tr.operation(tid); what != "" && !tr.killed {
			tr.ops++
			tr.before(tr.ops, what)
		}
		signal = 0
	case signal == syscall.SIGTRAP, signal == syscall.SIGSTOP && !known: // an event, or the start of a thread
		signal = 0
	}
	_ = syscall.PtraceCont(tid, int(signal)) // fails if it was killed
}

// syscallInfo is the kernel's struct ptrace_syscall_info for a call that the filter has stopped.
type syscallInfo struct {
	op     uint8
	_      [3]uint8
	arch   uint32
	ip, sp uint64
	nr     uint64
	args   [6]uint64
}

// operation describes what a stopped thread is about to do; "" if that is not below the folder.
func (tr *trace) operation(tid int) string {
	const filtered = 3
	var info syscallInfo
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0); e != 0 || info.op != filtered {
		return ""
	}
	call := calls()[uint32(info.nr)]
	switch {
	case call.file:
		name, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, info.args[0]))
		if !strings.HasPrefix(name, tr.below) {
			return ""
		}
		return call.name + " " + strings.TrimPrefix(name, tr.below)
	case call.path >= 0:
		name := peekString(tid, uintptr(info.args[call.path]))
		if strings.HasPrefix(name, "/") && !strings.HasPrefix(name, tr.below) {
			return ""
		}
		return call.name + " " + strings.TrimPrefix(name, tr.below)
	}
	return call.name
}

// peekString reads a path from the memory of another process.
func peekString(tid int, at uintptr) string {
	var out []byte
	for buf := make([]byte, 64); len(out) < 4096; at += uintptr(len(buf)) {
		n, err := syscall.PtracePeekData(tid, at, buf)
		for i, c := range buf[:n] {
			if c == 0 {
				return string(append(out, buf[:i]...))
			}
		}
		out = append(out, buf[:n]...)
		if err != nil {
			break
		}
	}
	return string(out)
}
