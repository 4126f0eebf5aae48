package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runToEnd runs a command in a process of its own, and kills what it has left running when it ends: a daemon, which has
// a session of its own, would go on after the command was checked. Where bubblewrap works, its process namespace does that.
func runToEnd(args []string) int {
	runtime.LockOSThread() // Pdeathsig is about this thread
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "tape: error: the command is not run, because it could not be confined:", err)
		return 126
	}
	// Processes whose parent has ended become children of this one.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fail(err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) // the command has got it, too
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{os.Args[0], Arg, inner}, args...), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-stop:
		select {
		case err = <-ended:
		case <-time.After(timeToEnd):
			_ = cmd.Process.Kill() // it may have ended
			err = <-ended
		}
	}
	killChildren()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		signal.Reset(status.Signal())
		_ = syscall.Kill(os.Getpid(), status.Signal())
		time.Sleep(time.Second) // until the signal has arrived
	}
	return max(1, exit.ExitCode())
}

// timeToEnd is shorter than what a command gets before its group is killed, and this process with it.
const timeToEnd = 1500 * time.Millisecond

// killChildren kills the children of this process until there are none; theirs become its own.
func killChildren() {
	for {
		for _, pid := range children() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// children returns the processes whose parent is this one.
func children() (out []int) {
	list, _ := os.ReadDir("/proc") // without /proc, children end by themselves
	self := strconv.Itoa(os.Getpid())
	for _, e := range list {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, _ := os.ReadFile("/proc/" + e.Name() + "/stat") // it may have ended
		// The name of the program is in parentheses, and may have some itself.
		if rest := strings.Fields(string(raw[strings.LastIndex(string(raw), ")")+1:])); len(rest) > 1 && rest[1] == self {
			out = append(out, pid)
		}
	}
	return out
}
