package gitlock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// GCPid is the file in which a running git gc stores its process id and host.
const GCPid = "gc.pid"

// ReadGCPid returns the process id in a repository's gc.pid, or 0. The process may have ended. Like git,
// it ignores a file that is at least twelve hours old, or from another host.
func ReadGCPid(gitDir string) int {
	const maxAge = 12 * time.Hour
	path := filepath.Join(gitDir, GCPid)
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	st, err := os.Stat(path)
	host, _ := os.Hostname()
	pid, fileHost, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	if n, perr := strconv.Atoi(pid); err == nil && perr == nil && n > 0 && fileHost == host && time.Since(st.ModTime()) < maxAge {
		return n
	}
	return 0
}

// OwnGC is the file with the process id of a git gc that tape started. Such a gc keeps recently written
// objects, so writers need not wait for it.
func OwnGC(gitDir string) string { return filepath.Join(gitDir, OwnDir, "gc.own") }

// RunningGC returns the process id of a running git gc that tape did not start, or 0.
func RunningGC(gitDir string) int {
	pid := ReadGCPid(gitDir)
	if pid == 0 || !IsGitAlive(pid) {
		return 0
	}
	if own, err := os.ReadFile(OwnGC(gitDir)); err == nil && string(own) == strconv.Itoa(pid) {
		return 0
	}
	return pid
}

// AwaitGC waits while a git gc runs that tape did not start. Errors: ErrBusy after k.Wait.
func (k Locks) AwaitGC(ctx context.Context, gitDir string) error {
	for deadline := time.Now().Add(k.Wait); ; {
		pid := RunningGC(gitDir)
		if pid == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: a git gc is running here (process %d, named in %s) and could delete what is written meanwhile",
				ErrBusy, pid, filepath.Join(gitDir, GCPid))
		}
		if err := PauseForGC(ctx, pid); err != nil {
			return err
		}
	}
}

// PauseForGC waits for a moment, or until the context ends.
func PauseForGC(ctx context.Context, pid int) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait for the git gc of process %d: %w", pid, ctx.Err())
	case <-time.After(5 * time.Millisecond):
		return nil
	}
}

// IsGitAlive reports whether a process exists and is git: after git ended, another process may have got
// the id. Without /proc, every existing process counts as git.
func IsGitAlive(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	if err := process.Signal(syscall.Signal(0)); errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return false
	}
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err != nil || IsGit(comm)
}

// IsGit reports whether the content of a /proc/PID/comm is the name of a git process.
func IsGit(comm []byte) bool {
	name := bytes.TrimSpace(comm)
	return string(name) == "git" || bytes.HasPrefix(name, []byte("git-"))
}
